"""Search routes: one for everything, one a kind, and by concept, file or type."""

from __future__ import annotations

from aiohttp import web

from mem_search.http.parameters import KindParameters, SearchParameters
from mem_search.http.replies import page_reply
from mem_search.http.routing import Call, Handler
from mem_search.model import Kind, SearchQuery


async def unified(call: Call) -> web.StreamResponse:
    """All kinds at once; newest first, as the listing of everything always was."""
    asked = call.asked(SearchParameters)
    return await _answer(call, asked, asked.search(order="date_desc"))


async def everything(call: Call) -> web.StreamResponse:
    """All kinds at once, best first, with the parameters of claude-mem."""
    asked = call.asked(SearchParameters)
    return await _answer(call, asked, asked.search())


def of_kind(kind: Kind) -> Handler:
    """The search among records of one kind, best first."""

    async def search(call: Call) -> web.StreamResponse:
        asked = call.asked(KindParameters)
        return await _answer(call, asked, asked.search((kind,)))

    return search


async def filtered(call: Call) -> web.StreamResponse:
    """By concept, file or type: the filter is required, the question is not."""
    asked = call.asked(KindParameters)
    return await _answer(call, asked, asked.search())


async def _answer(call: Call, asked: KindParameters, query: SearchQuery) -> web.StreamResponse:
    page = await call.search(query)
    return page_reply(
        call.request, page, asked.format, call.view(asked.tz), max_tokens=asked.max_tokens
    )
