"""A web search behind a real HTTP server on loopback, in the shape of its choice."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

RESULT: dict[str, Any] = {"url": "https://example.org/a", "title": "An <b>article</b>"}


@dataclass
class Provider:
    """Answers every request with ``reply`` and ``status``, and remembers what it was asked."""

    url: str = ""
    authority: str = ""
    status: int = 200
    reply: object = field(default_factory=lambda: {"results": [RESULT]})
    headers: dict[str, str] = field(default_factory=dict)
    hold: asyncio.Event | None = None
    asked: list[tuple[str, str, dict[str, str], dict[str, str], Any]] = field(default_factory=list)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read() or b"null")
        sent = dict(request.headers)
        self.asked.append((request.method, request.path, dict(request.query), sent, body))
        if self.hold is not None:
            await self.hold.wait()
        content = self.reply if isinstance(self.reply, bytes) else json.dumps(self.reply).encode()
        return web.Response(body=content, status=self.status, headers=self.headers)


@asynccontextmanager
async def providing() -> AsyncIterator[Provider]:
    """A provider until the block ends."""
    provider = Provider()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", provider.handle)
    server = TestServer(app)
    async with server:
        provider.url, provider.authority = str(server.make_url("")), f"{server.host}:{server.port}"
        yield provider
        if provider.hold is not None:
            provider.hold.set()
