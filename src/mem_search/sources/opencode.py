"""The source `opencode`: sessions of OpenCode become prompts, steps of work and summaries.

All sessions are in one SQLite database, ``~/.local/share/opencode/opencode.db``. OpenCode 1.x has a
row for each session, message and part of a message. 2.x has tables of its own, ``session_v2`` and
``session_message``, beside those that an earlier version left in the file, and a message there has
its parts. The database is only read. A session is read again when something of it changed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from mem_search.contracts import Machine
from mem_search.patterns import pattern
from mem_search.sources.agent_work.events import (
    MAIN,
    AgentText,
    Compaction,
    Event,
    Instruction,
    Line,
    Prompt,
    SessionTitle,
    ToolCall,
)
from mem_search.sources.agent_work.session_stores import (
    SessionStores,
    Store,
    StoredSession,
    root_of,
    value_of,
)
from mem_search.sources.agent_work.text import clean_text, without_injected
from mem_search.sources.agent_work.transcripts import (
    Tools,
    call_of,
    exit_code,
    home_of,
    result_of,
    words,
)
from mem_search.sources.conversations import fields, items
from mem_search.sources.databases import ForeignDatabase
from mem_search.sources.whole_files import UnreadLines

_FILE: Final = pattern(r"opencode(?:-[\w.-]+)?\.db")
_TABLES: Final = (("session", "message", "part"), ("session_v2", "session_message"))
"""Those of OpenCode 1.x and of 2.x."""
TOOLS: Final[Tools] = {
    "bash": ("Bash", "command"),
    "shell": ("Bash", "command"),
    "read": ("Read", "filePath", "path"),
    "write": ("Write", "filePath", "path"),
    "edit": ("Edit", "filePath", "path"),
    "multiedit": ("MultiEdit", "filePath", "path"),
    "grep": ("Grep", "pattern"),
    "glob": ("Glob", "pattern"),
    "list": ("LS", "path"),
    "task": ("Task", "description"),
    "subagent": ("Task", "description"),
    "webfetch": ("WebFetch", "url"),
    "websearch": ("WebSearch", "query"),
}
_PATCHED: Final = pattern(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_UNTITLED: Final = pattern(r"(?:New|Child) session - ")
_SESSIONS: Final = """
    select s.id, s.parent_id, s.directory, s.title, s.time_created, {version}, {fork}, count(p.id),
           max({changed})
    from {sessions} s join {parts} p on p.session_id = s.id group by s.id
"""
_MESSAGES: Final = """
    select id, time_created, data from message where session_id = ? order by time_created, id
"""
_PARTS: Final = """
    select p.message_id, p.id, p.data from part p join message m on m.id = p.message_id
    where m.session_id = ? order by p.id
"""
_MESSAGES_2: Final = """
    select id, type, time_created, data from session_message where session_id = ? order by seq, id
"""
_NO_WORK: Final = ("synthetic", "system", "skill", "agent-switched", "model-switched", "idle")
"""Types of messages of 2.x in which nobody asks or does anything."""


@dataclass(slots=True)
class _Session:
    """A session, and where its messages are: by the tables of 1.x, of 2.x, or of both.

    ``fork`` is the session that it began as a copy of, ``began`` when that was (ms since 1970).
    """

    id: str
    parent: str | None = None
    folder: str = ""
    title: str = ""
    began: int = 0
    version: str = ""
    fork: str = ""
    stamps: dict[str, str] = field(default_factory=dict)


class OpenCode(SessionStores):
    """The work of a subagent, which has a session of its own, belongs to the session above it."""

    name = "opencode"
    label = "OpenCode"
    optional = tuple(dict.fromkeys(table for each in _TABLES for table in each))
    looks_in = "~/.local/share/opencode or $XDG_DATA_HOME/opencode"

    def places(self, machine: Machine) -> Iterable[Path]:
        root = home_of(machine, ".local/share", "XDG_DATA_HOME")
        return filter(self.recognises, sorted((root / "opencode").glob("opencode*.db")))

    def recognises(self, path: Path) -> bool:
        return _FILE.fullmatch(path.name) is not None

    def in_database(self, store: Store, database: ForeignDatabase) -> Iterator[StoredSession]:
        sessions = _sessions(database)
        for each in sessions.values():
            stamp = "+".join(each.stamps.values())
            yield StoredSession(each.id, stamp, partial(_lines, database, each, sessions))


def _sessions(database: ForeignDatabase) -> dict[str, _Session]:
    """The sessions with messages by their ids, the oldest first. Raises ValueError for a database
    of another form.
    """
    columns, by_id = database.columns, dict[str, _Session]()
    for sessions, parts in (
        ("session", "part"), ("session", "session_message"), ("session_v2", "session_message")
    ):  # fmt: skip
        if not {sessions, parts, "message" if parts == "part" else parts} <= columns.keys():
            continue
        named = {
            "version": "s.version" if "version" in columns[sessions] else "null",
            "fork": "s.fork_session_id" if "fork_session_id" in columns[sessions] else "null",
            "changed": "p.time_updated" if "time_updated" in columns[parts] else "p.time_created",
        }
        rows = database.rows(_SESSIONS.format(sessions=sessions, parts=parts, **named))
        for key, parent, folder, title, began, version, fork, count, changed in rows:
            session = by_id.setdefault(key, _Session(key))
            session.parent, session.folder = parent, clean_text(folder)
            session.title = "" if _UNTITLED.match(clean_text(title)) else clean_text(title)
            session.began = began if isinstance(began, int) else 0
            session.version, session.fork = clean_text(version), clean_text(fork)
            session.stamps[parts] = f"{changed}-{count}"
    if not by_id and not any(columns.keys() >= set(tables) for tables in _TABLES):
        tables = ", ".join(sorted({table for each in _TABLES for table in each} - columns.keys()))
        raise ValueError(f"its form is not known, it has no table {tables}")
    return dict(sorted(by_id.items(), key=lambda each: (each[1].began, str(each[0]))))


def _lines(
    database: ForeignDatabase,
    session: _Session,
    sessions: Mapping[str, _Session],
    unread: UnreadLines,
) -> Iterator[Line]:
    """The messages of a session: a line for what a person wrote, and one for each other part.

    2.x copies what 1.x wrote: of what both have, the rows of 1.x count.
    """
    unread.program = f"OpenCode {session.version}".strip()
    root = root_of(session.id, {key: each.parent for key, each in sessions.items()})
    agent = MAIN if session.id == root else clean_text(session.id)
    about = _About(root, agent, session.folder, session.title if agent == MAIN else "")
    # A fork begins with copies of messages, which the session has that it was made of.
    since = session.began if session.fork in sessions else 0
    keys: set[str] = set()
    if "part" in session.stamps:
        until = 0
        for key, at, line in _of_1(database, session.id, about, unread):
            keys.add(key)
            until = max(until, at or 0)
            yield from line
        since = max(since, until + 1)
    if "session_message" in session.stamps:
        yield from _of_2(database, session.id, about, unread, since, keys)


@dataclass(slots=True)
class _About:
    """What all messages of a session have: its root, who works, where, and the title."""

    root: str
    agent: str
    folder: str
    title: str

    def line(self, uuid: str, at: int | None, events: Iterable[Event]) -> Line:
        return Line(uuid, self.root, at, self.folder, "", self.agent, tuple(events))

    def asked(self, words: str) -> Iterator[Event]:
        """The events of what was asked: by a person, or by the agent above."""
        if asked := without_injected(words):
            yield Prompt(asked) if self.agent == MAIN else Instruction(asked)
            if self.title:
                yield SessionTitle(self.title)


def _of_1(
    database: ForeignDatabase, session: str, about: _About, unread: UnreadLines
) -> Iterator[tuple[str, int | None, list[Line]]]:
    """Each message of 1.x: its id, when it was, and its lines."""
    parts_of: dict[str, list[tuple[str, object]]] = defaultdict(list)
    for message_id, part_id, data in database.rows(_PARTS, session):
        parts_of[message_id].append((part_id, data))
    for unread.at, (key, at, data) in enumerate(database.rows(_MESSAGES, session), 1):
        message = _object(data, unread)
        parts = [(part_key, _object(part, unread)) for part_key, part in parts_of[key]]
        at = at if _is_time(at) else None
        lines: list[Line] = []
        if message.get("role") == "user":
            asked = words([part for _, part in parts if not part.get("synthetic")])
            if events := tuple(about.asked(asked)):
                lines.append(about.line(key, at, events))
        elif message.get("role") == "assistant":
            for part_key, part in parts:
                events = tuple(_events(part, is_summary=message.get("summary") is True))
                lines.append(about.line(part_key, _time(part) or at, events))
        elif message:
            unread.not_known(f"role {message.get('role')}")
        yield key, at, lines


def _of_2(
    database: ForeignDatabase,
    session: str,
    about: _About,
    unread: UnreadLines,
    since: int,
    known: Collection[str],
) -> Iterator[Line]:
    """The lines of messages of 2.x from a time on, without those that are known by their ids."""
    for unread.at, (key, sort, at, data) in enumerate(database.rows(_MESSAGES_2, session), 1):
        message = _object(data, unread)
        times = fields(message.get("time"))
        at = next((each for each in (times.get("created"), at) if _is_time(each)), None)
        if key in known or (at is not None and at < since):
            continue
        match sort:
            case "user":
                yield about.line(key, at, about.asked(clean_text(message.get("text"))))
            case "assistant":
                for number, part in enumerate(map(fields, items(message.get("content")))):
                    done = fields(part.get("time")).get("completed")
                    events = _events(_as_in_1(part), is_summary=False)
                    yield about.line(f"{key}-{number}", done if _is_time(done) else at, events)
            case "shell":  # the person ran it
                call = call_of(TOOLS, key, "shell", message)
                output = message.get("output")
                said = clean_text(output) or clean_text(fields(output).get("output"))
                code = exit_code(message.get("exit"))
                yield about.line(key, at, (call, result_of(key, said, failed=False, code=code)))
            case "compaction":
                if summary := clean_text(message.get("summary")):
                    yield about.line(key, at, (Compaction(summary),))
            case "location-switched":
                place = clean_text(fields(message.get("location")).get("directory"))
                about.folder = place or about.folder
            case _ if sort not in _NO_WORK:
                unread.not_known(f"message type {sort}")


def _as_in_1(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """A part of a message of 2.x as 1.x wrote it."""
    if part.get("type") != "tool":
        return part
    state = fields(part.get("state"))
    error = fields(state.get("error")).get("message") or state.get("error")
    told = {"output": words(state.get("content")) or state.get("output"), "error": error}
    call, tool = part.get("callID") or part.get("id"), part.get("name") or part.get("tool")
    return {"type": "tool", "callID": call, "tool": tool, "state": {**state, **told}}


def _object(data: object, unread: UnreadLines) -> Mapping[str, Any]:
    """The fields of a message or a part of one; ``unread`` notes what is no object."""
    before, value = unread.count, value_of(data, unread)
    if unread.count == before and not isinstance(value, Mapping):
        unread.add(unread.at, "cannot be read: it is not an object")
    return fields(value)


def _is_time(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _time(part: Mapping[str, Any]) -> int | None:
    """When a part was over, in ms since 1970."""
    times = fields(part.get("time")) or fields(fields(part.get("state")).get("time"))
    at = times.get("end", times.get("start"))
    return at if _is_time(at) else None


def _events(part: Mapping[str, Any], *, is_summary: bool) -> Iterator[Event]:
    if part.get("type") == "text" and not part.get("synthetic") and (said := words([part])):
        yield Compaction(said) if is_summary else AgentText(said)
    elif part.get("type") == "tool":
        state, tool, call = fields(part.get("state")), part.get("tool"), part.get("callID")
        given = fields(state.get("input"))
        made = call_of(TOOLS, call, tool, given)
        patched = clean_text(given.get("patchText")) if tool in ("patch", "apply_patch") else ""
        files = [path.strip() for path in _PATCHED.findall(patched)]
        calls = [ToolCall(f"{call}/{path}", "Edit", {"file_path": path}) for path in files]
        yield from (made, *calls)
        if (status := state.get("status")) in ("completed", "error"):
            failed = status == "error"
            answer = clean_text(state.get("error" if failed else "output"))
            code = exit_code(fields(state.get("metadata")).get("exit"))
            yield from (result_of(each.call, "", failed=failed) for each in calls)
            yield result_of(call, answer, failed=failed, code=code)
