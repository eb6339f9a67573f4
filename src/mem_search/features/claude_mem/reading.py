"""What clients of claude-mem read that no route of ours has in that form."""

from __future__ import annotations

import asyncio
import heapq
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Annotated, Any, Final

from aiohttp import web
from pydantic import BeforeValidator, Field

from mem_search.features.claude_mem.clients import ClientBody
from mem_search.features.claude_mem.rows import ObservationRow, SessionRow, row_of
from mem_search.http.core.event_stream import PING, event_of, send_events
from mem_search.http.core.parameter_types import Words
from mem_search.http.core.parameters import MAX_OFFSET, PlatformParameters
from mem_search.http.core.replies import json_reply
from mem_search.http.core.routing import Call
from mem_search.model import DateRange, Filters, Record, SearchRequest
from mem_search.records.origin import is_given
from mem_search.renderers import harmless
from mem_search.renderers.schema import dumped, schema, to_values
from mem_search.search.query_understanding import EVERYTHING
from mem_search.text.dates import now_ms

MAX_SESSIONS: Final = 50_000
"""The export script asks for all sessions of what it exports at once."""
TABLES: Final = {
    "observation": "observations",
    "session_summary": "sessions",
    "user_prompt": "prompts",
}
"""Kind → the name of its rows in the reply."""
_AT_ONCE: Final = 200
"""Records that are read from the store at once."""
_SAID: Final = "The rows are in observations, sessions and prompts; leave format out to read them."
PAUSE_SECONDS: Final = 1.0
_PING_SECONDS: Final = 15.0
_EVENTS: Final = {
    "observation": ("new_observation", "observation"),
    "session_summary": ("new_summary", "summary"),
    "user_prompt": ("new_prompt", "prompt"),
}


def words_of(value: Any) -> Any:
    """A list, ``"a,b"`` or ``'["a", "b"]'``; nothing is an empty one."""
    if value is None or value == "":
        return []
    if not isinstance(value, str):
        return value
    try:
        read = json.loads(value)
    except (ValueError, RecursionError):
        read = None
    return read if isinstance(read, list) else [each.strip() for each in value.split(",")]


class ByFileParameters(PlatformParameters):
    """Observations about a file; several paths name the same one."""

    paths: Words = Field(alias="path", min_length=1, description="The file, absolute or relative")
    projects: Words = Field(default=(), description="Any of these projects")
    limit: int = Field(default=15, ge=1, le=100, description="How many at most")


class SessionsBody(ClientBody):
    """Sessions to look up."""

    sessions: Annotated[list[str], BeforeValidator(words_of), Field(max_length=MAX_SESSIONS)] = (
        Field(alias="memorySessionIds")
    )


@schema
class FileObservations:
    """Observations about a file, newest first."""

    observations: list[ObservationRow]
    count: int


async def by_file(call: Call) -> web.StreamResponse:
    """The newest observations about a file.

    A hook gives them to the agent unasked, so those that read like instructions are left out, and
    names of the others are plain.
    """
    params = call.parameters(ByFileParameters)
    store = call.runtime.store.records
    lists = [
        await store.newest(
            Filters(
                kinds=("observation",),
                files=params.paths,
                project=project,
                facets=params.facets(),
            ),
            2 * params.limit,
        )
        for project in params.projects or ("",)
    ]
    merged = heapq.merge(*lists, key=lambda each: (each.created_at, each.number), reverse=True)
    given = islice(filter(is_given, merged), params.limit)
    rows = [ObservationRow.of(harmless(each)) for each in given]
    return json_reply(FileObservations(observations=rows, count=len(rows)))


async def sessions(call: Call) -> web.StreamResponse:
    """The sessions with these ids; an unknown one is left out."""
    asked = dict.fromkeys(call.json_body(SessionsBody).sessions)
    rows = [await _session(call, session) for session in asked if session]
    return json_reply([each for each in rows if each], kind=list[SessionRow])


async def _session(call: Call, session: str) -> SessionRow | None:
    store = call.runtime.store.records
    everything = Filters(session=session)
    newest = await store.newest(everything, 1)
    if not newest:
        return None
    (first, *_), _ = await store.page(everything, "date_asc", 1, 0)
    asked, summed = (
        replace(everything, kinds=(kind,)) for kind in ("user_prompt", "session_summary")
    )
    prompts, _ = await store.page(asked, "date_asc", 1, 0)
    summaries = await store.newest(summed, 1)
    prompt = prompts[0][0] if prompts else None
    return SessionRow.of(first[0], newest[0], prompt, summaries[0] if summaries else None)


async def exported_rows(call: Call, request: SearchRequest, limit: int) -> web.StreamResponse:
    """Send at most ``limit`` rows of each kind, one by one, because there may be many.

    ``GET /api/search?format=json&limit=999999`` is how the export script of claude-mem gets
    everything, so the limit counts the rows of a table and is not the size of a page. Only the
    kinds that claude-mem has are exported.

    A question finds at most ``MAX_OFFSET`` records. Without one, or with ``*`` alone, all that
    pass the filters are sent, in the order in which they were stored.
    """
    wanted = request.filters.kinds or tuple(TABLES)
    kinds = tuple(kind for kind in TABLES if kind in wanted)
    request = replace(request, filters=replace(request.filters, kinds=kinds), fold=False)
    records: list[Record] | None = None
    if kinds and request.text.strip() not in ("", EVERYTHING):
        most = min(limit * len(kinds), MAX_OFFSET)
        page = await call.search(replace(request, limit=most, offset=0), current=True)
        records = [result.record for result in page.results]
    else:
        request = replace(
            request, filters=await call.runtime.search.service.pipeline.filters_of(request)
        )
    reply = web.StreamResponse(headers={"Content-Type": "application/json"})
    await reply.prepare(call.request)
    # The MCP server hands on what is in ``content`` alone.
    total, before = 0, f'{{"content": [{{"type": "text", "text": {dumped(_SAID)}}}], '
    for kind, name in TABLES.items():
        await reply.write(f"{before}{dumped(name)}: [".encode())
        count = 0
        if kind in kinds:
            async for record in _of_kind(call, request, kind, records):
                if count == limit:
                    break
                row = dumped(to_values(row_of(record)))
                await reply.write(f"{', ' if count else ''}{row}".encode("utf-8", "replace"))
                count += 1
        total += count
        before = "], "
    end = f'], "totalResults": {total}, "query": {dumped(request.text)}}}'
    await reply.write(end.encode("utf-8", "replace"))
    await reply.write_eof()
    return reply


async def _of_kind(
    call: Call, request: SearchRequest, kind: str, records: list[Record] | None
) -> AsyncIterator[Record]:
    """The records of ``kind`` among ``records``; all that pass the filters where it is None."""
    if records is not None:
        for record in records:
            if record.kind == kind:
                yield record
        return
    filters, after = replace(request.filters, kinds=(kind,)), 0
    while page := await call.runtime.store.records.export_page(filters, after, _AT_ONCE):
        for record, _ in page:
            yield record
        after = page[-1][0].number


async def listen(call: Call) -> web.StreamResponse:
    """Send every record that is stored from now on, until the client or the worker ends."""
    return await send_events(call, _new_records(call))


async def _new_records(call: Call) -> AsyncIterator[bytes]:
    """The greeting, each new record once, and a comment where nothing happens for long."""
    store = call.runtime.store.records
    since, after = now_ms(), 0
    known = await store.revision()
    projects = [each.name for each in await store.projects()]
    yield _event({"type": "connected"})
    yield _event({"type": "initial_load", "projects": projects})
    silent = 0.0
    while call.lifecycle.key:  # it is empty from when the worker stops
        await asyncio.sleep(PAUSE_SECONDS)
        silent += PAUSE_SECONDS
        revision = await store.revision()
        while revision != known:
            stored = Filters(stored=DateRange(start=since))
            page = await store.export_page(stored, after, _AT_ONCE)
            for record, _ in page:
                after, silent = record.number, 0.0
                if event := _told(record):
                    yield event
            if len(page) < _AT_ONCE:
                known = revision
        if silent >= _PING_SECONDS:
            silent = 0.0
            yield PING


def _told(record: Record) -> bytes:
    if record.kind not in _EVENTS:
        return b""
    name, key = _EVENTS[record.kind]
    return _event({"type": name, key: to_values(row_of(record))})


def _event(said: Mapping[str, Any]) -> bytes:
    return event_of({**said, "timestamp": now_ms()})
