"""A real receiver on loopback that checks signatures with the reference library."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer
from standardwebhooks import Webhook

from patience import PATIENCE


@dataclass
class Message:
    """One request as it came; ``data`` is its body, verified."""

    id: str
    headers: dict[str, str]
    body: bytes
    data: Any = None


@dataclass
class Receiver:
    """Answers with ``statuses`` in turn, then with the last one for ever."""

    url: str
    authority: str
    statuses: list[int] = field(default_factory=lambda: [204])
    messages: list[Message] = field(default_factory=list)
    secret: str = ""
    hold: asyncio.Event | None = None
    extra: dict[str, str] = field(default_factory=dict)
    came: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait_for(self, count: int, seconds: float = PATIENCE) -> list[Message]:
        """The messages, once there are ``count`` of them."""
        async with asyncio.timeout(seconds):
            while len(self.messages) < count:
                self.came.clear()
                await self.came.wait()
        return self.messages

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        message = Message(request.headers["webhook-id"], dict(request.headers), body)
        if self.secret:
            message.data = Webhook(self.secret).verify(body, dict(request.headers))
        self.messages.append(message)
        self.came.set()
        if self.hold is not None:
            await self.hold.wait()
        status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        return web.Response(status=status, headers=self.extra)


@asynccontextmanager
async def receiving(*statuses: int, secret: str = "") -> AsyncIterator[Receiver]:
    """A receiver at ``receiver.url`` until the block ends."""
    app = web.Application()
    server = TestServer(app, host="127.0.0.1")
    receiver = Receiver("", "", secret=secret)
    if statuses:
        receiver.statuses = list(statuses)
    app.router.add_route("*", "/{tail:.*}", receiver.handle)
    async with server:
        receiver.authority = f"127.0.0.1:{server.port}"
        receiver.url = f"http://{receiver.authority}/hook"
        yield receiver


def ids(messages: Iterable[Message]) -> list[str]:
    return [message.id for message in messages]
