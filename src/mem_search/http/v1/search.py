"""``POST /api/v1/search``: everything at once, with citations."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from mem_search.errors import InputError
from mem_search.http.replies import json_reply
from mem_search.http.routing import Call
from mem_search.http.v1.models import UniversalSearchRequest
from mem_search.renderers.universal import universal_json
from mem_search.search.universal import UniversalQuery


async def search(call: Call) -> web.StreamResponse:
    """Answer one universal search."""
    asked = call.sent(UniversalSearchRequest)
    if asked.background:
        raise InputError("this worker answers at once; leave background out", field="background")
    return json_reply(await answer(call, asked.universal()))


async def answer(call: Call, query: UniversalQuery) -> dict[str, Any]:
    """The reply to one query as plain values: the place where chains and jobs come in."""
    page = await call.runtime.universal.search(query, call.surface, asked_at=call.now)
    return universal_json(page, call.base)
