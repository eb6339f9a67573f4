"""From an aiohttp request to a handler: token, readiness, parameters, body, in that order."""

from __future__ import annotations

from aiohttp import web
from aiohttp.typedefs import Handler

from mem_search.http.guard import check_token, is_open
from mem_search.http.opening import OPENING
from mem_search.http.parameters import Parameters
from mem_search.http.reading import read_body, read_query
from mem_search.http.routing import Call, Route

TOKEN = web.AppKey("token", str)


def bound(route: Route) -> Handler:
    """The aiohttp handler of ``route``."""
    model = route.query or Parameters

    async def handle(request: web.Request) -> web.StreamResponse:
        opening = request.app[OPENING]
        if route.write or (is_open(opening.settings) and not route.early):
            check_token(request, request.app[TOKEN])
        if route.waits:
            await opening.settled()
        if not route.early:
            opening.runtime  # noqa: B018 - raises while there is none
        query = read_query(model, request.query, opening.settings.timezone)
        body = None
        if route.body is not None:
            body = await read_body(request, route.body)
        elif route.reads_itself and request.content_type != route.body_type:
            raise web.HTTPUnsupportedMediaType
        return await route.handler(Call(request, query, body))

    return handle
