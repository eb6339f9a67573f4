"""Searches for what an observation is about: decisions, changes, how things work.

A topic is an observation type *or* a concept, since tools note the same thing either way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from aiohttp import web

from mem_search.http.parameters import KindParameters
from mem_search.http.replies import page_reply
from mem_search.http.routing import Call, Handler
from mem_search.renderers.account import heading


@dataclass(frozen=True, slots=True)
class Topic:
    """Observations with at least one of these facets."""

    name: str
    facets: tuple[tuple[str, str], ...]


DECISIONS = Topic("decisions", (("type", "decision"), ("concept", "decision")))
CHANGES = Topic("changes", (("type", "change"), ("concept", "change"), ("concept", "what-changed")))
HOW_IT_WORKS = Topic("how-it-works", (("type", "discovery"), ("concept", "how-it-works")))


def about(topic: Topic) -> Handler:
    """The route of one topic; its question is optional."""

    async def search(call: Call) -> web.StreamResponse:
        asked = call.asked(KindParameters)
        query = asked.search(("observation",))
        query = replace(query, filters=replace(query.filters, any_facets=topic.facets))
        page = await call.search(query)
        view = call.view(asked.tz)
        title = heading(page, view).replace("result(s)", f"result(s) about {topic.name}", 1)
        return page_reply(
            call.request,
            page,
            asked.format,
            view,
            title=title if page.total else "",
            max_tokens=asked.max_tokens,
        )

    return search
