"""Records as the rows of claude-mem's tables, which its clients read and its import takes.

Lists are JSON in a text, a value that this store does not have is null, and ``id`` is the number
of the record here: that is what its clients show, and send back to open it.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Self

from mem_search.model import Record
from mem_search.renderers.projection import From, projected
from mem_search.renderers.record_json import title_of
from mem_search.renderers.schema import schema
from mem_search.text import dates

UNKNOWN_PLATFORM = "claude"
"""claude-mem's own name for what has no platform."""


@schema
class Row:
    """What every row has. `memory_session_id` is the session, however it was captured."""

    id: Annotated[int, From("number")]
    memory_session_id: Annotated[str, From("session")]
    content_session_id: Annotated[str, From("session")]
    project: str
    platform_source: str
    prompt_number: int | None
    created_at: str
    created_at_epoch: Annotated[int, From("created_at")]
    discovery_tokens: int = 0
    merged_into_project: str | None = None

    @classmethod
    def of_record(cls, record: Record, /, **more: Any) -> Self:
        """The row of ``record`` with ``more``, which a subclass has."""
        metadata = record.metadata
        worktree = _text(record, "worktree")
        return projected(
            cls,
            record,
            project=f"{record.project}/{worktree}" if worktree else record.project,
            platform_source=_text(record, "platform") or UNKNOWN_PLATFORM,
            prompt_number=_whole(metadata.get("prompt_number")),
            created_at=dates.iso(record.created_at),
            discovery_tokens=_whole(metadata.get("discovery_tokens")) or 0,
            **more,
        )


@schema
class ObservationRow(Row):
    """An observation. A record of a kind that claude-mem does not have has its kind as `type`."""

    type: str
    title: str
    subtitle: str | None
    narrative: str | None
    text: str | None
    facts: str
    concepts: str
    files_read: str
    files_modified: str
    agent_type: str | None

    @classmethod
    def of(cls, record: Record) -> Self:
        narrative = _text(record, "narrative")
        return cls.of_record(
            record,
            type=_text(record, "type") or record.kind,
            title=title_of(record),
            subtitle=_text(record, "subtitle") or None,
            narrative=narrative or record.text,
            text=None,
            facts=_list(record, "facts"),
            concepts=_list(record, "concepts"),
            files_read=_list(record, "files_read"),
            files_modified=_list(record, "files_modified"),
            agent_type=_text(record, "agent_type") or None,
        )


@schema
class SummaryRow(Row):
    """The summary of a session."""

    request: str | None
    investigated: str | None
    learned: str | None
    completed: str | None
    next_steps: str | None
    notes: str | None
    files_read: str
    files_edited: str

    @classmethod
    def of(cls, record: Record) -> Self:
        names = ("request", "investigated", "learned", "completed", "next_steps", "notes")
        parts = {name: _text(record, name) or None for name in names}
        files = {name: _list(record, name) for name in ("files_read", "files_edited")}
        if not any(parts.values()):
            parts["completed"] = record.text
        return cls.of_record(record, **parts, **files)


@schema
class PromptRow(Row):
    """A prompt."""

    prompt_text: str

    @classmethod
    def of(cls, record: Record) -> Self:
        return cls.of_record(record, prompt_text=record.text)


@schema
class SessionRow:
    """A session, put together from its records."""

    id: Annotated[int, From("number")]
    content_session_id: Annotated[str, From("session")]
    memory_session_id: Annotated[str, From("session")]
    project: str
    platform_source: str
    user_prompt: str | None
    custom_title: str | None
    started_at: str
    started_at_epoch: Annotated[int, From("created_at")]
    completed_at: str | None
    completed_at_epoch: int | None
    status: str

    @classmethod
    def of(cls, first: Record, last: Record, prompt: Record | None, summary: Record | None) -> Self:
        """The session from ``first`` to ``last`` record; its ``prompt`` is the first one."""
        ended = None if summary is None else last.created_at
        return projected(
            cls,
            first,
            platform_source=_text(first, "platform") or UNKNOWN_PLATFORM,
            user_prompt=None if prompt is None else prompt.text,
            custom_title=None if summary is None else title_of(summary),
            started_at=dates.iso(first.created_at),
            completed_at=None if ended is None else dates.iso(ended),
            completed_at_epoch=ended,
            status="active" if ended is None else "completed",
        )


def row_of(record: Record) -> ObservationRow | SummaryRow | PromptRow:
    """The row of ``record`` in the table of its kind; other kinds are observations to clients."""
    match record.kind:
        case "session_summary":
            return SummaryRow.of(record)
        case "user_prompt":
            return PromptRow.of(record)
        case _:
            return ObservationRow.of(record)


def _text(record: Record, name: str) -> str:
    value = record.metadata.get(name)
    return value if isinstance(value, str) else ""


def _list(record: Record, name: str) -> str:
    value = record.metadata.get(name)
    return json.dumps(value if isinstance(value, list) else [], ensure_ascii=False)


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
