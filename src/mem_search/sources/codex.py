"""The source `codex`: sessions of OpenAI's Codex CLI become prompts and observations.

A session is a file ``rollout-….jsonl`` below ``~/.codex/sessions``. Its lines are objects with
``type`` and ``payload``; before September 2025 the payload was the line. Only what the person
wrote and the agent said, ran and changed is taken, not the instructions that the program adds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from mem_search.contracts import FileFormat, Machine
from mem_search.model import Draft, LedgerEntry, Location
from mem_search.projects import identify, named_after
from mem_search.sources.conversations import (
    AgentTurn,
    agent_session,
    fields,
    items,
    json_lines,
    moment,
    text,
)
from mem_search.sources.whole_files import WholeFile, WholeFiles

NAME: Final = "codex"

_ADDED: Final = re.compile(r"\s*(?:<([A-Za-z_]+)[\s>]|# AGENTS\.md instructions)")
_REQUEST: Final = "## My request for Codex:"
_PATCHED: Final = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)


class Codex(WholeFiles):
    """The project of a session is that of the directory in which it began."""

    name = NAME
    follows = True
    file_format = FileFormat((".jsonl",))

    def discover(self, machine: Machine) -> Iterable[Location]:
        home = machine.environ.get("CODEX_HOME")
        root = (Path(home) if home else machine.home / ".codex") / "sessions"
        if root.is_dir():
            yield Location(NAME, str(root), label="Codex sessions")

    def recognises(self, path: Path) -> bool:
        return path.name.startswith("rollout-") and path.suffix == ".jsonl"

    def drafts(self, file: WholeFile) -> Iterator[Draft | LedgerEntry]:
        session, cwd = Path(file.name).name.partition(".")[0], ""
        turns = [AgentTurn()]
        for line in json_lines(file.path):
            payload = fields(line["payload"]) if "payload" in line else line
            at = moment(line.get("timestamp") or payload.get("timestamp"))
            if line.get("type") == "session_meta" or "instructions" in payload:
                session = text(payload.get("id")) or session
                cwd = text(payload.get("cwd")) or cwd
            elif line.get("type") in ("turn_context", "event_msg", "compacted"):
                cwd = cwd or text(payload.get("cwd"))
            else:
                _take(payload, at, turns)
        project = named_after(cwd) if file.is_upload else identify(cwd)
        yield from agent_session(NAME, session, turns[1:], project, cwd)


def _take(item: Mapping[str, Any], at: int | None, turns: list[AgentTurn]) -> None:
    match item.get("type"):
        case "message":
            words = "\n".join(text(fields(part).get("text")) for part in items(item.get("content")))
            if item.get("role") == "user":
                if not _is_added(words) and words.strip():
                    asked = words.partition(_REQUEST)[2] or words
                    turns.append(AgentTurn(asked.strip(), at, at))
            elif item.get("role") == "assistant":
                turns[-1].says(words, at)
        case "function_call" | "custom_tool_call" | "local_shell_call":
            _called(item, at, turns[-1])


def _is_added(words: str) -> bool:
    """Whether the program wrote it: an instruction, or a block in tags of one name."""
    match = _ADDED.match(words)
    if match is None:
        return False
    return match[1] is None or words.rstrip().endswith(f"</{match[1]}>")


def _called(item: Mapping[str, Any], at: int | None, turn: AgentTurn) -> None:
    given: object = item.get("arguments", item.get("action"))
    try:
        given = json.loads(given) if isinstance(given, str) else given
    except ValueError:
        given = {}
    arguments = fields(given)
    command = arguments.get("command", arguments.get("cmd"))
    if isinstance(command, list):
        parts = [text(part) for part in command]
        shell = len(parts) > 2 and parts[1] in ("-lc", "-c")
        command = parts[2] if shell else " ".join(parts)
    whole = text(command) or text(item.get("input")) or text(arguments.get("input"))
    if patched := _PATCHED.findall(whole):
        turn.modified += [path.strip() for path in patched if path.strip() not in turn.modified]
        turn.seen(at)
    elif item.get("name") != "apply_patch":
        turn.runs(text(command), at)
