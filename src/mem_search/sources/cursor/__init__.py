"""The source `cursor`: sessions of Cursor become prompts, steps of work and summaries.

A session of the CLI is a SQLite database ``~/.cursor/chats/DIRECTORY/SESSION/store.db``: messages
as JSON in the table ``blobs``, among state in another form, and the session's own fields in
``meta``. CLI and editor also write a transcript below ``~/.cursor/projects``:
``DIRECTORY/agent-transcripts/SESSION.jsonl``, or in a folder of that name, ``subagents/….jsonl``,
and once as text. It has no times but those of prompts, and no answers of tools, so it is read where
there is no database. The vendor documents neither; this follows what others found in real files
(skillsynchq/txcript, docs/formats/cursor.md). Two forms take more lines than one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from mem_search.contracts import Machine
from mem_search.errors import SourceError
from mem_search.model import Draft, LedgerEntry, Location
from mem_search.model.ingest import WholeSession
from mem_search.sources.agent_work.events import MAIN, Line, Prompt, SessionTitle
from mem_search.sources.agent_work.session_stores import application_folders
from mem_search.sources.agent_work.text import clean_text
from mem_search.sources.agent_work.transcripts import SessionFiles, home_of, read_only
from mem_search.sources.conversations import fields, items
from mem_search.sources.cursor.messages import (
    TOOLS,
    TRANSCRIPTS,
    events,
    named,
    object_of,
    transcript,
)
from mem_search.sources.whole_files import NotHere, WholeFile

_FILE: Final = "store.db"
_SUMMARY: Final = "/summary"
"""The end of the one id that a session has in a database of the CLI and in a transcript."""
_CHAT: Final = """
    select key, value from cursorDiskKV where key = ? or key = (
        select min(key) from cursorDiskKV where key >= ? and key < ?)
"""
"""A chat of the editor, and one of its messages."""


class Cursor(SessionFiles):
    """Messages have no order but that in which they were stored."""

    name = "cursor"
    label = "Cursor CLI"
    usual, folder = ".cursor", "chats"
    file_format = None  # an upload of it lacks its log
    tools = TOOLS

    def discover(self, machine: Machine) -> Iterable[Location]:
        yield from super().discover(machine)
        projects = home_of(machine, self.usual, *self.variables) / "projects"
        if next(projects.glob(f"*/{TRANSCRIPTS}"), None):
            yield Location(self.name, str(projects), label="Cursor transcripts")

    def recognises(self, path: Path) -> bool:
        if path.name == _FILE:
            return path.parts[-4:-3] == ("chats",)
        return path.suffix in (".jsonl", ".txt") and TRANSCRIPTS in path.parts[:-1]

    def drafts(self, file: WholeFile) -> Iterator[Draft | LedgerEntry | WholeSession | NotHere]:
        is_of_both = file.path.name != _FILE
        store = _store_of(file.path) if is_of_both else None
        of_editor = _chat_of_editor(file.path) if is_of_both and not store else None
        if not (store or of_editor):
            yield from super().drafts(file)
            return
        source = self.name if store else "cursor-editor"
        why = f"the session is read from {store or of_editor}, which says more: mem-search sync"
        yield LedgerEntry(file.name, "left", f"{why} {source}")
        # It may have been read before the database had the session.
        for each in super().drafts(WholeFile(file.path, file.name)):
            if isinstance(each, Draft) and not (store and each.source_id.endswith(_SUMMARY)):
                yield NotHere(each.source_id)

    def lines(self, file: WholeFile) -> Iterator[Line]:
        return _stored(file) if file.path.name == _FILE else transcript(file)


def _stored(file: WholeFile) -> Iterator[Line]:
    """The messages of a session of the CLI."""
    with read_only(file.path, ("blobs", "meta")) as database:
        about = database.rows("select value from meta where key = '0'")
        rows = database.rows("select id, data from blobs order by rowid")
    meta = _meta(about[0][0] if about else None)
    session = clean_text(meta.get("agentId")) or file.path.parent.name
    began, cwd = _milliseconds(meta.get("createdAt")), clean_text(meta.get("workspacePath"))
    title = (SessionTitle(clean_text(meta.get("name"))),)
    file.unread.unit, has_messages = "blob", False
    for file.unread.at, (key, data) in enumerate(rows, 1):
        message = object_of(data)
        has_messages = has_messages or "role" in message
        at = _milliseconds(message.get("createdAt")) or began
        message_events = tuple(events(message, file.unread))
        titled = title if any(isinstance(event, Prompt) for event in message_events) else ()
        yield Line(clean_text(key), session, at, cwd, "", MAIN, (*message_events, *titled))
    if rows and not has_messages:
        file.unread.not_known("none is a message in JSON")


def _store_of(path: Path) -> Path | None:
    """The database of the session of a transcript, if it has what the person asked."""
    session, agent = named(path)
    if TRANSCRIPTS not in path.parts or agent != MAIN:
        return None
    home = Path(*path.parts[: path.parts.index(TRANSCRIPTS)]).parent.parent
    for store in sorted((home / "chats").glob(f"*/{session}/{_FILE}")):
        try:
            lines = list(_stored(WholeFile(store, store.name)))
        except SourceError:  # the reading of that file says so
            continue
        if any(isinstance(event, Prompt) for line in lines for event in line.events):
            return store
    return None


def _chat_of_editor(path: Path) -> Path | None:
    """The database of Cursor's editor, if it has the chat of a transcript with its messages."""
    if TRANSCRIPTS not in path.parts:
        return None
    home = Path(*path.parts[: path.parts.index(TRANSCRIPTS)]).parent.parent.parent
    is_ours = str(home) == os.path.expanduser("~")  # noqa: PTH111  Path raises without a home
    machine = Machine(home=home, cwd=home, environ=os.environ if is_ours else {})
    chat, messages = f"composerData:{path.stem}", f"bubbleId:{path.stem}"
    for folder in application_folders(machine, "Cursor"):
        store = folder / "User" / "globalStorage" / "state.vscdb"
        try:
            if not store.is_file():
                continue
            with read_only(store, ("cursorDiskKV",)) as database:
                rows = database.rows(_CHAT, chat, f"{messages}:", f"{messages};")
        except (SourceError, OSError):  # the reading of that database says so
            continue
        entries = {clean_text(key): object_of(value) for key, value in rows}
        about = entries.pop(chat, {})
        inline = items(about.get("conversation")) or fields(about.get("conversationMap"))
        if about and (entries or inline):
            return store
    return None


def _meta(value: object) -> Mapping[str, Any]:
    """The fields of the session, which are JSON, or its bytes in hexadecimal."""
    if isinstance(value, str) and not value.lstrip().startswith("{"):
        try:
            value = bytes.fromhex(value)
        except ValueError:
            return {}
    return object_of(value)


def _milliseconds(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
