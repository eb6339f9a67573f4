"""``POST /api/v1/search``: everything at once, with citations."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from mem_search.http.replies import json_reply
from mem_search.http.routing import Call
from mem_search.http.v1 import jobs
from mem_search.http.v1.models import UniversalSearchRequest
from mem_search.renderers.universal import universal_json
from mem_search.search.universal import UniversalQuery


async def search(call: Call) -> web.StreamResponse:
    """Answer one universal search."""
    asked = call.sent(UniversalSearchRequest)
    if asked.background:
        return await jobs.submit(call, asked)
    return json_reply(call.flagged(await answer(call, asked.universal())))


async def answer(call: Call, query: UniversalQuery) -> dict[str, Any]:
    """The reply to one query as plain values; a step of a research chain is kept."""
    page = await call.runtime.research.search(query, call.surface, asked_at=call.now)
    return universal_json(page, call.base)
