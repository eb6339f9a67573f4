"""The tool ``timeline``: what happened just before and after a record, a moment or an answer."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from mem_search.errors import InputError, MissingField, NotFound
from mem_search.features.timeline.service import Anchor, find_anchor, records_around
from mem_search.mcp.tool import Arguments, Budget, Kinds, Text, Tool, ToolContext
from mem_search.model import Filters, Record, SearchRequest
from mem_search.records.origin import flags_of
from mem_search.renderers.safe_text import fenced_title
from mem_search.renderers.schema import Absent, Time, schema
from mem_search.renderers.token_budget import nearest
from mem_search.renderers.universal import id_of

Depth = Annotated[int, Field(ge=0, le=50)]


class TimelineArguments(Arguments):
    """Either ``anchor`` or ``query``; the filters apply to the records around the anchor."""

    anchor: Text = Field(default="", description="An id, or a date such as 2025-10-03T17:45")
    query: Text = Field(default="", description="Or words: the best match is the anchor")
    depth_before: Depth = 5
    depth_after: Depth = 5
    kinds: Kinds = ()
    project: Text = ""
    max_tokens: Budget = 2000


@schema
class TimelineEntry:
    """A record of a timeline."""

    id: str
    title: str
    created_at: Time


@schema
class Timeline:
    """Records, oldest first, the anchor among them. ``anchor`` is an id or a date."""

    anchor: str
    records: list[TimelineEntry]
    note: Absent[str] = None


async def timeline(context: ToolContext, arguments: TimelineArguments) -> Timeline:
    """Titles in the order of time, the anchor among them."""
    filters = Filters(kinds=arguments.kinds, project=arguments.project.strip())
    anchor = await _anchor(context, arguments, filters)
    nearby = await records_around(
        context.runtime.search.store,
        anchor,
        arguments.depth_before,
        arguments.depth_after,
        filters,
    )
    entries = [
        TimelineEntry(
            id=id_of(record),
            title=_title(record, context),
            created_at=record.created_at,
        )
        for record in nearby.records
    ]
    shown = nearest(entries, nearby.place, arguments.max_tokens)
    reply = Timeline(
        anchor=id_of(anchor.record) if anchor.record else str(anchor), records=shown.items
    )
    if shown.left:
        reply.note = (
            f"{shown.left} record(s) far from the anchor left out to fit"
            f" max_tokens={arguments.max_tokens}"
        )
    return reply


def _title(record: Record, context: ToolContext) -> str:
    title = context.display.kinds(record.kind).title(record)
    return fenced_title(title) if flags_of(record.metadata) else title


async def _anchor(context: ToolContext, arguments: TimelineArguments, filters: Filters) -> Anchor:
    named, query = arguments.anchor.strip(), arguments.query.strip()
    if not named and not query:
        raise MissingField("give an anchor or a query", field="anchor")
    if named and query:
        raise InputError("give an anchor or a query, not both", field="anchor")
    runtime, display = context.runtime, context.display
    if named:
        return await find_anchor(runtime.search.store, named, now=display.now, tz=display.tz)
    request = SearchRequest(query, filters, limit=1, asked_at=display.now)
    page = await runtime.search.service.search(request, context.surface, current=True)
    if not page.relevant:
        raise NotFound("nothing matches; use fewer or other words, or fewer filters", field="query")
    return Anchor.of(page.results[0].record)


TIMELINE = Tool(
    name="timeline",
    title="What happened around it",
    description="Titles of the records just before and after one, or around a date.",
    arguments=TimelineArguments,
    reply=Timeline,
    handler=timeline,
)
