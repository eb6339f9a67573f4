"""The source `goose`: sessions of Goose become prompts, steps of work and summaries.

All sessions are in one SQLite database, ``~/.local/share/goose/sessions/sessions.db``. Before it,
a session was a file ``SESSION.jsonl`` beside it: a line about the session, then its messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Final

from mem_search.contracts import Machine
from mem_search.patterns import pattern
from mem_search.platform import expanded
from mem_search.sources.agent_work.events import (
    MAIN,
    AgentText,
    Event,
    Instruction,
    Line,
    Prompt,
    SessionTitle,
)
from mem_search.sources.agent_work.session_stores import (
    SessionStores,
    Store,
    StoredSession,
    value_of,
    when,
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
from mem_search.sources.conversations import fields, items, json_lines
from mem_search.sources.databases import ForeignDatabase
from mem_search.sources.whole_files import UnreadLines, WholeFile
from mem_search.text.file_names import as_text

_FILE: Final = "sessions.db"
_TOOLS: Final[Tools] = {
    "shell": ("Bash", "command"),
    "view": ("Read", "path"),
    "read": ("Read", "path"),
    "write": ("Write", "path"),
    "edit": ("Edit", "path"),
    "tree": ("LS", "path"),
    "delegate": ("Task", "instructions"),
    "web_search": ("WebSearch", "query"),
    "web_scrape": ("WebFetch", "url"),
}
_EDITOR: Final = {"view": "view", "write": "write", "create": "write"}
"""What ``text_editor`` does by its argument ``command``; anything else edits."""
_SILENT: Final = (
    "image", "thinking", "redactedThinking", "toolConfirmationRequest", "actionRequired",
    "systemNotification", "conversationCompacted", "contextLengthExceeded",
    "summarizationRequested",
)  # fmt: skip
_EXITED: Final = pattern(r"\bexit(?:ed with)? (?:code|status):? (\d{1,9})\b", re.IGNORECASE)
_SESSIONS: Final = """
    select s.id, count(m.id), max(m.id), s.updated_at from sessions s
    join messages m on m.session_id = s.id group by s.id order by s.created_at, s.id
"""
_VERSION: Final = "select max(version) from schema_version"
_ABOUT: Final = ("name", "description", "session_type", "working_dir")


class Goose(SessionStores):
    """The n-th message of a session has the id ``SESSION/n``: its own number in the database
    changes when Goose compacts, and in files it has none.
    """

    name = "goose"
    label = "Goose"
    tables = ("sessions", "messages")
    optional = ("schema_version",)

    def places(self, machine: Machine) -> Iterable[Path]:
        if given := machine.environ.get("GOOSE_PATH_ROOT"):
            yield Path(expanded(given)) / "data" / "sessions"
        else:
            yield home_of(machine, ".local/share", "XDG_DATA_HOME") / "goose" / "sessions"

    def recognises(self, path: Path) -> bool:
        return path.parts[-3:-1] == ("goose", "sessions") and (
            path.name == _FILE or path.suffix == ".jsonl"
        )

    def stores(self, root: Path) -> Iterable[Store]:
        if root.is_file():
            return (Store(root),)
        return [Store(path) for path in (root / _FILE, *sorted(root.glob("*.jsonl")))]

    def in_database(self, store: Store, database: ForeignDatabase) -> Iterator[StoredSession]:
        for session, count, last, changed in database.rows(_SESSIONS):
            lines = partial(_stored, database, session)
            yield StoredSession(session, f"{changed}-{last}-{count}", lines)

    def in_file(self, store: Store) -> Iterator[StoredSession]:
        yield StoredSession(as_text(store.path.stem), store.stamp(), partial(_filed, store.path))


def _stored(database: ForeignDatabase, session: str, unread: UnreadLines) -> Iterator[Line]:
    names = [each for each in _ABOUT if each in database.columns["sessions"]]
    row = database.rows(f"select {', '.join(names)} from sessions where id = ?", session)  # noqa: S608
    about = dict(zip(names, row[0], strict=True)) if row else {}
    has_more = "metadata_json" in database.columns["messages"]
    rows = database.rows(
        f"select role, content_json, created_timestamp, {'metadata_json' if has_more else 'null'}"  # noqa: S608
        " from messages where session_id = ? order by id",
        session,
    )
    if "version" in database.columns.get("schema_version", ()):
        unread.program = f"Goose, schema {database.rows(_VERSION)[0][0]}"

    def messages() -> Iterator[Mapping[str, Any]]:
        for unread.at, (role, content, at, more) in enumerate(rows, 1):
            parts, shown = value_of(content, unread), value_of(more, unread)
            yield {"role": role, "created": at, "content": parts, "metadata": shown}

    yield from _lines(session, about, messages(), unread)


def _filed(path: Path, unread: UnreadLines) -> Iterator[Line]:
    lines = json_lines(WholeFile(path, path.name, unread=unread))
    first = next(lines, {})
    about = {} if "content" in first else first
    unread.program = f"Goose, {as_text(path.name)} of before its database"
    said = [] if about else [first]
    yield from _lines(
        as_text(path.stem), about, chain(said, (each for each in lines if each)), unread
    )


def _lines(
    session: str,
    about: Mapping[str, Any],
    messages: Iterable[Mapping[str, Any]],
    unread: UnreadLines,
) -> Iterator[Line]:
    folder = clean_text(about.get("working_dir"))
    is_person = clean_text(about.get("session_type")) not in ("sub_agent", "scheduled", "hidden")
    title = clean_text(about.get("name")) or clean_text(about.get("description"))
    for number, message in enumerate(messages, 1):
        is_shown = fields(message.get("metadata")).get("userVisible") is not False
        content = [fields(part) for part in items(message.get("content"))]
        events: list[Event] = []
        if is_shown and (said := words(content)):
            if message.get("role") == "assistant":
                events.append(AgentText(said))
            elif asked := without_injected(said):
                events.append(Prompt(asked) if is_person else Instruction(asked))
        for part in content:
            kind = part.get("type")
            if kind in ("toolRequest", "frontendToolRequest"):
                events.append(_called(part))
            elif kind == "toolResponse":
                events.append(_answered(part))
            elif kind not in ("text", *_SILENT):
                unread.not_known(f"a part {clean_text(kind) or kind}")
        if title and any(isinstance(event, Prompt) for event in events):
            events.append(SessionTitle(title))
        at = when(message.get("created"))
        yield Line(str(number), session, at, folder, "", MAIN, tuple(events))


def _called(part: Mapping[str, Any]) -> Event:
    call = fields(fields(part.get("toolCall")).get("value"))
    given, tool = fields(call.get("arguments")), clean_text(call.get("name")).rpartition("__")[2]
    if tool == "text_editor":
        tool = _EDITOR.get(clean_text(given.get("command")), "edit")
    return call_of(_TOOLS, part.get("id"), tool, given)


def _answered(part: Mapping[str, Any]) -> Event:
    """The answer: content with text, in the first form the list of it itself, or an error."""
    result = fields(part.get("toolResult"))
    value = result.get("value")
    said = words(fields(value).get("content") or value) or clean_text(result.get("error"))
    failed = result.get("status") == "error" or fields(value).get("isError") is True
    code = exit_code(fields(fields(value).get("structuredContent")).get("exit_code"))
    if failed and not code and (exited := _EXITED.search(said)):
        code = exit_code(exited[1])
    return result_of(part.get("id"), said, failed=failed, code=code)
