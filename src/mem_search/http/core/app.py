"""The web application of one worker, built from the map of routes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import partial

from aiohttp import web
from aiohttp.typedefs import Handler

from mem_search.access.tokens import read_or_create
from mem_search.embedders import Opener, open_embedder
from mem_search.http.access.authentication import TOKEN
from mem_search.http.core.dispatch import DEPRECATED, add_headers, answer, deprecation, make_handler
from mem_search.http.core.event_stream import LISTENERS, end_streams
from mem_search.http.core.late_routes import LATE, LateRoutes, load_soon
from mem_search.http.core.lifecycle import LIFECYCLE, Lifecycle, run_lifecycle
from mem_search.http.core.measuring import MEASURED, Measured
from mem_search.http.core.routing import ROUTE_TABLE, Route
from mem_search.http.first_routes import FIRST
from mem_search.http.mcp import ENDPOINT, hold_endpoint
from mem_search.mcp.endpoint import Endpoint
from mem_search.settings import Settings

MAX_BODY_BYTES = 32 * 1024 * 1024
MAX_LINE_BYTES = 1024 * 1024
"""Bytes of a request's first line.

A parameter may have 4000 characters (``values``), which in an address take up to twelve bytes
each, and a request several such; aiohttp by itself takes 8 KB and refuses more as plain text.
"""


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
    app[LATE] = LateRoutes(partial(_late_router, deprecated))
    app[MEASURED] = Measured()
    app[ENDPOINT] = Endpoint()
    app[LISTENERS] = set()
    app.cleanup_ctx.extend((run_lifecycle, hold_endpoint, load_soon))
    app.on_response_prepare.append(add_headers)
    app.on_shutdown.append(end_streams)
    _add(app.router, FIRST)
    app.router.register_resource(app[LATE])
    return app


def _all_routes() -> tuple[Route, ...]:
    from mem_search.http.routes import ROUTES  # see ``core.late_routes``

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
