"""The searches that answer with a listing, and those for what an observation is about.

A topic is an observation type *or* a concept, since tools note the same thing either way.

A client that has the answer already sends its entity tag and gets 304 without a search. The tag
covers everything that an answer depends on: the request, the caller, the newest change of a record,
the day, and this run of the worker with its settings. It is weak (RFC 9110, 8.8.1), because two
answers with the same results differ in the milliseconds that they report.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass, replace
from datetime import date
from typing import Annotated, Final

from aiohttp import web
from pydantic import Field

from mem_search.http.core.parameter_types import Words
from mem_search.http.core.parameters import KindParameters, also
from mem_search.http.core.replies import TERMINAL, page_reply, screen_of
from mem_search.http.core.request_context import REQUEST_CONTEXT
from mem_search.http.core.routing import Call, Handler
from mem_search.model import Kind, Order, SearchPage, SearchRequest
from mem_search.model.requests import At
from mem_search.patterns import pattern
from mem_search.renderers.listing import heading
from mem_search.renderers.terminal import first_places


@dataclass(frozen=True, slots=True)
class Topic:
    """Observations with at least one of these facets."""

    name: str
    facets: tuple[tuple[str, str], ...]


DECISIONS = Topic("decisions", (("type", "decision"), ("concept", "decision")))
CHANGES = Topic("changes", (("type", "change"), ("concept", "change"), ("concept", "what-changed")))
HOW_IT_WORKS = Topic("how-it-works", (("type", "discovery"), ("concept", "how-it-works")))


class ConceptParameters(KindParameters):
    """``concept`` is required."""

    concepts: Annotated[Words, Field(min_length=1), At("filters.concepts")] = Field(
        alias="concept", description="Any of these concepts", json_schema_extra=also("concepts")
    )


class FileParameters(KindParameters):
    """``filePath`` is required."""

    files: Annotated[Words, Field(min_length=1), At("filters.files")] = Field(
        alias="filePath",
        description="Any of these paths, whole or their end; src/ is all below, src/* directly in",
        json_schema_extra=also("files", "file"),
    )


class TypeParameters(KindParameters):
    """``type`` is required."""

    type: Annotated[Words, Field(min_length=1), At("filters.types")] = Field(
        description="Any of these types: bugfix, feature, decision, …",
        json_schema_extra=also("obs_type"),
    )


def search(*kinds: Kind, order: Order = "relevance", topic: Topic | None = None) -> Handler:
    """A search among ``kinds``, or all; in ``order`` unless the request names one.

    With a ``topic`` only what is about it is found, and the query is optional.
    """

    async def answer(call: Call) -> web.StreamResponse:
        params = call.parameters(KindParameters)
        query = params.search(kinds, order)
        if topic is not None:
            query = replace(query, filters=replace(query.filters, any_facets=topic.facets))
        tolerated = call.request[REQUEST_CONTEXT].tolerated
        as_theirs = None if tolerated is None else tolerated.search
        if as_theirs is not None and params.format == "json" and not kinds:
            return await as_theirs(call, query)
        display = call.display(params.tz)
        with call.runtime.search.store.view():  # the tag is of what the search reads
            # Before the search: a record that is written meanwhile must change the next tag.
            tag = await etag(call, display.now.date())
            headers = {"ETag": tag, "Vary": f"Accept, Authorization, User-Agent, {TERMINAL}"}
            asks = tolerated is None and "If-None-Match" in call.request.headers
            if asks and is_known(call.request, tag):
                return web.Response(status=304, headers=headers)
            page = await _search_page(call, query, params.format)
        title = ""
        if topic is not None and page.total:
            title = heading(page, display).replace("result(s)", f"result(s) about {topic.name}", 1)
        reply = page_reply(
            call.request,
            page,
            params.format,
            display,
            title=title,
            max_tokens=params.max_tokens,
            snippets=params.snippets,
            fields=params.fields,
        )
        # No tag while a leg is down or the index is behind, nor where the answer depends on the
        # minute or on a scope: these change without a record.
        states = [leg.state for leg in page.report.legs]
        is_whole = page.report.coverage == 1 and not {"failed", "degraded"}.intersection(states)
        is_whole &= tolerated is None  # headers may have narrowed it down
        by_opening = "opened_at" in " ".join(query.sort)
        ages = (
            query.scope
            or query.boosts
            or by_opening
            or _PASSES.search(" ".join(call.request.query.values()))
        )
        if is_whole and not ages:
            reply.headers.update(headers)
        return reply

    return answer


_FOLDING: Final = 3
"""So many times the results of a screen are read, because equal ones share a place there."""


_MAX_RESULTS: Final = 100
"""Results, as of any page."""


async def _search_page(call: Call, query: SearchRequest, listed: str) -> SearchPage:
    """The page; for a person's terminal one whose equal results leave no place empty."""
    folds = query.fold and query.order == "relevance" and not query.sort
    if listed != "index" or not folds or screen_of(call.request) is None:
        return await call.search(query)
    most = max(query.limit, min(query.limit * _FOLDING, _MAX_RESULTS))
    return first_places(await call.search(replace(query, limit=most)), query.limit)


_RUN: Final = secrets.token_hex(8)
_PASSES = pattern(
    r"\b(now|h(ou)?rs?|min(ute)?s?|seconds?)\b|[0-9] ?[hm]\b|[0-9] ?(h(ou)?r|min)", re.IGNORECASE
)
"""Words by which a question means another time a minute later."""

_TAG = pattern(r'(?:W/)?"[^"]*"')


async def etag(call: Call, today: date) -> str:
    """The tag of what a search would answer now; ``today`` is the day of the reader."""
    revision = await call.runtime.search.store.revision()
    sent = call.request.headers
    parts = (
        _RUN,
        call.caller.token,
        call.caller.user,
        revision,
        today.isoformat(),
        call.request.rel_url.raw_path_qs,
        sent.get("Accept", ""),
        sent.get(TERMINAL, ""),
        call.zone_name,
        call.surface,
    )
    digest = hashlib.blake2b(repr(parts).encode("utf-8", "replace"), digest_size=16)
    return f'W/"{digest.hexdigest()}"'


def is_known(request: web.Request, tag: str) -> bool:
    """Whether the client has the answer with this tag (RFC 9110, 13.1.2)."""
    sent = ",".join(request.headers.getall("If-None-Match", []))
    opaque = tag.removeprefix("W/")
    return any(each.removeprefix("W/") == opaque for each in _TAG.findall(sent))
