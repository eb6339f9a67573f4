"""The source `cursor`: sessions of Cursor's CLI become prompts, steps of work and summaries.

A session is a SQLite database ``~/.cursor/chats/DIRECTORY/SESSION/store.db``: messages as JSON in
the table ``blobs``, among state in another form, and the session's own fields in ``meta``. Its
vendor does not document it; this follows what others found in real files (skillsynchq/txcript,
docs/formats/cursor.md).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from mem_search.patterns import pattern
from mem_search.sources.agent_work.events import (
    MAIN,
    AgentText,
    Event,
    Line,
    Prompt,
    SessionTitle,
)
from mem_search.sources.agent_work.text import clean_text, without_injected
from mem_search.sources.agent_work.transcripts import (
    SessionFiles,
    Tools,
    answered,
    called,
    exit_code,
    read_only,
    words,
)
from mem_search.sources.conversations import fields, items
from mem_search.sources.whole_files import WholeFile

_FILE: Final = "store.db"
_PATHS: Final = ("path", "file_path", "target_file")
_TOOLS: Final[Tools] = {
    "Shell": ("Bash", "command"),
    "Read": ("Read", *_PATHS),
    "Write": ("Write", *_PATHS),
    "StrReplace": ("Edit", *_PATHS),
    "MultiStrReplace": ("MultiEdit", *_PATHS),
    "Edit": ("Edit", *_PATHS),
    "Delete": ("Edit", *_PATHS),
    "Grep": ("Grep", "pattern"),
    "Glob": ("Glob", "glob_pattern", "pattern"),
    "LS": ("LS", "path"),
    "Task": ("Task", "description"),
    "WebSearch": ("WebSearch", "search_term", "query"),
    "WebFetch": ("WebFetch", "url"),
}
_ASKED: Final = pattern(r"<user_query>([^<]*(?:<(?!/user_query>)[^<]*)*)</user_query>")
_ADDED: Final = "<user_info>"
_EXITED: Final = pattern(r"\bexit(?:ed with)? code:? (\d{1,9})\b", re.IGNORECASE)
_ERROR: Final = pattern(r"\s*Error:")


class Cursor(SessionFiles):
    """Messages have no order but that in which they were stored."""

    name = "cursor"
    label = "Cursor CLI"
    usual, folder = ".cursor", "chats"
    file_format = None  # an upload of it lacks its log
    tools = _TOOLS

    def recognises(self, path: Path) -> bool:
        return path.name == _FILE and path.parts[-4:-3] == ("chats",)

    def lines(self, file: WholeFile) -> Iterator[Line]:
        with read_only(file.path, ("blobs", "meta")) as database:
            found = database.rows("select value from meta where key = '0'")
            rows = database.rows("select id, data from blobs order by rowid")
        meta = _meta(found[0][0] if found else None)
        session = clean_text(meta.get("agentId")) or file.path.parent.name
        began, cwd = _milliseconds(meta.get("createdAt")), clean_text(meta.get("workspacePath"))
        title = (SessionTitle(clean_text(meta.get("name"))),)
        for key, data in rows:
            message = _object(data)
            at = _milliseconds(message.get("createdAt")) or began
            events = tuple(_events(message))
            named = title if any(isinstance(event, Prompt) for event in events) else ()
            yield Line(clean_text(key), session, at, cwd, "", MAIN, (*events, *named))


def _meta(value: object) -> Mapping[str, Any]:
    """The fields of the session, which are JSON, or its bytes in hexadecimal."""
    if isinstance(value, str) and not value.lstrip().startswith("{"):
        try:
            value = bytes.fromhex(value)
        except ValueError:
            return {}
    return _object(value)


def _object(data: object) -> Mapping[str, Any]:
    """A message; {} for a blob in another form."""
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
        return fields(json.loads(text)) if isinstance(text, str) and text[:1] == "{" else {}
    except (ValueError, RecursionError):
        return {}


def _milliseconds(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _events(message: Mapping[str, Any]) -> Iterator[Event]:
    content = message.get("content")
    match message.get("role"):
        case "user":
            text = words(content)
            asked = "\n\n".join(found.strip() for found in _ASKED.findall(text))
            asked = asked or ("" if _ADDED in text else without_injected(text))
            if asked:
                yield Prompt(asked)
        case "assistant":
            for part in map(fields, [content] if isinstance(content, dict) else items(content)):
                if said := words([part]):
                    yield AgentText(said)
                elif part.get("type") == "tool-call":
                    yield called(_TOOLS, part.get("toolCallId"), part.get("toolName"), _args(part))
            if isinstance(content, str) and (said := words(content)):
                yield AgentText(said)
        case "tool":
            for part in map(fields, items(content)):
                if part.get("type") == "tool-result":
                    yield _answer(part)


def _args(part: Mapping[str, Any]) -> object:
    return part.get("args") or part.get("input")


def _answer(part: Mapping[str, Any]) -> Event:
    given = part.get("result", part.get("output"))
    answer = clean_text(given) or words(given) or words(part.get("experimental_content"))
    exited = _EXITED.search(answer) if part.get("toolName") == "Shell" else None
    known = part.get("isError")
    failed = known if isinstance(known, bool) else _ERROR.match(answer) is not None
    code = exit_code(exited[1]) if exited else 0
    return answered(part.get("toolCallId"), answer, failed=failed, code=code)
