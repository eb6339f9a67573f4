"""The searches that answer with a listing, and those for what an observation is about.

A topic is an observation type *or* a concept, since tools note the same thing either way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from aiohttp import web

from mem_search.http.core.etags import etag, is_known, may_be_kept
from mem_search.http.core.parameters import KindParameters
from mem_search.http.core.replies import page_reply
from mem_search.http.core.routing import Call, Handler
from mem_search.model import Kind, Order, SearchRequest
from mem_search.renderers.listing import heading


def search(*kinds: Kind, order: Order = "relevance") -> Handler:
    """A search among ``kinds``, or all; in ``order`` unless the request names one."""

    async def answer(call: Call) -> web.StreamResponse:
        params = call.parameters(KindParameters)
        return await _answer(call, params, params.search(kinds, order))

    return answer


async def _answer(
    call: Call, params: KindParameters, query: SearchRequest, about: str = ""
) -> web.StreamResponse:
    """Search and reply; 304 where the client has the answer. The heading names ``about``."""
    display = call.display(params.tz)
    # Before the search: a record that is written meanwhile must change the next tag.
    tag = await etag(call, display.now.date())
    headers = {"ETag": tag, "Vary": "Accept, Authorization, User-Agent"}
    if is_known(call.request, tag):
        return web.Response(status=304, headers=headers)
    page = await call.search(query)
    title = ""
    if about and page.total:
        title = heading(page, display).replace("result(s)", f"result(s) about {about}", 1)
    reply = page_reply(
        call.request,
        page,
        params.format,
        display,
        title=title,
        max_tokens=params.max_tokens,
        snippets=params.snippets,
    )
    if may_be_kept(query, page):
        reply.headers.update(headers)
    return reply


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
        return await _answer(call, params, query, topic.name)

    return answer
