"""The source `droid`: sessions of Factory's Droid become prompts, steps of work and summaries.

A session is a file ``sessions/DIRECTORY/ID.jsonl`` below ``~/.factory``: a line that says what it
is, then one for each message, in the form of Anthropic's API.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from mem_search.contracts import Machine
from mem_search.model import Location
from mem_search.patterns import pattern
from mem_search.sources.agent_work.events import (
    MAIN,
    Compaction,
    Event,
    Instruction,
    Line,
    Prompt,
    SessionTitle,
)
from mem_search.sources.agent_work.session_documents import not_understood, said_in
from mem_search.sources.agent_work.text import clean_text
from mem_search.sources.agent_work.transcripts import (
    SessionFiles,
    Tools,
    exit_code,
    home_of,
    result_of,
    words,
)
from mem_search.sources.conversations import fields, json_lines, moment
from mem_search.sources.whole_files import WholeFile

_TOOLS: Final[Tools] = {
    "Execute": ("Bash", "command"),
    "Read": ("Read", "file_path", "path"),
    "Create": ("Write", "file_path", "path"),
    "Edit": ("Edit", "file_path", "path"),
    "MultiEdit": ("MultiEdit", "file_path", "path"),
    "Grep": ("Grep", "pattern"),
    "Glob": ("Glob", "patterns", "pattern"),
    "LS": ("LS", "directory_path", "path"),
    "Task": ("Task", "description"),
    "WebSearch": ("WebSearch", "query"),
    "FetchUrl": ("WebFetch", "url"),
    "ExitSpecMode": ("ExitPlanMode", "plan"),
}
_FILE: Final = pattern(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\.jsonl")
_KNOWN: Final = (
    "session_start", "session_end", "message", "todo_state", "compaction_state",
    "agent_turn_outcome",
)  # fmt: skip
_KEPT: Final = ("type", "version", "cwd", "parent")
"""What is needed of the first line later on."""
_VERSION: Final = 2
_FAILED: Final = pattern(r"\s*Error: Command failed \(exit code: (\d{1,9})\)\s*")
_ENDED: Final = pattern(r"\s*\[Process exited with code \d{1,9}\]\s*\Z")
_TASK: Final = "# Task Tool Invocation"
"""How the title of a subagent's session begins."""


class Droid(SessionFiles):
    """A fork begins with a copy of what its parent has, up to the message that it names."""

    name = "droid"
    label = "Droid"
    usual, folder = ".factory", "sessions"
    tools = _TOOLS

    looks_in = "~/.factory/sessions or $FACTORY_HOME_OVERRIDE/.factory/sessions"

    def discover(self, machine: Machine) -> Iterable[Location]:
        root = home_of(machine, ".", "FACTORY_HOME_OVERRIDE") / self.usual / self.folder
        if root.is_dir():
            yield Location(self.name, str(root), label=f"{self.label} sessions")

    def recognises(self, path: Path) -> bool:
        """Any session in the program's own folder; elsewhere one that has the name of such."""
        own = (self.usual, self.folder)
        is_own = own in (path.parts[-4:-2], path.parts[-3:-1])
        is_named = path.parts[-3:-2] == (self.folder,) and _FILE.fullmatch(path.name) is not None
        return path.suffix == ".jsonl" and (is_own or is_named)

    def lines(self, file: WholeFile) -> Iterator[Line]:
        state = file.place.remember(
            "reader",
            {"start": {}, "agent": MAIN, "session": Path(file.name).name.partition(".")[0],
             "copied_until": ""},
        )  # fmt: skip
        for raw in json_lines(file):
            number, kind, start = file.unread.at, clean_text(raw.get("type")), state["start"]
            if kind == "session_start" and not start:  # a copy of another's may follow
                start = {name: raw.get(name) for name in _KEPT if name in raw}
                agent, session = _whose(raw, clean_text(raw.get("id")) or state["session"])
                state |= {"start": start, "agent": agent, "session": session}
                if raw.get("parent"):  # the last message that a fork has of its parent
                    state["copied_until"] = clean_text(raw.get("forkedAtMessageId"))
            version = f"{self.label}'s format {clean_text(str(start.get('version', 'unknown')))}"
            if raw and (
                kind not in _KNOWN or (kind == "message" and not fields(raw.get("message")))
            ):
                not_understood(file, number, f"a line of type {kind or 'none'}", version)
            if start.get("version", _VERSION) not in (1, _VERSION):
                not_understood(file, 1, "a version that is not known", version)
            events = tuple(_events(raw, kind, state["agent"]))
            origin = clean_text(start.get("parent")) if state["copied_until"] else ""
            key = clean_text(raw.get("id")) or f"line-{number}"
            if key == state["copied_until"]:
                state["copied_until"] = ""
            cwd, at = clean_text(start.get("cwd")), moment(raw.get("timestamp"))
            yield Line(key, state["session"], at, cwd, "", state["agent"], events, origin=origin)


def _whose(start: Mapping[str, Any], session: str) -> tuple[str, str]:
    """The agent, and the session that a person began: a subagent's belongs to its caller's."""
    caller = clean_text(start.get("callingSessionId"))
    if caller or clean_text(start.get("title")).startswith(_TASK):
        return session, caller or session
    return MAIN, session


def _events(raw: Mapping[str, Any], kind: str, agent: str) -> Iterator[Event]:
    match kind:
        case "session_start":
            by_person = raw.get("isSessionTitleManuallySet") is True
            yield SessionTitle(clean_text(raw.get("title")), by_person=by_person)
        case "compaction_state":
            yield Compaction(clean_text(raw.get("summaryText")))
        case "message" if raw.get("visibility") != "llm_only":
            message = fields(raw.get("message"))
            for event in said_in(_TOOLS, message.get("role"), message.get("content"), _answer):
                is_told = agent != MAIN and isinstance(event, Prompt)
                yield Instruction(event.text) if is_told and isinstance(event, Prompt) else event


def _answer(part: Mapping[str, Any]) -> Event:
    said = clean_text(part.get("content")) or words(part.get("content"))
    failed = part.get("is_error") is True
    exited = _FAILED.match(said) if failed else None
    code = exit_code(exited[1]) if exited else 0
    said = _ENDED.sub("", said[exited.end() :] if exited else said)
    return result_of(part.get("tool_use_id"), said, failed=failed, code=code)
