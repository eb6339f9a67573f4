"""A row of claude-mem as a draft. Pure: ``database`` reads rows, ``changes`` compares them.

Real databases have JSON columns with plain strings in them, numbers stored as text and missing
columns; none of them is an error here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from mem_search.model import Draft
from mem_search.model.forgetting import SESSION
from mem_search.patterns import pattern
from mem_search.sources.claude_mem.database import Row, Table
from mem_search.text.date_words import from_epoch
from mem_search.text.dates import LAST_TIME
from mem_search.text.platforms import platform_named

OBSERVER_PROJECT: Final = "observer-sessions"
"""The project of the sessions of claude-mem's own observer, which repeat other sessions."""
_OBSERVER: Final = OBSERVER_PROJECT.encode()

_SUMMARY_PARTS: Final = (
    "request", "investigated", "learned", "completed", "next_steps", "notes",
)  # fmt: skip
_INJECTED: Final = pattern(
    r"<(private|system-reminder|claude-mem-context|system_instruction|persisted-output)\b[^>]*>"
    r"(?:(?!<\1\b).)*?</\1\s*>",  # the innermost; without_injected then takes the one around it
    re.DOTALL | re.IGNORECASE,
)


def is_observer(table: Table, row: Row) -> bool:
    """Whether the row belongs to a session of claude-mem's own observer."""
    own, session = (row[table.place(name)] for name in ("project", "session_project"))
    return _OBSERVER in (own, session)


def draft_of(table: Table, row: Row, *, prefix: str) -> Draft | None:
    """The draft of ``row``, None when it has no text. ``prefix`` begins its ``source_id``."""
    fields = dict(zip(table.names, row[1:], strict=True))
    title, text, metadata = _READERS[table.kind](fields)
    if not (title or text or metadata.get("facts") or metadata.get("subtitle")):
        return None
    project, worktree = _project(fields)
    metadata |= {
        "prompt_number": _number(fields["prompt_number"]),
        "discovery_tokens": _number(fields.get("discovery_tokens")) or None,
        "platform": platform_named(_text(fields["platform"]) or "claude"),  # once the only one
        "worktree": worktree,
    }
    return Draft(
        kind=table.kind,
        source="claude-mem",
        source_id=f"{prefix}{table.kind}:{row[0]}",
        title=title,
        text=text,
        created_at=_milliseconds(fields["created_at_epoch"]),
        project=project,
        session=(session := _session(fields)),
        earlier=((SESSION, session),) if session else (),
        metadata={name: value for name, value in metadata.items() if value not in (None, "", [])},
    )


def without_injected(text: str) -> str:
    """A prompt without blocks that no person typed or that are marked as private."""
    previous = None
    while previous != text:
        previous, text = text, _INJECTED.sub("", text)
    return text.strip()


def texts(value: object, separator: str = r"\n") -> list[str]:
    """The strings of a column that should hold a JSON array.

    A value that is not JSON is split at ``separator``; items that are not strings become JSON.
    """
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    if not isinstance(value, str):
        return []
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        parsed = re.split(separator, value)
    items = parsed if isinstance(parsed, list) else [parsed]
    strings = (
        item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)
        for item in items
        if item is not None
    )
    return [text.strip() for text in strings if text.strip()]


def _observation(fields: Mapping[str, Any]) -> tuple[str, str, dict[str, Any]]:
    narrative, legacy = _text(fields["narrative"]), _text(fields["text"])
    both = (narrative, "" if legacy in narrative else legacy)
    metadata = {
        "type": _text(fields["type"]),
        "subtitle": _text(fields["subtitle"]),
        "narrative": narrative,
        "facts": texts(fields["facts"]),
        "concepts": texts(fields["concepts"], r"\n|,\s*"),
        "files_read": texts(fields["files_read"], r"\n|,\s+"),
        "files_modified": texts(fields["files_modified"], r"\n|,\s+"),
        "agent_type": _text(fields["agent_type"]),
    }
    return _text(fields["title"]), "\n\n".join(filter(None, both)), metadata


def _summary(fields: Mapping[str, Any]) -> tuple[str, str, dict[str, Any]]:
    parts = {name: text for name in _SUMMARY_PARTS if (text := _text(fields[name]))}
    text = "\n\n".join(
        f"{name.replace('_', ' ').capitalize()}: {part}" for name, part in parts.items()
    )
    files = {name: texts(fields[name], r"\n|,\s+") for name in ("files_read", "files_edited")}
    return parts.get("request", "").partition("\n")[0], text, {**parts, **files}


def _prompt(fields: Mapping[str, Any]) -> tuple[str, str, dict[str, Any]]:
    return "", without_injected(_text(fields["prompt_text"])), {}


_READERS: Final = {
    "observation": _observation,
    "session_summary": _summary,
    "user_prompt": _prompt,
}


def _project(fields: Mapping[str, Any]) -> tuple[str, str]:
    """(project, worktree). claude-mem writes ``project/worktree`` until a worktree is merged."""
    own = _text(fields["project"]) or _text(fields["session_project"])
    project, slash, worktree = own.partition("/")
    if not (slash and project and worktree):
        project, worktree = own, ""
    return _text(fields["merged_into_project"]) or project, worktree


def _session(fields: Mapping[str, Any]) -> str:
    """The agent's own id of the session; claude-mem's where it did not keep the agent's."""
    names = ("content_session", "session_content", "memory_session", "session_memory")
    return next((text for name in names if (text := _text(fields[name]))), "")


def _text(value: object) -> str:
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    return "" if value is None else str(value).strip()


def _number(value: object) -> int | None:
    try:
        return int(value)  # type: ignore[call-overload, no-any-return]
    except (TypeError, ValueError, OverflowError):
        return None


def _milliseconds(value: object) -> int | None:
    number = _number(value)
    if number is None or not 0 < number <= LAST_TIME:  # also of a row that somebody sends
        return None
    return from_epoch(number)
