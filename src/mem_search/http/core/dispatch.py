"""What every request passes: its id and place, then caller, parameters, body and store.

``answer`` surrounds each route and turns errors into problem details; ``make_handler`` makes that
of one route; ``add_headers`` completes every reply. ``reading`` reads query strings and bodies.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote

from aiohttp import web
from aiohttp.typedefs import Handler
from multidict import MultiMapping

from mem_search.access.callers import ANONYMOUS
from mem_search.errors import (
    UNWRITABLE,
    MalformedBody,
    MemSearchError,
    StorageError,
    Unauthorized,
    UnknownType,
)
from mem_search.http.access.authentication import (
    RESEARCH,
    admit,
    admit_message,
    caller_of,
    check_rights,
    check_scope,
    check_without_token,
    limit_headers,
    searches,
)
from mem_search.http.access.browsers import (
    check_place,
    cross_origin_headers,
    is_navigation,
    is_remote,
    login_place,
    preflight,
)
from mem_search.http.core import problems
from mem_search.http.core.clients import IGNORED
from mem_search.http.core.lifecycle import LIFECYCLE, OPENING_SECONDS
from mem_search.http.core.parameter_types import zone
from mem_search.http.core.parameters import Parameters
from mem_search.http.core.reading import read_body, read_query
from mem_search.http.core.request_context import REQUEST_CONTEXT, RequestContext
from mem_search.http.core.routing import ANY_TYPE, MEASURED, Call, Route, pattern_of, zone_name
from mem_search.patterns import pattern
from mem_search.request_id import REQUEST_ID
from mem_search.runtime import within_scope
from mem_search.text import secret_rules

log = logging.getLogger(__name__)
access = logging.getLogger("mem_search.access_log")

SINCE: Final = datetime(2026, 11, 22, tzinfo=UTC)
"""The time when the universal search replaced the deprecated routes."""

DEPRECATED: Final = web.AppKey("deprecated", Mapping[str, Mapping[str, str]])
"""Path of a deprecated route → the headers that say so and name its successor."""

READ_AS: Final = "X-Mem-Search-Read-As"
"""The header that says as which moments dates without a zone, or in words, were read."""

SHARE: Final = "X-Mem-Search-Share"
"""The header by which a user reads what another one shares with them."""

_ID = pattern(r"[A-Za-z0-9._-]{1,64}")
_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Server": "mem-search",
}


@web.middleware
async def answer(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Give the request its id, answer it, and note that it was answered."""
    sent = request.headers.get("X-Request-Id", "")
    REQUEST_ID.set(sent if _ID.fullmatch(sent) else uuid.uuid4().hex[:16])
    began = time.perf_counter()
    status = 499  # as servers note a client that went away
    try:
        reply = await _answered(request, handler)
        status = reply.status
        return reply
    except web.HTTPException as redirection:
        status = redirection.status
        raise
    finally:
        seconds, route = time.perf_counter() - began, pattern_of(request)
        request.app[MEASURED].note(request.method, route, status, seconds)
        if request.app[LIFECYCLE].settings.log_format == "json":
            # The pattern, and not the path: it has no query and no name.
            access.info("%s %s %d %.1f ms", request.method, route, status, 1000 * seconds)


async def _answered(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Check the access, and turn every error into problem details."""
    try:
        settings = request.app[LIFECYCLE].settings
        check_place(request, settings)
        asked = preflight(request, settings) if settings.cors_origins else None
        return asked or await handler(request)
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
    except Exception as error:
        if isinstance(error, OSError) and error.errno in UNWRITABLE:
            log.warning("%s %s: %s", request.method, request.path, error)
            full = StorageError(
                f"nothing can be written: {error.strerror}; free some space, or mount the disk"
                " writable, then try again"
            )
            return problems.of_error(request, full)
        # An unexpected error: the log has all of it, and the caller gets the id to find it.
        log.exception("%s %s failed, request %s", request.method, request.path,
                      REQUEST_ID.get())  # fmt: skip
        return problems.of_bug(request)


def make_handler(route: Route) -> Handler:
    """The aiohttp handler of ``route``."""
    model = route.query or Parameters
    searching = route.research or searches(route.query, route.body)
    for_agents, streams_body = route.is_for_agents, route.streams_body
    stores = route.write and route.method != "GET" and not route.defers
    clients = route.clients
    for_clients = None if route.for_clients is None else make_handler(route.for_clients)

    async def handle(request: web.Request) -> web.StreamResponse:
        theirs = clients if clients is not None and clients.is_one(request) else None
        if for_clients is not None and theirs is not None:
            return await for_clients(request)
        lifecycle = request.app[LIFECYCLE]
        context = RequestContext(ANONYMOUS)
        if not route.early:
            # Before the token, too: the tokens are in the store.
            patience = None if route.waits else OPENING_SECONDS
            await lifecycle.settled(patience, complete=not route.first)
            caller = await caller_of(request, basic=route.basic)
            remote = is_remote(request, lifecycle.settings)
            if caller.is_known:
                if shared := request.headers.get(SHARE, ""):
                    caller = await lifecycle.tokens.shared(shared, caller)
                check_rights(route, caller)
                check_scope(route, caller)
            elif SHARE in request.headers:
                raise Unauthorized(f"{SHARE} needs the token of the user with whom it is shared")
            else:
                if route.page and (led := _led_on(request, route)) is not None:
                    return led
                check_without_token(request, route, lifecycle.settings, remote=remote)
            context = RequestContext(caller, lifecycle.runtime, remote)  # raises while it opens
        if stores:  # its names are redacted in this thread, also by the models below
            await secret_rules.ready()
        sent: MultiMapping[str] = request.query
        if theirs is not None:
            sent, context.tolerated = theirs.read_query(request, model)
        now = datetime.now(zone(zone_name(request, lifecycle.settings)))
        query = read_query(model, sent, now, context.read_as)
        body = None
        if route.body is not None:
            body = await read_body(request, route.body, now, context.read_as, theirs)
        elif streams_body and route.body_type not in (ANY_TYPE, request.content_type):
            raise UnknownType(f"send the body with the Content-Type {route.body_type}")
        request[REQUEST_CONTEXT] = context
        if searching:
            question = getattr(body, "query", "") or getattr(query, "query", "")
            research = route.research or getattr(body, "mode", "") == RESEARCH
            await admit(request, str(question or ""), research=research, agent=for_agents)
        elif for_agents:
            await admit_message(request)
        call, scope = Call(request, lifecycle, query, body), context.caller.scope
        user = context.caller.user if context.caller.of is None else context.caller.of
        if not user:
            if scope:
                context.runtime = await within_scope(lifecycle.runtime, scope, now)
            return await route.handler(call)
        await lifecycle.settled(OPENING_SECONDS, complete=True)
        may_create = context.caller.may_change
        async with lifecycle.users.lease(user, may_create=may_create) as own:
            context.runtime = await within_scope(own, scope, now) if scope else own
            return await route.handler(call)

    return handle


def _led_on(request: web.Request, route: Route) -> web.Response | None:
    """The way to the page of the viewer for an address that a browser opens in a tab.

    A tab sends no session. The reply says nothing of the store, not even whether it has the record.
    None for everybody else, and where there is no viewer.
    """
    lifecycle = request.app[LIFECYCLE]
    is_here = bool(login_place(request, lifecycle.settings))
    if not is_navigation(request) or not (is_here or lifecycle.viewer):
        return None
    origin = "" if is_here else lifecycle.viewer
    named = {name: quote(value, safe="") for name, value in request.match_info.items()}
    return web.Response(
        status=303, headers={"Location": f"{origin}/#/{route.page.format(**named)}"}
    )


def deprecation(routes: Iterable[Route]) -> dict[str, Mapping[str, str]]:
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
    context = request.get(REQUEST_CONTEXT)
    if context is not None and context.tolerated is not None and context.tolerated.ignored:
        response.headers[IGNORED] = ", ".join(context.tolerated.ignored)
    if context is not None and context.read_as:
        said = (f"{name}={moment}" for name, moment in context.read_as.items())
        response.headers[READ_AS] = ", ".join(said)
    settings = request.app[LIFECYCLE].settings
    response.headers.update({**_HEADERS, **deprecated, **limit_headers(request)})
    if settings.cors_origins:
        response.headers.update(cross_origin_headers(request, settings))
        response.headers.add("Vary", "Origin")
    response.headers["X-Request-Id"] = REQUEST_ID.get()
