"""Completions, related searches, and the search log."""

from __future__ import annotations

from dataclasses import asdict
from typing import Literal

from aiohttp import web
from pydantic import Field

from mem_search.http.core.parameter_types import Start, Text
from mem_search.http.core.parameters import FilterParameters, Parameters, TimeZoneParameters, also
from mem_search.http.core.replies import TEXT, Deleted, json_reply, prefers, text_reply
from mem_search.http.core.routing import Call, Route
from mem_search.model import SearchRequest
from mem_search.renderers.schema import Count, Time, schema
from mem_search.search.service import UNLOGGED
from mem_search.storage.sql.search_log import StoredSearchLog

NOTHING = "No results found"


@schema
class Completion:
    """A text that could be typed, what it is, and how many records have it.

    Of a question that was `asked before`, how many it found then.
    """

    text: str
    what: Literal["word", "asked before", "title", "project", "tag", "file"]
    records: Count


@schema
class Completions:
    """How `prefix` may go on, best first."""

    prefix: str
    completions: list[Completion]
    total: Count


@schema
class RelatedSearch:
    """A further search, and where it comes from."""

    text: str
    what: Literal["tag", "concept", "title", "asked before"]


@schema
class RelatedSearches:
    """Further searches for a question."""

    query: str
    related: list[RelatedSearch]


@schema
class LoggedQuery:
    """A question: how often and when last it was searched, and how many records matched then."""

    query: str
    times: Count
    last_at: Time
    total: Count


@schema
class LoggedQueries:
    """Questions of the search log."""

    queries: list[LoggedQuery]


@schema
class LoggedSearch:
    """One search of the log; `filters` is a digest, empty for none."""

    at: Time
    query: str
    filters: str
    mode: str
    total: Count
    took_ms: float
    surface: str


@schema
class LoggedSearches:
    """Searches of the log, slowest first."""

    searches: list[LoggedSearch]


@schema
class Usage:
    """How this store is searched: `searches` of the log since `first_at`, the most frequent
    questions, those without results, and the slowest searches. `on`: searches are noted.
    """

    on: bool
    searches: Count
    first_at: Time | None
    popular: list[LoggedQuery]
    empty: list[LoggedQuery]
    slow: list[LoggedSearch]


class SuggestParameters(Parameters):
    """What is being typed."""

    prefix: Text = Field(description="The beginning of a word or a name", min_length=1)
    limit: int = Field(default=10, ge=1, le=50, description="How many at most")


class RelatedParameters(FilterParameters):
    """``query`` is required; ``limit`` counts the searches."""

    query: Text = Field(description="The question", min_length=1, json_schema_extra=also("q"))
    limit: int = Field(default=10, ge=1, le=50, description="How many at most")


class LogParameters(TimeZoneParameters):
    """Which part of the log."""

    limit: int = Field(default=20, ge=1, le=100, description="How many at most")
    since: Start = Field(default=None, description="Not before: a date, or words for one")


async def suggest(call: Call) -> web.StreamResponse:
    """Complete what is being typed; as text one completion a line."""
    params = call.parameters(SuggestParameters)
    matches = await call.runtime.search.service.suggestions.complete(params.prefix, params.limit)
    if prefers(call.request, TEXT):
        lines = (f"{each.text}  ({each.what}, {each.records})" for each in matches)
        return text_reply(call.request, "\n".join(lines) or NOTHING)
    return json_reply(
        Completions(
            prefix=params.prefix,
            completions=[Completion(**asdict(each)) for each in matches],
            total=len(matches),
        )
    )


async def related(call: Call) -> web.StreamResponse:
    """Return further searches, from the best results of this one and from the search log."""
    params = call.parameters(RelatedParameters)
    request = SearchRequest(text=params.query, filters=params.filters(), mode="keyword")
    page = await call.runtime.search.service.search(request, UNLOGGED, current=True)
    await call.runtime.search.service.log.flush()  # the newest searches count, too
    searches = await call.runtime.search.service.suggestions.related(page, params.limit)
    related = [RelatedSearch(**asdict(each)) for each in searches]
    return json_reply(RelatedSearches(query=params.query, related=related))


async def popular(call: Call) -> web.StreamResponse:
    """List the most frequent questions."""
    params = call.parameters(LogParameters)
    rows = await (await _log(call)).popular(params.limit, params.since)
    return json_reply(LoggedQueries(queries=[LoggedQuery(**asdict(row)) for row in rows]))


async def zero_results(call: Call) -> web.StreamResponse:
    """List the questions that found nothing the last time."""
    params = call.parameters(LogParameters)
    rows = await (await _log(call)).without_results(params.limit, params.since)
    return json_reply(LoggedQueries(queries=[LoggedQuery(**asdict(row)) for row in rows]))


async def slow(call: Call) -> web.StreamResponse:
    """The searches that took longest."""
    params = call.parameters(LogParameters)
    rows = await (await _log(call)).slow(params.limit, params.since)
    return json_reply(LoggedSearches(searches=[LoggedSearch(**asdict(row)) for row in rows]))


async def usage(call: Call) -> web.StreamResponse:
    """How this store is searched, from its log; nothing else counts, and nothing leaves."""
    params, store = call.parameters(LogParameters), await _log(call)
    searches, first_at = await store.totals(params.since)
    asked = [
        [LoggedQuery(**asdict(row)) for row in await rows(params.limit, params.since)]
        for rows in (store.popular, store.without_results)
    ]
    slowest = await store.slow(params.limit, params.since)
    return json_reply(
        Usage(
            on=call.runtime.search.service.log.on,
            searches=searches,
            first_at=first_at,
            popular=asked[0],
            empty=asked[1],
            slow=[LoggedSearch(**asdict(row)) for row in slowest],
        )
    )


async def forget(call: Call) -> web.StreamResponse:
    """Empty the search log."""
    return json_reply(Deleted(deleted=await call.runtime.search.service.log.forget()))


async def _log(call: Call) -> StoredSearchLog:
    """The log with what was asked a moment ago."""
    await call.runtime.search.service.log.flush()
    return call.runtime.store.search_log


# fmt: off
ROUTES = (
    Route("GET", "/api/search/related", related, "Suggest further searches for a question", "suggest", RelatedParameters, response=RelatedSearches),
    Route("GET", "/api/search/popular", popular, "List the most frequent questions", "suggest", LogParameters, response=LoggedQueries),
    Route("GET", "/api/search/zero-results", zero_results, "List the questions without results", "suggest", LogParameters, response=LoggedQueries),
    Route("GET", "/api/search/slow", slow, "List the slowest searches", "suggest", LogParameters, response=LoggedSearches),
    Route("GET", "/api/search/usage", usage, "Show how this store is searched", "suggest", LogParameters, response=Usage, private=True),
    Route("DELETE", "/api/search/log", forget, "Empty the search log", "suggest", write=True, response=Deleted),
    Route("GET", "/api/suggest", suggest, "Complete what is being typed", "suggest", SuggestParameters, response=Completions, other_types=(TEXT,)),
)
