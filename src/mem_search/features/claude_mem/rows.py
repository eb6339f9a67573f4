"""Records as the rows of claude-mem's tables, which its clients read and its import takes.

Lists are JSON in a text, a value that this store does not have is null, and ``id`` is the number
of the record here: that is what its clients show, and send back to open it.

``POST /api/import`` takes rows as claude-mem's export script wrote them. Numbers of rows mean
nothing in another store, so a row is known by what it says: its project and session, its title or
words, and its time. What is stored already, from claude-mem's own store or from an earlier import,
is skipped and never changed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Annotated, Any, Final, Self

from aiohttp import web
from pydantic import Field

from mem_search.features.claude_mem.clients import ClientBody
from mem_search.features.claude_mem.replies import Imported, ImportStats
from mem_search.http.core.replies import json_reply
from mem_search.http.core.routing import Call
from mem_search.model import Batch, DateRange, Draft, Filters, Location, Record
from mem_search.renderers.record_json import title_of
from mem_search.renderers.schema import From, projected, schema
from mem_search.sources.claude_mem.database import (
    CONTENT_SESSION,
    MEMORY_SESSION,
    SESSION,
    SHARED,
    TABLES,
    Table,
)
from mem_search.sources.claude_mem.drafts import draft_of, is_observer
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


_HERE: Final = Location("claude-mem", "POST /api/import")
_AT_ONCE: Final = 200
_MAX_ALIKE: Final = 200
"""Records of the same session and moment that a row is compared with."""

_Row = Mapping[str, Any]


class ExportBody(ClientBody):
    """What claude-mem's export script wrote; rows that are no objects are skipped."""

    sessions: list[Any] = Field(default=[])
    summaries: list[Any] = Field(default=[])
    observations: list[Any] = Field(default=[])
    prompts: list[Any] = Field(default=[])


async def take(call: Call) -> web.StreamResponse:
    """Store what is new."""
    body = call.json_body(ExportBody)
    sessions = [each for each in body.sessions if isinstance(each, Mapping)]
    known = [await _is_known(call, each) for each in sessions]
    given = {
        "observation": body.observations,
        "session_summary": body.summaries,
        "user_prompt": body.prompts,
    }
    new = {
        table.kind: await _stored(call, list(_drafts(table, given[table.kind], sessions)))
        for table in TABLES
    }
    begun = known.count(False)
    observations, summaries, prompts = (new[kind] for kind in given)
    stats = ImportStats(
        sessions_imported=begun,
        sessions_skipped=len(body.sessions) - begun,
        summaries_imported=summaries,
        summaries_skipped=len(body.summaries) - summaries,
        observations_imported=observations,
        observations_skipped=len(body.observations) - observations,
        prompts_imported=prompts,
        prompts_skipped=len(body.prompts) - prompts,
    )
    return json_reply(Imported(stats=stats))


async def _is_known(call: Call, session: _Row) -> bool:
    """Whether records of the session are stored before anything of this import is."""
    names = {str(session.get(name) or "") for name in (*MEMORY_SESSION, *CONTENT_SESSION)}
    store = call.runtime.store.records
    newest = [await store.newest(Filters(session=name), 1) for name in names if name]
    return any(newest)


def _drafts(table: Table, given: Sequence[Any], sessions: Sequence[_Row]) -> Iterator[Draft]:
    """The rows that have words, without those of claude-mem's own observer."""
    by_id = {
        _first(each, names): each
        for names in (CONTENT_SESSION, MEMORY_SESSION)
        for each in sessions
    }
    for item in given:
        if not isinstance(item, Mapping):
            continue
        ids = (_first(item, names) for names in (MEMORY_SESSION, CONTENT_SESSION))
        session = next((by_id[each] for each in ids if each and each in by_id), {})
        row = (
            0,
            *(_first(item, names) for names in SHARED.values()),
            *(_first(session, names) or _first(item, names) for names in SESSION.values()),
            *(_first(item, (name,)) for name in table.own),
        )
        draft = None if is_observer(table, row) else draft_of(table, row, prefix="")
        if draft is not None:
            said = json.dumps(_identity(draft)).encode()
            digest = hashlib.blake2b(said, digest_size=12).hexdigest()
            yield replace(draft, source_id=f"import:{table.kind}:{digest}")


def _first(row: _Row, names: Sequence[str]) -> Any:
    """The value of the first of these columns that the row has, as the database gives it."""
    value = next((row[name] for name in names if name in row), None)
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    return json.dumps(value).encode() if isinstance(value, list | dict) else value


def _identity(record: Draft | Record) -> tuple[Any, ...]:
    """What tells a row from the others of its session, in whatever store it is."""
    words = record.text if record.kind == "user_prompt" else record.title
    return record.kind, record.project, record.session, words, record.created_at


async def _stored(call: Call, drafts: Sequence[Draft]) -> int:
    """How many of ``drafts`` were new; the others are left as they are stored."""
    store, writer = call.runtime.store.records, call.runtime.ingest.writer
    new: dict[str, Draft] = {}
    for draft in drafts:
        moment = DateRange(draft.created_at, draft.created_at)
        like = Filters(kinds=(draft.kind,), session=draft.session, created=moment)
        page, _ = await store.page(like, "date_asc", _MAX_ALIKE, 0)
        known = {_identity(record) for record, _ in page}
        if _identity(draft) not in known and not await store.named(draft.source, draft.source_id):
            new[draft.source_id] = draft
    count = 0
    waiting = iter(new.values())
    while some := tuple(islice(waiting, _AT_ONCE)):
        count += (await writer.take(_HERE, Batch(drafts=some, item="rows"))).new
    return count
