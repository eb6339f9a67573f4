"""``POST /mcp``: the MCP server over streamable HTTP, every reply one JSON body.

There is nothing to stream, so ``GET`` and ``DELETE`` are refused by not being routes: a client
that opens and drops a stream costs nothing. What is said over it is ``mem_search.mcp``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from aiohttp import web

from mem_search.http.core.replies import JSON
from mem_search.http.core.routing import Call
from mem_search.mcp.endpoint import Endpoint
from mem_search.mcp.tool import Asker

ENDPOINT: Final = web.AppKey("mcp", Endpoint)


async def answer(call: Call) -> web.StreamResponse:
    """One message in, one message out; 202 for a notification."""
    request = call.request
    if request.content_type != JSON:
        raise web.HTTPUnsupportedMediaType
    asker = Asker(call.runtime, call.base, call.view())
    reply = await request.app[ENDPOINT].answer(
        tuple(request.headers.items()), await request.read(), asker
    )
    return web.Response(status=reply.status, body=reply.body, headers=dict(reply.headers))


async def hold_endpoint(app: web.Application) -> AsyncIterator[None]:
    """Cleanup context: ends with the app what the first request began."""
    yield
    await app[ENDPOINT].close()
