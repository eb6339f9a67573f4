"""``POST /mcp``: the MCP server over streamable HTTP, every reply one JSON body.

There is nothing to stream, so there is no route for ``GET`` and ``DELETE``, and no stream that a
client could open and drop. ``mem_search.mcp`` implements the protocol.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from aiohttp import web

from mem_search.errors import UnknownType
from mem_search.http.core.replies import JSON
from mem_search.http.core.routing import Call
from mem_search.mcp.endpoint import Endpoint

ENDPOINT: Final = web.AppKey("mcp", Endpoint)


async def answer(call: Call) -> web.StreamResponse:
    """One message in, one message out; 202 for a notification."""
    from mem_search.mcp.tool import ToolContext  # the app imports this module when it starts

    request = call.request
    if request.content_type != JSON:
        raise UnknownType(f"send the message with the Content-Type {JSON}")
    context = ToolContext(call.runtime, call.base, call.display(), call.caller)
    reply = await request.app[ENDPOINT].answer(
        tuple(request.headers.items()), await request.read(), context
    )
    return web.Response(status=reply.status, body=reply.body, headers=dict(reply.headers))


async def hold_endpoint(app: web.Application) -> AsyncIterator[None]:
    """Cleanup context: closes the endpoint when the app ends."""
    yield
    await app[ENDPOINT].close()
