"""What every request passes: its id and place, then caller, parameters, body and store.

``answer`` surrounds each route and turns errors into problem details; ``bound`` makes the handler
of one route; ``add_headers`` completes every reply.
"""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler

from mem_search.access.callers import ANONYMOUS
from mem_search.errors import MalformedBody, MemSearchError
from mem_search.http.access.authentication import caller_of, check_place, check_rights, is_remote
from mem_search.http.access.rate_limits import (
    RESEARCH,
    admit,
    admit_message,
    limit_headers,
    searches,
)
from mem_search.http.core import problems
from mem_search.http.core.lifecycle import LIFECYCLE
from mem_search.http.core.parameters import Parameters
from mem_search.http.core.parsing import read_body, read_query
from mem_search.http.core.request_context import REQUEST_CONTEXT, RequestContext
from mem_search.http.core.routing import ANY_TYPE, Call, Route

log = logging.getLogger(__name__)

SINCE: Final = datetime(2026, 11, 22, tzinfo=UTC)
"""The time when the universal search replaced the deprecated routes."""

DEPRECATED: Final = web.AppKey("deprecated", Mapping[str, Mapping[str, str]])
"""Path of a deprecated route → the headers that say so and name its successor."""

_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Server": "mem-search",
}


@web.middleware
async def answer(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Check the access, and turn every error into problem details."""
    sent = request.headers.get("X-Request-Id", "")
    problems.REQUEST_ID.set(sent if _ID.fullmatch(sent) else uuid.uuid4().hex[:16])
    try:
        check_place(request, request.app[LIFECYCLE].settings)
        return await handler(request)
    except MemSearchError as error:
        if error.status >= 500:
            log.warning("%s %s: %s", request.method, request.path, error.message)
        return problems.of_error(request, error)
    except web.HTTPException as error:
        if error.status < 400:
            raise
        return problems.of_http(request, error)
    except web.RequestPayloadError:
        return problems.of_error(request, MalformedBody("the body ended early; send it again"))
    except ConnectionError:  # the client has disconnected; nobody reads a reply
        raise
    except Exception:
        # An unexpected error: the log has all of it, and the caller gets the id to find it.
        log.exception("%s %s failed, request %s", request.method, request.path,
                      problems.REQUEST_ID.get())  # fmt: skip
        return problems.of_bug(request)


def bound(route: Route) -> Handler:
    """The aiohttp handler of ``route``."""
    model = route.query or Parameters
    searching = route.research or searches(route.query, route.body)
    for_agents, streams_body = route.is_for_agents, route.streams_body

    async def handle(request: web.Request) -> web.StreamResponse:
        lifecycle = request.app[LIFECYCLE]
        context = RequestContext(ANONYMOUS)
        if not route.early:
            if route.waits:
                await lifecycle.settled()  # before the token, too: the tokens are in the store
            caller, remote = caller_of(request), is_remote(request, lifecycle.settings)
            check_rights(route, caller, remote=remote)
            context = RequestContext(caller, lifecycle.runtime, remote)  # raises while it opens
        query = read_query(model, request.query, lifecycle.settings.timezone)
        body = None
        if route.body is not None:
            body = await read_body(request, route.body)
        elif streams_body and route.body_type not in (ANY_TYPE, request.content_type):
            raise web.HTTPUnsupportedMediaType
        request[REQUEST_CONTEXT] = context
        if searching:
            question = getattr(body, "query", "") or getattr(query, "query", "")
            research = route.research or getattr(body, "mode", "") == RESEARCH
            admit(request, str(question or ""), research=research, agent=for_agents)
        elif for_agents:
            await admit_message(request)
        call = Call(request, lifecycle, query, body)
        if not context.caller.user:
            return await route.handler(call)
        async with lifecycle.users.lease(context.caller.user) as theirs:
            context.runtime = theirs
            return await route.handler(call)

    return handle


def deprecation(routes: tuple[Route, ...]) -> dict[str, Mapping[str, str]]:
    """``DEPRECATED`` for these routes (RFC 9745, RFC 5829)."""
    return {
        route.path: {
            "Deprecation": f"@{SINCE.timestamp():.0f}",
            "Link": f'<{route.successor}>; rel="successor-version"',
        }
        for route in routes
        if route.successor
    }


async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Signal: add the request id and ``no-store`` to every reply, streamed ones too.

    Also add that the route is deprecated, and the rest of the limit for callers that have one.
    """
    resource = request.match_info.route.resource
    deprecated = request.app[DEPRECATED].get(resource.canonical, {}) if resource else {}
    response.headers.update({**_HEADERS, **deprecated, **limit_headers(request)})
    response.headers["X-Request-Id"] = problems.REQUEST_ID.get()
