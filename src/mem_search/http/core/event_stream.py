"""Replies of server-sent events (HTML Living Standard, 9.2): they end when the client leaves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from aiohttp import web

from mem_search.errors import Unavailable
from mem_search.http.core.connections import connection_of
from mem_search.http.core.lifecycle import LIFECYCLE
from mem_search.http.core.routing import Call
from mem_search.renderers.schema import to_json

CONTENT_TYPE: Final = "text/event-stream"
LISTENERS: Final = web.AppKey("listeners", set)
"""The streams that are open, for their number alone."""

MAX_LISTENERS: Final = 16
PING: Final = b": nothing new\n\n"
"""A comment, which tells both ends that the other one is still there."""


async def send_events(call: Call, events: AsyncIterator[bytes]) -> web.StreamResponse:
    """Send ``events`` until they end or the client leaves. Raises Unavailable beyond the limit."""
    open_now = call.request.app[LISTENERS]
    if len(open_now) >= MAX_LISTENERS:
        raise Unavailable(f"{MAX_LISTENERS} streams are open; close one, then try again")
    reply = web.StreamResponse(headers={"Content-Type": CONTENT_TYPE})
    open_now.add(reply)
    if (connection := connection_of(call.request)) is not None:
        connection.stream()
    try:
        await reply.prepare(call.request)
        async for event in events:
            await reply.write(event)
    except ConnectionError:  # the client has gone; nobody reads on
        return reply
    finally:
        open_now.discard(reply)
    return reply


async def end_streams(app: web.Application) -> None:
    """Signal: let the streams end, for which the server waits before it closes."""
    app[LIFECYCLE].key = ""


def event_of(said: object) -> bytes:
    """A schema or plain values as one event."""
    return b"data: %s\n\n" % to_json(said)
