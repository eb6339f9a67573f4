"""The routes that the app learns after its start: at the first request for one of them, or soon.

Their handlers, with the schemas of bodies and replies, are a fifth of what a start would import,
and the first answer of a worker is a search. So the features that they need open then, too.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from typing import Any, Final

from aiohttp import web
from yarl import URL

from mem_search.http.core.lifecycle import LIFECYCLE

log = logging.getLogger(__name__)

PAUSE: Final = 3.0
"""Seconds after the start in which only requests load them: the first searches have the machine."""


class LateRoutes(web.AbstractResource):
    """Stands for the routes of the router that ``load`` builds, in another thread.

    The app asks it for each path that its other routes do not have.
    """

    def __init__(self, load: Callable[[], web.UrlDispatcher]) -> None:
        super().__init__()
        self._load = load
        self._loading: asyncio.Task[web.UrlDispatcher] | None = None

    async def router(self) -> web.UrlDispatcher:
        """The loaded router; whoever asks first begins to load it."""
        if self._loading is None:
            self._loading = asyncio.create_task(asyncio.to_thread(self._load), name="late routes")
        # A client that goes away must not end it for the others.
        return await asyncio.shield(self._loading)

    async def resolve(
        self, request: web.Request
    ) -> tuple[web.UrlMappingMatchInfo | None, set[str]]:
        found = await (await self.router()).resolve(request)
        refused = found.http_exception
        if refused is None:
            return found, set()
        allowed = refused.allowed_methods if isinstance(refused, web.HTTPMethodNotAllowed) else ()
        return None, set(allowed)

    @property
    def canonical(self) -> str:
        return "/{path}"

    def raw_match(self, path: str) -> bool:
        return path == self.canonical

    def get_info(self) -> Any:
        return {"formatter": self.canonical}

    def url_for(self, **_: str) -> URL:
        raise RuntimeError("routes that come later have no names")

    def add_prefix(self, prefix: str) -> None:
        raise RuntimeError("the app of a worker is no part of another one")

    def __len__(self) -> int:
        return 0

    def __iter__(self) -> Iterator[web.AbstractRoute]:
        return iter(())


LATE: Final = web.AppKey("late routes", LateRoutes)


async def load_soon(app: web.Application) -> AsyncIterator[None]:
    """Cleanup context: loads them a while after the store is open, if no request did, and opens the
    features.
    """

    async def load() -> None:
        await app[LIFECYCLE].settled()
        await asyncio.sleep(PAUSE)
        try:
            await app[LATE].router()
        except Exception:  # each request for one of them fails, too
            log.exception("most routes cannot be loaded")
        await app[LIFECYCLE].settled(complete=True)

    loading = asyncio.create_task(load(), name="load late routes")
    yield
    loading.cancel()
    with suppress(asyncio.CancelledError):
        await loading
