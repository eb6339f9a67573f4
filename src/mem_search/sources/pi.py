"""The sources `pi` and `openclaw`: sessions become prompts, steps of work and summaries.

OpenClaw is built on pi and writes its sessions in the same form: a line of JSON for each entry of a
tree. The entries of abandoned branches stay in the file, and are read like the others. The form is
that of pi's ``docs/session-format.md``, version 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from mem_search.contracts import Machine
from mem_search.model import Location
from mem_search.patterns import pattern
from mem_search.platform import expanded
from mem_search.sources.agent_work.events import (
    MAIN,
    AgentText,
    Compaction,
    Event,
    Line,
    Prompt,
    SessionTitle,
)
from mem_search.sources.agent_work.text import clean_text, without_injected
from mem_search.sources.agent_work.transcripts import (
    SessionFiles,
    Tools,
    call_of,
    exit_code,
    result_of,
    words,
)
from mem_search.sources.conversations import fields, items, json_lines, moment, object_in
from mem_search.sources.whole_files import UnreadLines, WholeFile, head

TOOLS: Final[Tools] = {
    "bash": ("Bash", "command"),
    "exec": ("Bash", "command"),
    "read": ("Read", "path", "file_path"),
    "write": ("Write", "path", "file_path"),
    "edit": ("Edit", "path", "file_path"),
    "grep": ("Grep", "pattern"),
    "find": ("Glob", "pattern"),
    "ls": ("LS", "path"),
    "web_search": ("WebSearch", "query"),
    "web_fetch": ("WebFetch", "url"),
}
_NO_WORK: Final = (
    "session", "branch_summary", "custom", "custom_message", "label", "leaf", "model_change",
    "thinking_level_change",
)  # fmt: skip
_ROLES: Final = (
    "user", "assistant", "toolResult", "bashExecution", "branchSummary", "compactionSummary",
    "custom", "hookMessage",
)  # fmt: skip
_EXITED: Final = pattern(r"Command exited with code (\d{1,9})\s*\Z")


_OF_FILE: Final = pattern(r"(?:.*_)?([\w-]+)")
_MAX_ABOVE: Final = 32
"""Forks of forks; the chain of a damaged file may have no end."""
_MAX_HEADER_BYTES: Final = 16_384


class PiEntries(SessionFiles):
    """A fork begins with copies of what its parent has: what is older than its file."""

    tools = TOOLS

    def lines(self, file: WholeFile) -> Iterator[Line]:
        state = file.place.remember(
            "reader", {"session": "", "cwd": "", "above": [], "began": None}
        )
        for raw in json_lines(file):
            at = moment(raw.get("timestamp"))
            if raw.get("type") == "session" and not state["session"]:
                state |= {"session": clean_text(raw.get("id")), "cwd": clean_text(raw.get("cwd"))}
                state |= {"above": _above(file, raw), "began": at}
                file.unread.program = f"{self.label}, version {raw.get('version')} of its sessions"
            origin, began = "", state["began"]
            for session, its in state["above"]:
                if at is None or began is None or at >= began:
                    break
                origin, began = session, its
            key = clean_text(raw.get("id")) or f"line-{file.unread.at}"
            others = [session for session, _ in state["above"] if origin and session != origin]
            yield Line(
                key,
                state["session"],
                at,
                state["cwd"],
                "",
                MAIN,
                tuple(_events(raw, file.unread)),
                origin=origin,
                former=tuple(f"{session}/{key}" for session in others),
            )


def _above(file: WholeFile, header: Mapping[str, Any]) -> list[list[Any]]:
    """The sessions that a fork begins with copies of, the nearest first, and when each began (ms).

    A fork of a fork has the entries of both. Where a file is not there, nothing is known of what
    its session copied: then this one is read from its start when the file comes.
    """
    sessions: list[list[Any]] = []
    while named := _OF_FILE.fullmatch(Path(clean_text(header.get("parentSession"))).stem):
        name = Path(clean_text(header["parentSession"])).name
        header = {} if file.is_upload or len(sessions) >= _MAX_ABOVE else _header(file.path, name)
        sessions.append([named[1], moment(header.get("timestamp"))])
        if not (header or file.is_upload):
            file.place.wait_for(named[1])
    return sessions


def _header(path: Path, name: str) -> Mapping[str, Any]:
    """The first line of the session with this file name, beside ``path`` or in the folder of
    another directory; {} if it is not there.
    """
    folder = path.parent
    others = folder.parent.glob("--*--") if folder.name.startswith("--") else ()
    for each in (folder, *others):
        first, _ = object_in(head(each / name, _MAX_HEADER_BYTES).partition(b"\n")[0])
        if first.get("type") == "session":
            return first
    return {}


def _events(raw: Mapping[str, Any], unread: UnreadLines) -> Iterator[Event]:
    match raw.get("type"):
        case "message":
            if (role := fields(raw.get("message")).get("role")) not in _ROLES:
                unread.not_known(f"role {role}")
            yield from _message(fields(raw.get("message")), clean_text(raw.get("id")))
        case "compaction":
            yield Compaction(clean_text(raw.get("summary")))
        case "session_info":
            yield SessionTitle(clean_text(raw.get("name")), by_person=True)
        case sort if raw and sort not in _NO_WORK:
            unread.not_known(f"type {sort}")


def _message(message: Mapping[str, Any], key: str) -> Iterator[Event]:
    content = message.get("content")
    match message.get("role"):
        case "user":
            if asked := without_injected(words(content)):
                yield Prompt(asked)
        case "assistant":
            for part in map(fields, items(content)):
                if part.get("type") == "text" and (said := words([part])):
                    yield AgentText(said)
                elif part.get("type") == "toolCall":
                    yield call_of(TOOLS, part.get("id"), part.get("name"), part.get("arguments"))
        case "toolResult":
            answer = words(content)
            failed = message.get("isError") is True
            exited = _EXITED.search(answer) if failed else None
            code = exit_code(exited[1]) if exited else 0
            answer = answer[: exited.start()] if exited else answer
            yield result_of(message.get("toolCallId"), answer, failed=failed, code=code)
        case "bashExecution" if not message.get("excludeFromContext"):
            # The person ran it with "!"; with "!!" it is not meant for the agent.
            yield call_of(TOOLS, key, "bash", message)
            code = exit_code(message.get("exitCode"))
            yield result_of(key, clean_text(message.get("output")), failed=False, code=code)


_FILE: Final = pattern(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d+Z_[\w-]+\.jsonl")


class Pi(PiEntries):
    """A session is a file below ``~/.pi/agent/sessions``, in the folder of its directory."""

    name = "pi"
    label = "pi"
    usual, folder = ".pi/agent", "sessions"
    variables = ("PI_CODING_AGENT_DIR",)

    def discover(self, machine: Machine) -> Iterable[Location]:
        given = machine.environ.get("PI_CODING_AGENT_SESSION_DIR", "")
        root = Path(expanded(given))
        if not given:
            yield from super().discover(machine)
        elif root.is_dir():
            yield Location(self.name, str(root), label="pi sessions")

    def recognises(self, path: Path) -> bool:
        return _FILE.fullmatch(path.name) is not None


class OpenClaw(PiEntries):
    """A session is a file ``agents/AGENT/sessions/….jsonl`` below ``~/.openclaw``."""

    name = "openclaw"
    label = "OpenClaw"
    usual, folder = ".openclaw", "agents"
    variables = ("OPENCLAW_STATE_DIR",)

    def files_to_keep(self, root: Path) -> Iterable[Path]:
        """OpenClaw deletes sessions where ``session.maintenance`` says so."""
        return [path for path, _ in self._below(root)]

    def recognises(self, path: Path) -> bool:
        place = path.parts[-4:]
        return path.suffix == ".jsonl" and place[0:1] == ("agents",) and place[2:3] == ("sessions",)
