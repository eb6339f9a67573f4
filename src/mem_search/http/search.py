"""Searches for what an observation is about: decisions, changes, how things work.

A topic is an observation type *or* a concept, since tools note the same thing either way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from aiohttp import web

from mem_search.http.core.parameters import KindParameters, SearchParameters
from mem_search.http.core.replies import page_reply
from mem_search.http.core.routing import Call, Handler
from mem_search.model import Kind, SearchRequest
from mem_search.renderers.listing import heading


async def unified(call: Call) -> web.StreamResponse:
    """Search all kinds, newest first."""
    params = call.parameters(SearchParameters)
    return await _answer(call, params, params.search(order="date_desc"))


async def everything(call: Call) -> web.StreamResponse:
    """Search all kinds, best first, with the parameters of claude-mem."""
    params = call.parameters(SearchParameters)
    return await _answer(call, params, params.search())


def of_kind(kind: Kind) -> Handler:
    """The search among records of one kind, best first."""

    async def search(call: Call) -> web.StreamResponse:
        params = call.parameters(KindParameters)
        return await _answer(call, params, params.search((kind,)))

    return search


async def filtered(call: Call) -> web.StreamResponse:
    """Search by concept, file or type: the filter is required, the query is optional."""
    params = call.parameters(KindParameters)
    return await _answer(call, params, params.search())


async def _answer(call: Call, params: KindParameters, query: SearchRequest) -> web.StreamResponse:
    page = await call.search(query)
    return page_reply(
        call.request, page, params.format, call.display(params.tz), max_tokens=params.max_tokens
    )


@dataclass(frozen=True, slots=True)
class Topic:
    """Observations with at least one of these facets."""

    name: str
    facets: tuple[tuple[str, str], ...]


DECISIONS = Topic("decisions", (("type", "decision"), ("concept", "decision")))
CHANGES = Topic("changes", (("type", "change"), ("concept", "change"), ("concept", "what-changed")))
HOW_IT_WORKS = Topic("how-it-works", (("type", "discovery"), ("concept", "how-it-works")))


def about(topic: Topic) -> Handler:
    """The route of one topic; its query is optional."""

    async def search(call: Call) -> web.StreamResponse:
        params = call.parameters(KindParameters)
        query = params.search(("observation",))
        query = replace(query, filters=replace(query.filters, any_facets=topic.facets))
        page = await call.search(query)
        display = call.display(params.tz)
        title = heading(page, display).replace("result(s)", f"result(s) about {topic.name}", 1)
        return page_reply(
            call.request,
            page,
            params.format,
            display,
            title=title if page.total else "",
            max_tokens=params.max_tokens,
        )

    return search
