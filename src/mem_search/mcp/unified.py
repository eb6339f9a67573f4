"""The tool ``search_unified``: all kinds of records in one dated list, as text.

It answers clients that know it by this name. The list of tools leaves it out: ``search`` finds the
same records, best first.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo

from mem_search.errors import InputError
from mem_search.mcp.argument_types import BUDGET, Budget, Kinds, Text
from mem_search.mcp.tool import Arguments, Tool, ToolContext
from mem_search.model import DateRange, Filters, Order, SearchRequest
from mem_search.renderers.listing import fitted
from mem_search.text import dates
from mem_search.validation import clock_of, input_errors_as_invalid, note_reading


def _bound(value: Any, info: ValidationInfo, *, end: bool) -> Any:
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return value
    now, tz = clock_of(info)
    with input_errors_as_invalid():
        found = dates.parse_bound(value, end=end, now=now, tz=tz, field="dateRange")
    note_reading(info, found, tz)
    return found


class Range(Arguments):
    """Dates, or seconds or milliseconds since 1970; an end day counts whole."""

    start: Annotated[int | None, BeforeValidator(partial(_bound, end=False))] = None
    end: Annotated[int | None, BeforeValidator(partial(_bound, end=True))] = None


class UnifiedArguments(Arguments):
    """Those of ``GET /api/search/unified`` that its contract names."""

    query: Text = ""
    format: Literal["index", "full"] = "index"
    project: Text = ""
    types: Kinds = ()
    date_range: Range = Range()
    limit: int = Field(default=20, ge=1, le=100)
    offset: int = Field(default=0, ge=0, le=10_000)
    order_by: Order = "date_desc"
    max_tokens: Budget = BUDGET
    scratchpad: bool = False


async def search_unified(context: ToolContext, arguments: UnifiedArguments) -> str:
    """The listing of ``GET /api/search/unified``, within the token budget."""
    dated = DateRange(arguments.date_range.start, arguments.date_range.end)
    if dated.start is not None and dated.end is not None and dated.start > dated.end:
        raise InputError("ends before it begins", field="dateRange")
    request = SearchRequest(
        arguments.query,
        Filters(kinds=arguments.types, project=arguments.project.strip(), created=dated),
        order=arguments.order_by,
        limit=arguments.limit,
        offset=arguments.offset,
        asked_at=context.display.now,
        scratchpad=arguments.scratchpad,
    )
    page = await context.runtime.search.service.search(request, context.surface)
    return fitted(page, arguments.format, context.display, arguments.max_tokens).text


SEARCH_UNIFIED = Tool(
    name="search_unified",
    title="Search all kinds by date",
    description="Search all kinds of records and list them by date.",
    arguments=UnifiedArguments,
    reply=str,
    handler=search_unified,
)
