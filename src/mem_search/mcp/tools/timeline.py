"""The tool ``timeline``: what happened just before and after a record, a moment or an answer."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from mem_search.errors import InputError, MissingField, NotFound
from mem_search.mcp.argument_types import STRING, Budget, Kinds, Text, described, listed
from mem_search.mcp.tool import Arguments, Asker, Json, Tool
from mem_search.model import Filters, Record, SearchRequest
from mem_search.renderers.token_budget import nearest
from mem_search.renderers.universal import id_of
from mem_search.search.timeline import Anchor, find_anchor, records_around
from mem_search.text import dates

Depth = Annotated[int, Field(ge=0, le=50)]


class TimelineArguments(Arguments):
    """Either ``anchor`` or ``query``; filters hold for what stands around the anchor."""

    anchor: Text = Field(default="", description="An id, or a date such as 2025-10-03T17:45")
    query: Text = Field(default="", description="Or words: the best match is the anchor")
    depth_before: Depth = 5
    depth_after: Depth = 5
    kinds: Kinds = ()
    project: Text = ""
    max_tokens: Budget = 2000


async def timeline(asker: Asker, given: TimelineArguments) -> Json:
    """Titles in the order of time, the anchor among them."""
    filters = Filters(kinds=given.kinds, project=given.project.strip())
    anchor = await _anchor(asker, given, filters)
    found = await records_around(
        asker.runtime.search.store, anchor, given.depth_before, given.depth_after, filters
    )
    said = [_line(record, asker) for record in found.records]
    shown = nearest(said, found.place, given.max_tokens)
    reply: Json = {
        "anchor": id_of(anchor.record) if anchor.record else str(anchor),
        "records": shown.items,
    }
    if shown.left:
        reply["note"] = (
            f"{shown.left} record(s) far from the anchor left out to fit"
            f" max_tokens={given.max_tokens}"
        )
    return reply


async def _anchor(asker: Asker, given: TimelineArguments, filters: Filters) -> Anchor:
    named, query = given.anchor.strip(), given.query.strip()
    if not named and not query:
        raise MissingField("give an anchor or a query", field="anchor")
    if named and query:
        raise InputError("give an anchor or a query, not both", field="anchor")
    runtime, view = asker.runtime, asker.view
    if named:
        return await find_anchor(runtime.search.store, named, now=view.now, tz=view.tz)
    asked = SearchRequest(query, filters, limit=1, asked_at=view.now)
    page = await runtime.search.service.search(asked, "mcp")
    if not page.results:
        raise NotFound("nothing matches; use fewer or other words, or fewer filters", field="query")
    return Anchor.of(page.results[0].record)


def _line(record: Record, asker: Asker) -> Json:
    return {
        "id": id_of(record),
        "title": asker.view.kinds(record.kind).title(record),
        "created_at": dates.iso(record.created_at),
    }


TIMELINE = Tool(
    name="timeline",
    title="What happened around it",
    description="Titles of the records just before and after one, or around a date.",
    takes=TimelineArguments,
    answers=described(
        anchor=STRING, records=listed(described(id=STRING, title=STRING, created_at=STRING))
    ),
    handler=timeline,
)
