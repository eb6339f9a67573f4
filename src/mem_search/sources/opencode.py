"""The source `opencode`: sessions of OpenCode become prompts, steps of work and summaries.

All sessions are in one SQLite database, ``~/.local/share/opencode/opencode.db``: a row for each
session, message and part of a message. It is only read. A session is read again when a part was
added or changed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from mem_search.contracts import Machine
from mem_search.errors import SourceError
from mem_search.model import Batch, Draft, LedgerEntry, Location
from mem_search.model.ingest import WholeSession
from mem_search.patterns import pattern
from mem_search.projects import identify
from mem_search.sources.agent_work.drafts import VERSION
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
from mem_search.sources.agent_work.text import clean_text, without_injected
from mem_search.sources.agent_work.transcripts import (
    Tools,
    answered,
    called,
    exit_code,
    home_of,
    read_only,
    records_of,
    words,
)
from mem_search.sources.base import BaseSource, BatchBuilder, alone
from mem_search.sources.conversations import fields
from mem_search.sources.databases import ENDED, ForeignDatabase, UnreadableDatabase
from mem_search.text.json_reading import loads

NAME: Final = "opencode"
_FILE: Final = pattern(r"opencode(?:-[\w.-]+)?\.db")
_TABLES: Final = ("session", "message", "part")
TOOLS: Final[Tools] = {
    "bash": ("Bash", "command"),
    "read": ("Read", "filePath"),
    "write": ("Write", "filePath"),
    "edit": ("Edit", "filePath"),
    "multiedit": ("MultiEdit", "filePath"),
    "grep": ("Grep", "pattern"),
    "glob": ("Glob", "pattern"),
    "list": ("LS", "path"),
    "task": ("Task", "description"),
    "webfetch": ("WebFetch", "url"),
    "websearch": ("WebSearch", "query"),
}
_PATCHED: Final = pattern(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_OF_ALL: Final = (ENDED, "SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_IOERR")
"""Errors of the whole database; another one is of the session that is read."""
_UNTITLED: Final = pattern(r"(?:New|Child) session - ")
_SESSIONS: Final = """
    select s.id, s.parent_id, s.directory, s.title, count(p.id), max(p.time_updated)
    from session s join part p on p.session_id = s.id group by s.id order by s.time_created, s.id
"""
_MESSAGES: Final = """
    select id, time_created, data from message where session_id = ? order by time_created, id
"""
_PARTS: Final = """
    select p.message_id, p.id, p.data from part p join message m on m.id = p.message_id
    where m.session_id = ? order by p.id
"""


class OpenCode(BaseSource):
    """The work of a subagent, which has a session of its own, belongs to the session above it."""

    name = NAME
    follows = True

    def discover(self, machine: Machine) -> Iterable[Location]:
        root = home_of(machine, ".local/share", "XDG_DATA_HOME")
        for path in sorted((root / "opencode").glob("opencode*.db")):
            if self.recognises(path):
                yield Location(NAME, str(path), label="OpenCode sessions")

    def recognises(self, path: Path) -> bool:
        return _FILE.fullmatch(path.name) is not None

    def read(self, location: Location, cursor: Mapping[str, Any]) -> Iterator[Batch]:
        path = Path(location.path).expanduser()
        if not path.is_file():
            raise SourceError(f"{path} does not exist", field="path")
        is_known = cursor.get("version") == VERSION
        known: dict[str, str] = dict(cursor.get("sessions", {})) if is_known else {}
        with read_only(path, _TABLES) as database:
            rows = database.rows(_SESSIONS)
            parents = {row[0]: row[1] for row in rows}
            batch = BatchBuilder(total=len(rows))
            for done, (session, _, folder, title, count, changed) in enumerate(rows):
                if known.get(session) == (stamp := f"{changed}-{count}"):
                    continue
                item, taken = clean_text(session), batch.taken
                batch.outdate(item)
                root = _root(session, parents)
                title = "" if _UNTITLED.match(clean_text(title)) else clean_text(title)
                make = partial(_records, database, session, root, clean_text(folder), title)
                failed = False
                for each in alone(item, make):
                    if isinstance(each, Draft):
                        batch.take(each, item)
                    elif isinstance(each, LedgerEntry):
                        failed = True
                        batch.note(each)
                    else:
                        batch.finish(each)
                taken = batch.taken - taken
                if taken and not failed:
                    batch.note(LedgerEntry(item, "taken", records=taken))
                elif not failed:
                    batch.leave(item, "there is nothing in it that could be stored")
                known[session] = stamp
                if batch.is_full:
                    yield batch.build({"version": VERSION, "sessions": dict(known)}, done + 1)
            if batch:
                yield batch.build({"version": VERSION, "sessions": dict(known)}, len(rows))


def _root(session: str, parents: Mapping[str, str | None]) -> str:
    """The session that a person began."""
    seen = {session}
    while (above := parents.get(session)) and above not in seen:
        seen.add(above)
        session = above
    return session


def _records(
    database: ForeignDatabase, session: str, root: str, folder: str, title: str
) -> Iterator[Draft | WholeSession]:
    """The records of a session. Raises SourceError when the database cannot be asked any more."""
    try:
        yield from records_of(
            NAME, _lines(database, session, root, folder, title), identify, session
        )
    except UnreadableDatabase as error:
        if error.name in _OF_ALL:
            raise SourceError(f"the database cannot be read: {error}; sync again") from error
        raise


def _lines(
    database: ForeignDatabase, session: str, root: str, folder: str, title: str
) -> Iterator[Line]:
    """The messages of a session: a line for what a person wrote, and one for each other part."""
    agent = MAIN if session == root else session
    named = (SessionTitle(title),) if title and agent == MAIN else ()
    parts_of: dict[str, list[tuple[str, Mapping[str, Any]]]] = defaultdict(list)
    for message_id, part_id, data in database.rows(_PARTS, session):
        parts_of[message_id].append((part_id, _object(data)))
    for key, at, data in database.rows(_MESSAGES, session):
        message, parts = _object(data), parts_of[key]
        at = at if isinstance(at, int) and at > 0 else None

        def line(uuid: str, events: tuple[Event, ...], at: int | None = at) -> Line:
            return Line(uuid, root, at, folder, "", agent, events)

        if message.get("role") == "user":
            written = [part for _, part in parts if not part.get("synthetic")]
            if asked := without_injected(words(written)):
                yield line(key, (Prompt(asked) if agent == MAIN else Instruction(asked), *named))
        elif message.get("role") == "assistant":
            for part_key, part in parts:
                events = tuple(_events(part, is_summary=message.get("summary") is True))
                yield line(part_key, events, _time(part) or at)


def _object(data: object) -> Mapping[str, Any]:
    try:
        return fields(loads(data)) if isinstance(data, str | bytes) else {}
    except (ValueError, RecursionError):
        return {}


def _time(part: Mapping[str, Any]) -> int | None:
    """When a part was over, in ms since 1970."""
    times = fields(part.get("time")) or fields(fields(part.get("state")).get("time"))
    at = times.get("end", times.get("start"))
    return at if isinstance(at, int) and not isinstance(at, bool) and at > 0 else None


def _events(part: Mapping[str, Any], *, is_summary: bool) -> Iterator[Event]:
    if part.get("type") == "text" and not part.get("synthetic") and (said := words([part])):
        yield Compaction(said) if is_summary else AgentText(said)
    elif part.get("type") == "tool":
        state, tool, call = fields(part.get("state")), part.get("tool"), part.get("callID")
        given = fields(state.get("input"))
        made = called(TOOLS, call, tool, given)
        patched = clean_text(given.get("patchText")) if tool in ("patch", "apply_patch") else ""
        files = [path.strip() for path in _PATCHED.findall(patched)]
        calls = [ToolCall(f"{call}/{path}", "Edit", {"file_path": path}) for path in files]
        yield from (made, *calls)
        if (status := state.get("status")) in ("completed", "error"):
            failed = status == "error"
            answer = clean_text(state.get("error" if failed else "output"))
            code = exit_code(fields(state.get("metadata")).get("exit"))
            yield from (answered(each.call, "", failed=failed) for each in calls)
            yield answered(call, answer, failed=failed, code=code)
