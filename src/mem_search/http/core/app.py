"""The web application of one worker, built from the map of routes.

Most routes it learns after its start: at the first request for one of them, or soon. Their
handlers, with the schemas of bodies and replies, are a fifth of what a start would import, and the
first answer of a worker is a search. So the features that they need open then, too.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final

from aiohttp import web
from aiohttp.typedefs import Handler
from yarl import URL

from mem_search.access.tokens import read_or_create
from mem_search.embedders import Opener, open_embedder
from mem_search.http.access.authentication import TOKEN
from mem_search.http.core.dispatch import DEPRECATED, add_headers, answer, deprecation, make_handler
from mem_search.http.core.event_stream import LISTENERS, end_streams
from mem_search.http.core.lifecycle import LIFECYCLE, Lifecycle, run_lifecycle
from mem_search.http.core.problems import BROKEN_MOUNTS
from mem_search.http.core.routing import MEASURED, ROUTE_TABLE, Measured, Route
from mem_search.http.first_routes import FIRST
from mem_search.http.mcp import ENDPOINT, hold_endpoint
from mem_search.http.mounts import installed
from mem_search.mcp.endpoint import Endpoint
from mem_search.settings import Settings

log = logging.getLogger(__name__)

PAUSE: Final = 3.0
"""Seconds after the start in which only requests load them: the first searches have the machine."""

MAX_BODY_BYTES = 32 * 1024 * 1024
MAX_LINE_BYTES = 1024 * 1024
"""Bytes of a request's first line.

A parameter may have 4000 characters (``values``), which in an address take up to twelve bytes
each, and a request several such; aiohttp by itself takes 8 KB and refuses more as plain text.
"""


class LateRoutes(web.AbstractResource):
    """Stands for the routes of the router that ``load`` builds, in another thread.

    The app asks it for each path that its other routes, those of ``first``, do not have.
    """

    def __init__(self, first: web.UrlDispatcher, load: Callable[[], web.UrlDispatcher]) -> None:
        super().__init__()
        self._first = first
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
        path = request.rel_url.raw_path
        if len(path) > 1 and path.endswith("/"):  # means the path without it
            plain = request.rel_url.with_path(path.rstrip("/") or "/", encoded=True)
            url = plain.with_query(request.rel_url.query)
            matched = await self._first.resolve(request.clone(rel_url=url))
        else:
            matched = await (await self.router()).resolve(request)
        refused = matched.http_exception
        if refused is None:
            return matched, set()
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


def build_app(settings: Settings, opener: Opener = open_embedder) -> web.Application:
    """An app that opens its runtime in the background once it runs, the embedder by ``opener``.

    ``app[LIFECYCLE].ready()`` waits for that, or raises the reason why it failed. Raises
    StorageError when the token cannot be kept, InputError when it cannot be the home's.
    """
    app = web.Application(middlewares=[answer], client_max_size=MAX_BODY_BYTES)
    app[TOKEN] = read_or_create(settings)
    app[LIFECYCLE] = Lifecycle(settings, opener, app[TOKEN])
    app[DEPRECATED] = deprecated = deprecation(FIRST)
    app[ROUTE_TABLE] = _all_routes
    app[LATE] = LateRoutes(app.router, partial(_late_router, deprecated))
    app[MEASURED] = Measured()
    app[ENDPOINT] = Endpoint()
    app[BROKEN_MOUNTS] = installed().broken
    app[LISTENERS] = set()
    app.cleanup_ctx.extend((run_lifecycle, hold_endpoint, load_soon))
    app.on_response_prepare.append(add_headers)
    app.on_shutdown.append(end_streams)
    _add(app.router, FIRST)
    app.router.register_resource(app[LATE])
    return app


def _all_routes() -> tuple[Route, ...]:
    from mem_search.http.routes import ROUTES  # heavy: see above

    return ROUTES


def _late_router(deprecated: dict[str, Mapping[str, str]]) -> web.UrlDispatcher:
    """All routes but the first ones; adds the headers of deprecated ones to ``deprecated``."""
    routes, router = _all_routes(), web.UrlDispatcher()
    _add(router, (route for route in routes if route not in FIRST))
    for path, methods in _literal_paths(routes).items():
        router.add_route("*", path, _refusal(methods))
    router.freeze()
    deprecated.update(deprecation(routes))
    return router


def _add(router: web.UrlDispatcher, routes: Iterable[Route]) -> None:
    for route in routes:
        router.add_route(route.method, route.path, make_handler(route))
        if route.method == "GET" and not route.write:
            router.add_route("HEAD", route.path, make_handler(route))


def _literal_paths(routes: tuple[Route, ...]) -> dict[str, set[str]]:
    """Paths without a variable that a path with one would match, with their own methods.

    ``GET /api/records/batch`` is no record called batch.
    """
    patterns = [
        re.compile(re.sub(r"{\w+}", "[^/]+", route.path)) for route in routes if "{" in route.path
    ]
    methods: dict[str, set[str]] = {}
    for route in routes:
        if "{" not in route.path and any(each.fullmatch(route.path) for each in patterns):
            methods.setdefault(route.path, set()).add(route.method)
    return methods


def _refusal(methods: set[str]) -> Handler:
    async def refuse(request: web.Request) -> web.StreamResponse:
        raise web.HTTPMethodNotAllowed(request.method, methods)

    return refuse
