"""The searches that answer with a listing, and those for what an observation is about.

A topic is an observation type *or* a concept, since tools note the same thing either way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from aiohttp import web

from mem_search.http.core.parameters import KindParameters
from mem_search.http.core.replies import page_reply
from mem_search.http.core.routing import Call, Handler
from mem_search.model import Kind, Order
from mem_search.renderers.listing import heading


def search(*kinds: Kind, order: Order = "relevance") -> Handler:
    """A search among ``kinds``, or all; in ``order`` unless the request names one."""

    async def answer(call: Call) -> web.StreamResponse:
        params = call.parameters(KindParameters)
        page = await call.search(params.search(kinds, order))
        display = call.display(params.tz)
        return page_reply(call.request, page, params.format, display, max_tokens=params.max_tokens)

    return answer


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

    async def answer(call: Call) -> web.StreamResponse:
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

    return answer
