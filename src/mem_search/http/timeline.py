"""What happened around a record, a moment, or the best answer to a question."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal

from aiohttp import web
from pydantic import Field

from mem_search.errors import InputError, MissingField
from mem_search.http.access.rate_limits import admit
from mem_search.http.core.parameter_types import Kinds, Text
from mem_search.http.core.parameters import Format, Narrowed, also, budget
from mem_search.http.core.replies import json_reply, page_reply, text_reply
from mem_search.http.core.routing import Call
from mem_search.http.schemas.search import Timeline, TimelineText
from mem_search.model import Record, SearchPage, SearchReport, SearchRequest
from mem_search.renderers import render_record, render_timeline
from mem_search.renderers.listing import RULE
from mem_search.renderers.schema import dumped, to_values
from mem_search.renderers.schemas import HowSearched, WholeRecord
from mem_search.renderers.token_budget import around, cost
from mem_search.search.timeline import Anchor, find_anchor, records_around


class AroundParameters(Narrowed):
    """How much before and after; filters hold for what stands around the anchor."""

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
        description="Or a question: its best answer is the anchor",
        json_schema_extra=also("q"),
    )


class ByQueryParameters(AroundParameters):
    """``query`` is required."""

    query: Text = Field(description="The question", min_length=1, json_schema_extra=also("q"))
    mode: Literal["auto", "interactive"] = Field(
        default="auto", description="Around the best answer, or choose among the best first"
    )
    limit: int = Field(default=5, ge=1, le=20, description="How many to choose among")


async def timeline(call: Call) -> web.StreamResponse:
    """Around an anchor, or around the best answer to a question."""
    asked = call.asked(TimelineParameters)
    anchor, query = asked.anchor.strip(), asked.query.strip()
    if not anchor and not query:
        raise MissingField("give an anchor or a query", field="anchor")
    if anchor and query:
        raise InputError("give an anchor or a query, not both", field="anchor")
    if query:
        admit(call.request, query)
        return await _around_best(call, asked, query)
    view = call.view(asked.tz)
    found = await find_anchor(call.runtime.search.store, anchor, now=view.now, tz=view.tz)
    return await _around(call, asked, found)


async def by_query(call: Call) -> web.StreamResponse:
    """Around the best answer; with ``mode=interactive`` the best ones to choose from."""
    asked = call.asked(ByQueryParameters)
    if asked.mode == "auto":
        return await _around_best(call, asked, asked.query)
    page = await _best(call, asked, asked.query, asked.limit)
    title = (
        f'Choose an anchor among the best of {page.total} result(s) matching "{asked.query[:100]}",'
        " then GET /api/timeline?anchor=NUMBER:"
    )
    return page_reply(
        call.request,
        page,
        asked.format,
        call.view(asked.tz),
        title=title if page.total else "",
        max_tokens=asked.max_tokens,
    )


async def _around_best(call: Call, asked: AroundParameters, query: str) -> web.StreamResponse:
    page = await _best(call, asked, query, 1)
    if not page.results:
        return page_reply(call.request, page, asked.format, call.view(asked.tz))
    return await _around(call, asked, Anchor.of(page.results[0].record), page.report)


async def _best(call: Call, asked: AroundParameters, query: str, limit: int) -> SearchPage:
    return await call.search(
        SearchRequest(text=query, filters=asked.filters(asked.types), limit=limit)
    )


async def _around(
    call: Call, asked: AroundParameters, anchor: Anchor, report: SearchReport | None = None
) -> web.StreamResponse:
    """The timeline; ``report`` is how the search went that found the anchor."""
    found = await records_around(
        call.runtime.search.store,
        anchor,
        asked.depth_before,
        asked.depth_after,
        asked.filters(asked.types),
    )
    view = call.view(asked.tz)
    values = (
        {record.number: to_values(WholeRecord.of(record)) for record in found.records}
        if asked.format == "json"
        else {}
    )

    def written(some: Sequence[Record]) -> str:
        if asked.format == "json":
            return dumped([values[record.number] for record in some])
        if asked.format == "full":
            return RULE.join(render_record(record, view) for record in some)
        return render_timeline(some, anchor.record, view)

    seen = around(found.records, found.place, written, asked.max_tokens, view.parameter)
    search = None
    if report is not None:
        search = HowSearched.of(report, call.flags)
    if asked.format == "json":
        return json_reply(
            Timeline(
                anchor=str(anchor),
                total=len(found.records),
                note=seen.note or None,
                search=search,
                records=[WholeRecord.of(record) for record in seen.records],
                tokens_used=cost([values[record.number] for record in seen.records]),
            )
        )
    envelope = partial(
        TimelineText,
        anchor=str(anchor),
        total=len(found.records),
        note=seen.note or None,
        search=search,
    )
    return text_reply(call.request, seen.text, envelope)
