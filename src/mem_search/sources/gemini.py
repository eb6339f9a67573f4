"""The source `gemini`: sessions of Google's Gemini CLI become prompts and observations.

A session is a file ``session-….json`` or, since 2026, ``session-….jsonl`` in ``chats`` below
``~/.gemini/tmp``. In the second form a line is a message, which replaces an earlier one of its id,
a change of the session (``$set``), or the removal of messages (``$rewindTo``).
"""

from __future__ import annotations

import json
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
    moment,
    text,
)
from mem_search.sources.whole_files import WholeFile, WholeFiles

NAME: Final = "gemini"

_CHANGES: Final = ("write_file", "replace", "edit")
_READS: Final = ("read_file",)
_ROOT: Final = ".project_root"
"""A file beside ``chats`` with the directory of the project."""


class Gemini(WholeFiles):
    """The project of a session is that of its directory, where the files say which."""

    name = NAME
    follows = True
    file_format = FileFormat((".json", ".jsonl"))

    def discover(self, machine: Machine) -> Iterable[Location]:
        root = machine.home / ".gemini" / "tmp"
        if root.is_dir():
            yield Location(NAME, str(root), label="Gemini CLI sessions")

    def recognises(self, path: Path) -> bool:
        is_session = path.name.startswith("session-") and path.suffix in (".json", ".jsonl")
        return is_session and "chats" in path.parts

    def drafts(self, file: WholeFile) -> Iterator[Draft | LedgerEntry]:
        found = _session(file.path.read_text("utf-8", "replace"))
        session = text(found.get("sessionId")) or Path(file.name).name.partition(".")[0]
        directories = items(found.get("directories"))
        cwd = _root(file.path) or text(directories[0] if directories else "")
        project = named_after(cwd) if file.is_upload else identify(cwd)
        yield from agent_session(NAME, session, _turns(items(found.get("messages"))), project, cwd)


def _session(data: str) -> Mapping[str, Any]:
    """The session, whatever its form. Raises ValueError for neither."""
    try:
        return fields(json.loads(data))
    except ValueError:
        pass  # a line for each message
    found: dict[str, Any] = {}
    messages: dict[str, Any] = {}
    for raw in data.splitlines():
        try:
            line = fields(json.loads(raw))
        except ValueError:  # the last line may still be being written
            continue
        if target := text(line.get("$rewindTo")):
            ids = list(messages)
            for identity in ids[ids.index(target) :] if target in messages else ids:
                del messages[identity]
        elif "$set" in line:
            found |= fields(line["$set"])
            if "messages" in fields(line["$set"]):
                messages = {text(m.get("id")): m for m in map(fields, items(found["messages"]))}
        elif "id" in line and "type" in line:
            messages[text(line["id"])] = line
        else:
            found |= line
    if not found and not messages:
        raise ValueError("it is neither JSON nor lines of JSON")
    return {**found, "messages": list(messages.values())}


def _turns(messages: list[Any]) -> list[AgentTurn]:
    turns = [AgentTurn()]
    for message in map(fields, messages):
        at = moment(message.get("timestamp"))
        words = _words(message.get("displayContent")) or _words(message.get("content"))
        if message.get("type") == "user" and words.strip():
            turns.append(AgentTurn(words, at, at))
        elif message.get("type") == "gemini":
            turns[-1].says(words, at)
            for call in map(fields, items(message.get("toolCalls"))):
                _called(call, at, turns[-1])
    return turns[1:]


def _words(content: object) -> str:
    """The text of parts: a string, a part, or a list of both."""
    if isinstance(content, list):
        return "\n".join(filter(None, map(_words, content)))
    return text(content) or text(fields(content).get("text"))


def _called(call: Mapping[str, Any], at: int | None, turn: AgentTurn) -> None:
    arguments, tool = fields(call.get("args")), call.get("name")
    path = text(arguments.get("file_path")) or text(arguments.get("absolute_path"))
    failed = call.get("status") in ("error", "cancelled")
    if path and tool in _CHANGES and not failed:
        turn.modified += [path] if path not in turn.modified else []
    elif path and tool in _READS:
        turn.read += [path] if path not in turn.read else []
    else:
        turn.runs(text(arguments.get("command")), at)
    turn.seen(at)


def _root(path: Path) -> str:
    try:
        return (path.parent.parent / _ROOT).read_text("utf-8", "replace").strip()
    except OSError:
        return ""
