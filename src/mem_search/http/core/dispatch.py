"""What every request passes: its id and place, then caller, parameters, body and store.

``answer`` surrounds each route and turns errors into problem details; ``make_handler`` makes that
of one route; ``add_headers`` completes every reply. Query strings and bodies are read into
pydantic models, and all faults are reported at once. A parameter has the name of its field's
alias, or of the field; further spellings are in the field's ``spellings``.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final, TypeVar, get_args, get_origin
from urllib.parse import quote

from aiohttp import web
from aiohttp.typedefs import Handler
from multidict import MultiMapping
from pydantic import BaseModel, ValidationError

from mem_search.access.callers import ANONYMOUS
from mem_search.errors import (
    UNWRITABLE,
    InputError,
    MalformedBody,
    MemSearchError,
    StorageError,
    UnknownType,
)
from mem_search.http.access.authentication import (
    RESEARCH,
    admit,
    admit_message,
    caller_of,
    check_rights,
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
from mem_search.http.core.clients import IGNORED, Clients
from mem_search.http.core.lifecycle import LIFECYCLE, OPENING_SECONDS
from mem_search.http.core.parameter_types import zone
from mem_search.http.core.parameters import Parameters, spellings
from mem_search.http.core.problems import Fault, Invalid
from mem_search.http.core.request_context import REQUEST_CONTEXT, RequestContext
from mem_search.http.core.routing import ANY_TYPE, MEASURED, Call, Route, pattern_of, zone_name
from mem_search.patterns import pattern
from mem_search.request_id import REQUEST_ID
from mem_search.text import secret_rules
from mem_search.text.json_reading import UnusableJson, read_json
from mem_search.validation import nearest

log = logging.getLogger(__name__)
access = logging.getLogger("mem_search.access_log")

SINCE: Final = datetime(2026, 11, 22, tzinfo=UTC)
"""The time when the universal search replaced the deprecated routes."""

DEPRECATED: Final = web.AppKey("deprecated", Mapping[str, Mapping[str, str]])
"""Path of a deprecated route → the headers that say so and name its successor."""

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
                check_rights(route, caller)
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
        query = read_query(model, sent, zone_name(request, lifecycle.settings))
        body = None
        if route.body is not None:
            body = await read_body(request, route.body, theirs)
        elif streams_body and route.body_type not in (ANY_TYPE, request.content_type):
            raise UnknownType(f"send the body with the Content-Type {route.body_type}")
        request[REQUEST_CONTEXT] = context
        if searching:
            question = getattr(body, "query", "") or getattr(query, "query", "")
            research = route.research or getattr(body, "mode", "") == RESEARCH
            await admit(request, str(question or ""), research=research, agent=for_agents)
        elif for_agents:
            await admit_message(request)
        call = Call(request, lifecycle, query, body)
        if not context.caller.user:
            return await route.handler(call)
        await lifecycle.settled(OPENING_SECONDS, complete=True)
        may_create = context.caller.may_change
        async with lifecycle.users.lease(context.caller.user, may_create=may_create) as own:
            context.runtime = own
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
    settings = request.app[LIFECYCLE].settings
    response.headers.update({**_HEADERS, **deprecated, **limit_headers(request)})
    if settings.cors_origins:
        response.headers.update(cross_origin_headers(request, settings))
        response.headers.add("Vary", "Origin")
    response.headers["X-Request-Id"] = REQUEST_ID.get()


M = TypeVar("M", bound=BaseModel)


def read_query(model: type[M], sent: MultiMapping[str], default_zone: str = "") -> M:
    """The parameters of a request. Raises Invalid naming every parameter at fault."""
    known = _spelled(model)
    values: dict[str, Any] = {}
    written: dict[str, str] = {}
    faults: list[Fault] = []
    for word in dict.fromkeys(sent):
        if word not in known:
            faults.append(_unknown(word, known))
            continue
        proper, is_list = known[word]
        if proper in written and not is_list:
            faults.append(Fault(f"says the same as {written[proper]}; give one", parameter=word))
            continue
        several = sent.getall(word)
        if len(several) > 1 and not is_list:
            faults.append(Fault("given more than once", parameter=word))
            continue
        written.setdefault(proper, word)
        values[proper] = [*values.get(proper, []), *several] if is_list else several[0]
    now = datetime.now(zone(default_zone))
    try:
        read = model.model_validate(values, context={"now": now})
    except ValidationError as error:
        faults += [_parameter_fault(item, written) for item in _errors(error)]
        raise Invalid(faults) from None
    if faults:
        raise Invalid(faults)
    return read


async def read_body(request: web.Request, model: type[M], clients: Clients | None = None) -> M:
    """The JSON body of a request; nothing at all counts as ``{}``.

    With ``clients`` it is read as their program reads it.
    Raises MalformedBody, Invalid, UnknownType, or aiohttp's 413.
    """
    raw = await request.read() if request.can_read_body else b""
    if raw and request.content_type != "application/json":
        raise UnknownType("send the body with the Content-Type application/json")
    try:
        value = read_json(raw or b"{}")
    except UnusableJson as error:
        if not error.path or not error.is_json:
            raise MalformedBody(f"the body is not JSON: {error}") from None
        raise Invalid([Fault(error.message, pointer=_pointer(error.path))]) from None
    except ValueError as error:
        raise MalformedBody(f"the body is not JSON: {str(error)[:200]}") from None
    if clients is not None:
        value = clients.read_body(request, model, value)
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise Invalid([_body_fault(item, model) for item in _errors(error)]) from None


def number_in_path(request: web.Request) -> int:
    """The record number in the path. Raises InputError naming it."""
    word = request.match_info["number"]
    if not (word.isascii() and word.isdigit() and len(word) <= 18):
        raise InputError(f"{word[:60]!r} is no record number; write digits", field="number")
    return int(word)


@cache
def _spelled(model: type[BaseModel]) -> dict[str, tuple[str, bool]]:
    """spelling → (proper name, whether it takes several values)."""
    return {
        word: (field.alias or name, is_list(field.annotation))
        for name, field in model.model_fields.items()
        for word in spellings(name, field)
    }


def is_list(annotation: Any) -> bool:
    """Whether a parameter of this type takes several values."""
    return any(get_origin(each) is tuple for each in (annotation, *get_args(annotation)))


def _unknown(word: str, known: Iterable[str]) -> Fault:
    return Fault(f"unknown parameter; {nearest(word, known)}", parameter=word[:100])


def _errors(error: ValidationError) -> list[Any]:
    return error.errors(include_url=False, include_context=False, include_input=False)


def _parameter_fault(item: Any, written: dict[str, str]) -> Fault:
    proper = str(item["loc"][0]) if item["loc"] else ""
    if item["type"].startswith("at:"):  # a rule over several parameters says which it is about
        proper = item["type"][3:]
    missing = item["type"] in ("missing", "too_short")  # an empty list is none
    detail = "is required" if missing else item["msg"]
    return Fault(detail, parameter=written.get(proper, proper) or None, missing=missing)


def _body_fault(item: Any, model: type[BaseModel]) -> Fault:
    missing = item["type"] == "missing"
    match item["type"]:
        case "missing":
            message = "is required"
        case "model_type" | "model_attributes_type":
            message = "has to be a JSON object"
        case "extra_forbidden":
            names = [field.alias or name for name, field in model.model_fields.items()]
            hint = f"; {nearest(str(item['loc'][0]), names)}" if len(item["loc"]) == 1 else ""
            message = f"unknown field{hint}"
        case _:
            message = item["msg"]
    return Fault(
        message,
        pointer=_pointer(item["loc"]),
        missing=missing,
    )


def _pointer(path: Iterable[object]) -> str:
    """The JSON pointer (RFC 6901) of a place in the body."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)
