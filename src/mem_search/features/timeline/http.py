"""The records around a record, a time, or the best result of a question."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

from aiohttp import web
from pydantic import Field

from mem_search.errors import InputError, MissingField
from mem_search.features.timeline.service import (
    Anchor,
    find_anchor,
    is_anchor,
    records_around,
    render_timeline,
    timeline_on,
)
from mem_search.http.access.authentication import admit
from mem_search.http.core.parameter_types import Kinds, Text
from mem_search.http.core.parameters import FilterParameters, Format, also, budget
from mem_search.http.core.replies import (
    SearchListing,
    TextReply,
    json_reply,
    page_reply,
    screen_of,
    text_reply,
)
from mem_search.http.core.routing import Call, Route
from mem_search.model import Record, SearchPage, SearchReport, SearchRequest
from mem_search.renderers import render_record
from mem_search.renderers.listing import RULE
from mem_search.renderers.record_json import ChosenReply, SearchReply, WholeRecord
from mem_search.renderers.schema import Absent, Count, HowSearched, dumped, schema, to_values
from mem_search.renderers.token_budget import around, cost


@schema
class TimelineText(TextReply):
    """A timeline as text. `search` is there when a question had to be answered to find it."""

    anchor: str
    total: Count
    note: Absent[str] = None
    search: Absent[HowSearched] = None


@schema
class Timeline:
    """Records around the anchor, in the order of time."""

    anchor: str
    total: Count
    note: Absent[str] = None
    search: Absent[HowSearched] = None
    records: list[WholeRecord]
    tokens_used: Count


class AroundParameters(FilterParameters):
    """How many records before and after; the filters apply to these, not to the anchor."""

    types: Kinds = Field(default=(), description="Kinds of record", json_schema_extra=also("kinds"))
    depth_before: int = Field(default=10, ge=0, le=50, description="Records before")
    depth_after: int = Field(default=10, ge=0, le=50, description="Records after")
    format: Format = Field(default="index", description="A line a record, all of it, or JSON")
    max_tokens: int | None = budget()


class TimelineParameters(AroundParameters):
    """Either ``anchor`` or ``query``."""

    anchor: Text = Field(
        default="",
        description="A number, a ref (observation:12), S12 for a session, P12 for a prompt,"
        " or an ISO date or time",
    )
    query: Text = Field(
        default="",
        description="Or a question: its best result is the anchor",
        json_schema_extra=also("q"),
    )
    around: Text = Field(default="", description="Or either: an anchor, else a question")


class ByQueryParameters(AroundParameters):
    """``query`` is required."""

    query: Text = Field(description="The question", min_length=1, json_schema_extra=also("q"))
    mode: Literal["auto", "interactive"] = Field(
        default="auto", description="Use the best result, or list the best ones to choose from"
    )
    limit: int = Field(default=5, ge=1, le=20, description="How many results to choose from")


async def timeline(call: Call) -> web.StreamResponse:
    """Show the records around an anchor, or around the best result of a question."""
    params = call.parameters(TimelineParameters)
    display = call.display(params.tz)
    anchor, query = params.anchor.strip(), params.query.strip()
    if around := params.around.strip():
        is_one = not (anchor or query) and is_anchor(around, now=display.now, tz=display.tz)
        anchor, query = (around, query) if is_one else (anchor, query or around)
    if not anchor and not query:
        raise MissingField("give an anchor or a query", field="anchor")
    if anchor and query:
        raise InputError("give an anchor or a query, not both", field="anchor")
    if query:
        await admit(call.request, query)
        return await _around_best(call, params, query)
    resolved = await find_anchor(call.runtime.search.store, anchor, now=display.now, tz=display.tz)
    return await _around(call, params, resolved)


async def by_query(call: Call) -> web.StreamResponse:
    """Show the records around the best result, or with ``mode=interactive`` the best results."""
    params = call.parameters(ByQueryParameters)
    if params.mode == "auto":
        return await _around_best(call, params, params.query)
    page = await _best(call, params, params.query, params.limit)
    title = (
        f"Choose an anchor among the best of {page.total} result(s) matching"
        f' "{params.query[:100]}", then GET /api/timeline?anchor=NUMBER:'
    )
    return page_reply(
        call.request,
        page,
        params.format,
        call.display(params.tz),
        title=title if page.total else "",
        max_tokens=params.max_tokens,
    )


async def _around_best(call: Call, params: AroundParameters, query: str) -> web.StreamResponse:
    page = await _best(call, params, query, 1)
    if not page.results:
        return page_reply(call.request, page, params.format, call.display(params.tz))
    return await _around(call, params, Anchor.of(page.results[0].record), page.report)


async def _best(call: Call, params: AroundParameters, query: str, limit: int) -> SearchPage:
    return await call.search(
        SearchRequest(text=query, filters=params.filters(params.types), limit=limit)
    )


async def _around(
    call: Call, params: AroundParameters, anchor: Anchor, report: SearchReport | None = None
) -> web.StreamResponse:
    """The timeline; ``report`` is how the search went that found the anchor."""
    nearby = await records_around(
        call.runtime.search.store,
        anchor,
        params.depth_before,
        params.depth_after,
        params.filters(params.types),
    )
    display, screen = call.display(params.tz), screen_of(call.request)
    values = (
        {record.number: to_values(WholeRecord.of(record)) for record in nearby.records}
        if params.format == "json"
        else {}
    )

    def written(some: Sequence[Record]) -> str:
        if params.format == "json":
            return dumped([values[record.number] for record in some])
        if params.format == "full":
            return RULE.join(render_record(record, display) for record in some)
        if screen is not None and params.max_tokens is None:
            return timeline_on(screen, some, anchor.record, display)
        return render_timeline(some, anchor.record, display)

    seen = around(nearby.records, nearby.place, written, params.max_tokens, display.parameter)
    search = None
    if report is not None:
        search = HowSearched.of(report, call.flags)
    if params.format == "json":
        return json_reply(
            Timeline(
                anchor=str(anchor),
                total=len(nearby.records),
                note=seen.note or None,
                search=search,
                records=[WholeRecord.of(record) for record in seen.records],
                tokens_used=cost([values[record.number] for record in seen.records]),
            )
        )
    envelope = partial(
        TimelineText,
        anchor=str(anchor),
        total=len(nearby.records),
        note=seen.note or None,
        search=search,
    )
    return text_reply(call.request, seen.text, envelope)


TIMELINE_FOUND: Any = Timeline | TimelineText | SearchReply | SearchListing | ChosenReply

# fmt: off
ROUTES = (
    Route("GET", "/api/timeline", timeline, "Show the records around a record, a time or the best result", "timeline", TimelineParameters, response=TIMELINE_FOUND, errors=(404, 429)),
    Route("GET", "/api/timeline/by-query", by_query, "Show the records around the best result", "timeline", ByQueryParameters, response=TIMELINE_FOUND, errors=(404,)),
    Route("GET", "/api/context/timeline", timeline, "The same as /api/timeline", "timeline", TimelineParameters, response=TIMELINE_FOUND, errors=(404, 429)),
)
