"""From an aiohttp request to a handler: caller, parameters, body, store, in that order."""

from __future__ import annotations

from aiohttp import web
from aiohttp.typedefs import Handler

from mem_search.access.callers import NOBODY
from mem_search.http.access.authentication import caller_of, check_rights
from mem_search.http.access.origin import is_remote
from mem_search.http.access.rate_limits import RESEARCH, admit, admit_message, searches
from mem_search.http.core.lifecycle import LIFECYCLE
from mem_search.http.core.parameters import Parameters
from mem_search.http.core.parsing import read_body, read_query
from mem_search.http.core.request_context import REQUEST_CONTEXT, RequestContext
from mem_search.http.core.routing import ANY_TYPE, Call, Route


def bound(route: Route) -> Handler:
    """The aiohttp handler of ``route``."""
    model = route.query or Parameters
    is_search = searches(route.query, route.body)

    async def called(request: web.Request) -> Call:
        query = read_query(model, request.query, request.app[LIFECYCLE].settings.timezone)
        body = None
        if route.body is not None:
            body = await read_body(request, route.body)
        elif route.streams_body and route.body_type not in (ANY_TYPE, request.content_type):
            raise web.HTTPUnsupportedMediaType
        return Call(request, query, body)

    async def handle(request: web.Request) -> web.StreamResponse:
        if route.early:
            request[REQUEST_CONTEXT] = RequestContext(NOBODY)
            return await route.handler(await called(request))
        lifecycle = request.app[LIFECYCLE]
        if route.waits:
            await lifecycle.settled()  # before the token, too: the tokens are in the store
        caller = caller_of(request)
        remote = is_remote(request, lifecycle.settings)
        check_rights(route, caller, remote=remote)
        own = lifecycle.runtime  # raises while there is none
        call = await called(request)
        context = request[REQUEST_CONTEXT] = RequestContext(caller, own, remote)
        if is_search or route.research:
            research = route.research or getattr(call.body, "mode", "") == RESEARCH
            admit(request, call.question, research=research, agent=route.is_for_agents)
        elif route.is_for_agents:
            await admit_message(request)
        if not caller.user:
            return await route.handler(call)
        async with lifecycle.users.lent(caller.user) as theirs:
            context.runtime = theirs
            return await route.handler(call)

    return handle
