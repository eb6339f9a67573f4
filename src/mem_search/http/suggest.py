"""Completions, related searches, and what was asked before."""

from __future__ import annotations

from dataclasses import asdict

from aiohttp import web
from pydantic import Field

from mem_search.http.core.parameter_types import Start, Text
from mem_search.http.core.parameters import Narrowed, Parameters, Seen, also
from mem_search.http.core.replies import json_reply, prefers_text, text_reply
from mem_search.http.core.routing import Call
from mem_search.http.schemas.common import Deleted
from mem_search.http.schemas.suggest import (
    Completion,
    Completions,
    LoggedQueries,
    LoggedQuery,
    LoggedSearch,
    LoggedSearches,
    RelatedSearch,
    RelatedSearches,
)
from mem_search.model import SearchRequest
from mem_search.search.service import NOBODY
from mem_search.storage.ports import SearchLogStore

NOTHING = "No results found"


class SuggestParameters(Parameters):
    """What is being typed."""

    prefix: Text = Field(description="The beginning of a word or a name", min_length=1)
    limit: int = Field(default=10, ge=1, le=50, description="How many at most")


class RelatedParameters(Narrowed):
    """``query`` is required; ``limit`` counts the searches."""

    query: Text = Field(description="The question", min_length=1, json_schema_extra=also("q"))
    limit: int = Field(default=10, ge=1, le=50, description="How many at most")


class LogParameters(Seen):
    """Which part of the log."""

    limit: int = Field(default=20, ge=1, le=100, description="How many at most")
    since: Start = Field(default=None, description="Not before: a date, or words for one")


async def suggest(call: Call) -> web.StreamResponse:
    """How what is being typed may go on; in text, one a line."""
    asked = call.asked(SuggestParameters)
    found = await call.runtime.search.service.suggestions.complete(asked.prefix, asked.limit)
    if prefers_text(call.request.headers.get("Accept", "")):
        lines = (f"{each.text}  ({each.what}, {each.records})" for each in found)
        return text_reply(call.request, "\n".join(lines) or NOTHING)
    return json_reply(
        Completions(
            prefix=asked.prefix,
            completions=[Completion(**asdict(each)) for each in found],
            total=len(found),
        )
    )


async def related(call: Call) -> web.StreamResponse:
    """Searches beside this one, out of its best results and of what was asked before."""
    asked = call.asked(RelatedParameters)
    request = SearchRequest(text=asked.query, filters=asked.filters(), mode="keyword")
    page = await call.runtime.search.service.search(request, NOBODY)
    await call.runtime.search.service.log.flush()  # what was asked a moment ago counts
    found = await call.runtime.search.service.suggestions.related(page, asked.limit)
    related = [RelatedSearch(**asdict(each)) for each in found]
    return json_reply(RelatedSearches(query=asked.query, related=related))


async def popular(call: Call) -> web.StreamResponse:
    """What is asked most often."""
    asked = call.asked(LogParameters)
    rows = await (await _log(call)).popular(asked.limit, asked.since)
    return json_reply(LoggedQueries(queries=[LoggedQuery(**asdict(row)) for row in rows]))


async def zero_results(call: Call) -> web.StreamResponse:
    """What found nothing when it was last asked."""
    asked = call.asked(LogParameters)
    rows = await (await _log(call)).without_results(asked.limit, asked.since)
    return json_reply(LoggedQueries(queries=[LoggedQuery(**asdict(row)) for row in rows]))


async def slow(call: Call) -> web.StreamResponse:
    """The searches that took longest."""
    asked = call.asked(LogParameters)
    rows = await (await _log(call)).slow(asked.limit, asked.since)
    return json_reply(LoggedSearches(searches=[LoggedSearch(**asdict(row)) for row in rows]))


async def forget(call: Call) -> web.StreamResponse:
    """Empty the log."""
    return json_reply(Deleted(deleted=await call.runtime.search.service.log.forget()))


async def _log(call: Call) -> SearchLogStore:
    """The log with what was asked a moment ago."""
    await call.runtime.search.service.log.flush()
    return call.runtime.store.search_log
