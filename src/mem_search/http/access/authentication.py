"""Authentication: the caller and their rights, and how much they may ask.

An invalid credential is refused on every route that reads the store: a wrong token must never get
the records of another user. What comes without one is judged by whose process sends it
(``check_without_token``), and a sender who is not known is nobody's.

Searches are counted by the level of the caller. ``RateLimit-Policy`` and ``RateLimit`` follow
draft-ietf-httpapi-ratelimit-headers-11.
"""

from __future__ import annotations

import base64
import ipaddress
import json
import logging
import secrets
from typing import Final

from aiohttp import web
from pydantic import BaseModel

from mem_search.access.callers import (
    ANONYMOUS,
    NEEDED,
    OWNER,
    Caller,
    check_may_change,
    check_user,
    limit_error,
)
from mem_search.errors import Forbidden, InputError, LimitReached, Unauthorized
from mem_search.http.access.browser_sessions import SESSION
from mem_search.http.access.browsers import (
    OWN_USERS,
    is_browser,
    login_place,
    named_origin,
    no_login,
    peer_user,
)
from mem_search.http.core.lifecycle import LIFECYCLE
from mem_search.http.core.request_context import REQUEST_CONTEXT, Level
from mem_search.http.core.routing import Route
from mem_search.model.access import Policy
from mem_search.request_id import REQUEST_ID
from mem_search.runtime import Runtime
from mem_search.settings import Settings
from mem_search.text import secret_rules
from mem_search.text.dates import now_ms
from mem_search.text.query_attacks import flags
from mem_search.text.schedules import parts, runs_an_hour
from mem_search.text.secret_rules import MIN_RUN_CHARS

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

TOKEN: Final = web.AppKey("token", str)


def matches(sent: str, token: str) -> bool:
    """Whether ``sent`` is the token, compared in constant time."""
    return secrets.compare_digest(sent.encode("utf-8", "replace"), token.encode("utf-8"))


async def caller_of(request: web.Request, *, basic: bool = False) -> Caller:
    """The caller. With ``basic`` the token may be the password of HTTP Basic (RFC 7617).

    Raises Unauthorized for an unknown or expired credential, and where a proxy names another user
    than the token does.
    """
    settings = request.app[LIFECYCLE].settings
    by_proxy = await _caller_by_proxy(request, settings) if settings.proxy_header else None
    if "Authorization" not in request.headers:
        if by_proxy is not None:  # also where a session of a browser would be the owner's
            return by_proxy
        return await _caller_by_session(request) if SESSION in request.headers else ANONYMOUS
    caller = await _caller_by_token(request, basic=basic)
    if by_proxy is not None and by_proxy.user != caller.user:
        raise Unauthorized(
            f"the token is not that of {by_proxy.user}, whom the proxy names; send one of them"
        )
    return caller


async def _caller_by_proxy(request: web.Request, settings: Settings) -> Caller | None:
    """The user whom a reverse proxy names; None where the header is not there. Ask where it is on.

    The header counts only on connections of the addresses in ``proxy_addresses``: whatever another
    address says of itself, also in ``X-Forwarded-For``, is refused. One that is not plain is
    refused, too, and never read in the caller's favour: a proxy that adds its own beside the
    client's, joins both, or passes an empty one on, is set up wrongly.

    Raises Unauthorized for the header of anybody else, and for one that names no user.
    """
    header = settings.proxy_header
    sent = request.headers.getall(header, ())
    if not sent:
        return None
    if not _is_trusted(_peer_of(request), settings.proxy_addresses):
        raise Unauthorized(
            f"the header {header} counts only from the addresses in MEM_SEARCH_PROXY_ADDRESSES;"
            " this request came from another one: send a token"
        )
    if len(sent) > 1:
        raise Unauthorized(
            f"the header {header} came {len(sent)} times; let the proxy replace what clients send"
        )
    try:
        if len(sent[0]) >= MIN_RUN_CHARS:  # it is looked at by the rules, which may still compile
            await secret_rules.ready()
        return Caller(user=check_user(sent[0], header), is_known=True, may_change=True)
    except InputError as error:
        raise Unauthorized(f"the header {header} names no user: {error.message}") from None


def _peer_of(request: web.Request) -> Address | None:
    """The address at the other end of the connection."""
    transport = request.transport
    end = None if transport is None else transport.get_extra_info("peername")
    if not isinstance(end, tuple):
        return None
    # Behind a % is the interface on which a link-local address was seen.
    peer = ipaddress.ip_address(end[0].partition("%")[0])
    return getattr(peer, "ipv4_mapped", None) or peer


def _is_trusted(peer: Address | None, trusted: tuple[str, ...]) -> bool:
    return peer is not None and any(peer in ipaddress.ip_network(each) for each in trusted)


async def _caller_by_token(request: web.Request, *, basic: bool) -> Caller:
    sent = request.headers.getall("Authorization")
    scheme, _, secret = sent[0].partition(" ")
    secret = secret.strip()
    if basic and scheme.lower() == "basic":
        scheme, secret = "bearer", _password_in(secret)
    if len(sent) > 1 or scheme.lower() != "bearer" or not secret:
        raise Unauthorized("send one header 'Authorization: Bearer TOKEN', or none at all to read")
    if matches(secret, request.app[TOKEN]):
        return OWNER
    known = await request.app[LIFECYCLE].tokens.caller(secret)
    if known is None:
        raise Unauthorized(
            "this token is unknown: it was revoked, or is another worker's;"
            " see: mem-search token list"
        )
    return known


async def _caller_by_session(request: web.Request) -> Caller:
    """The owner, in a browser that a link of ``mem-search view`` logged in.

    A key is worth nothing to another user of this machine who came by it, nor at another place
    than that of its login.
    """
    lifecycle = request.app[LIFECYCLE]
    place = login_place(request, lifecycle.settings)
    if not place:
        raise Unauthorized(no_login(lifecycle))
    sent = request.headers.getall(SESSION)
    ours = len(sent) == 1 and peer_user(request.transport) in OWN_USERS
    if ours and await lifecycle.sessions.is_valid(sent[0], place):
        return OWNER
    raise Unauthorized(
        "this browser is not logged in any more: its session was ended, was not used for long, or"
        " is another user's; log in again: mem-search view"
    )


def _password_in(credentials: str) -> str:
    """The password of ``USER:PASSWORD`` in base64; "" for anything else."""
    try:
        return base64.b64decode(credentials, validate=True).decode().partition(":")[2]
    except ValueError:
        return ""


def check_rights(route: Route, caller: Caller) -> None:
    """Raises Forbidden where the caller's token is not sufficient."""
    if route.only == "home" and not caller.owns_home:
        raise Forbidden("only the home's own token may do that")
    if route.only and caller.user:
        raise Forbidden(
            "only the owner of this machine may do that;"
            " to import a file, send it with POST /api/import/upload"
        )
    if route.changes:
        check_may_change(caller)


_WITHIN_SCOPE: Final = (
    "/api/search", "/notes/search", "/websites/search", "/conversations/search", "/api/decisions",
    "/api/changes", "/api/how-it-works", "/api/suggest", "/api/v1/search", "/api/v1/mcp/",
    "/api/v2/search/", "/v/", "/api/timeline", "/api/context/timeline", "/api/records",
    "/api/observation", "/api/session", "/api/prompt", "/api/summaries", "/api/graph/",
    "/api/citations", "/api/export", "/api/archive/search", "/mcp",
)  # fmt: skip
"""How the paths begin that a token with a scope may ask: ``within_scope`` narrows what they read,
and refuses what of them it does not know."""


def check_scope(route: Route, caller: Caller) -> None:
    """Raises Forbidden for a token with a scope on a route that tells of more than records."""
    if not caller.scope or route.early:
        return
    if route.only or route.changes or not route.path.startswith(_WITHIN_SCOPE):
        raise Forbidden(
            f"this token is limited to the scope {caller.scope}: it searches and opens records;"
            " ask with a token without a scope"
        )


def check_without_token(
    request: web.Request, route: Route, settings: Settings, *, remote: bool
) -> None:
    """Raises Unauthorized unless ``route`` answers this request without a token (ADR 0006).

    Only programs of the worker's own user, and of root, need none: to read, and to tell what a
    session says (``capture``, ADR 0007). A browser is none of them (ADR 0033), but where a page of
    ``cors_origins`` reads; the link of a login it redeems at the place of logins alone. The setting
    ``neighbours_read`` lets browsers and other users of this machine read, too, but for what is
    ``private``. ``read_token`` and a proxy that names users demand the token of everybody: whom
    the proxy forgets to name is not us. ``remote``: it may come from another machine.
    """
    own, browser = peer_user(request.transport) in OWN_USERS, is_browser(request)
    demanded = settings.read_token or bool(settings.proxy_header)
    if route.login:
        allowed = own and bool(login_place(request, settings))
    elif route.capture:
        allowed = own and not (remote or demanded or browser or settings.capture_token)
    elif route.write or remote or demanded:
        allowed = False
    elif own and (not browser or named_origin(request, settings)):
        allowed = True
    else:
        allowed = settings.neighbours_read and not route.private
    if allowed:
        return
    if own and (browser or route.login):
        raise Unauthorized(f"{NEEDED}; {no_login(request.app[LIFECYCLE])}")
    raise Unauthorized(NEEDED if own else f"{NEEDED}; {_NOT_OURS}")


_NOT_OURS: Final = (
    "only programs of the worker's own user do without a token, and this is not known as one"
)


log = logging.getLogger(__name__)

FLAGS: Final = "X-Mem-Search-Flags"
RESEARCH: Final = "deep_research"
"""The mode of a universal search that is a step of a chain (docs/contracts)."""


def searches(*models: type[BaseModel] | None) -> bool:
    """Whether a route with these parameters and this body searches: it takes a query.

    A route that also takes an anchor may only open a record, and counts its searches itself.
    """
    fields = {name for model in models if model is not None for name in model.model_fields}
    return "query" in fields and "anchor" not in fields


def level_of(caller: Caller, *, remote: bool, strict: bool = False) -> Level:
    """The security level of a search. ``remote``: it may come from another machine.

    ``strict``: it is a step of deep research, or came over MCP.
    """
    if not caller.user and not remote:
        return Level.TRUSTED
    return Level.STRICT if remote and strict else Level.BASIC


async def admit(
    request: web.Request,
    text: str,
    *,
    research: bool = False,
    agent: bool = False,
    count: int = 1,
) -> None:
    """Count a search for ``text`` and inspect the text, by the security level of the caller.

    ``research``: a step of deep research, or ``count`` of them. ``agent``: the request came over
    MCP. Raises LimitReached, StorageError.
    """
    context = request[REQUEST_CONTEXT]
    caller = context.caller
    level = level_of(caller, remote=context.remote, strict=research or agent)
    if level is Level.TRUSTED:
        return
    context.level = level
    policy = policy_of(request.app[LIFECYCLE].settings, level, research=research)
    allowance = await request.app[LIFECYCLE].limits.count(caller.budget, policy, count)
    if allowance is not None:
        context.allowances[policy.name] = allowance
        if not allowance.granted:
            log.info("%s reached the limit %s", caller.name, policy.name)
            raise limit_error(allowance)
    if level is Level.STRICT and (rules := flags(text)):
        context.flags = rules
        # Not the query itself: the log must not contain what people search for.
        log.warning("a question of %s is flagged %s, request %s", caller.name, ", ".join(rules),
                    REQUEST_ID.get())  # fmt: skip


async def admit_message(request: web.Request) -> None:
    """``admit`` for an MCP message that calls a tool with a query; other messages are free.

    Faults of the message are reported by its handler. Raises LimitReached.
    """
    context = request[REQUEST_CONTEXT]
    if level_of(context.caller, remote=context.remote) is Level.TRUSTED:
        return
    try:
        message = json.loads(await request.read())
        arguments = message["params"]["arguments"] if message["method"] == "tools/call" else {}
        question, number = arguments.get("query"), message.get("id")
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return
    if isinstance(question, str):
        context.message = number if isinstance(number, str | int) else None
        await admit(request, question, research=arguments.get("mode") == RESEARCH, agent=True)


def policy_of(settings: Settings, level: Level, *, research: bool) -> Policy:
    """The policy that a search counts against."""
    if not research:
        return Policy("search", settings.limit_searches)
    if level is Level.STRICT:
        return Policy("research-remote", settings.limit_research_remote)
    return Policy("research", settings.limit_research)


async def check_jobs(request: web.Request, runtime: Runtime) -> None:
    """Raises LimitReached when the caller has too many unfinished jobs."""
    context = request[REQUEST_CONTEXT]
    most = request.app[LIFECYCLE].settings.limit_jobs
    if level_of(context.caller, remote=context.remote) is Level.TRUSTED or not most:
        return
    if context.caller.owns_home:  # the jobs of other tokens must not keep the owner from one
        return
    if len(await runtime.store.jobs.unfinished()) >= most:
        raise LimitReached(
            f"{most} jobs are unfinished; wait until one has ended: GET /api/jobs",
            policies=("jobs",),
            retry_after=5,
        )


async def check_schedule(request: web.Request, runtime: Runtime, name: str, schedule: str) -> None:
    """Check that all saved searches together stay within the rate limit of their user.

    This is checked when ``name`` is saved with ``schedule``, so that no run is refused
    later. Runs do not count against the searches of the user. Raises InputError.
    """
    context = request[REQUEST_CONTEXT]
    most = request.app[LIFECYCLE].settings.limit_searches
    if level_of(context.caller, remote=context.remote) is Level.TRUSTED or not most:
        return
    others = [
        each.schedule
        for each in await runtime.research.saved_searches.listed()
        if each.name.lower() != name.lower()
    ]
    now = now_ms()
    runs = sum(runs_an_hour(each, now) for each in (schedule, *others))
    if schedule and runs > most:
        raise InputError(
            f"all schedules would search {runs:.4g} times an hour, more than the limit of {most}"
            " (search); choose a longer interval, or remove the schedule of another saved search",
            field="every" if parts(schedule)[0] else "schedule",
        )


def limit_headers(request: web.Request) -> dict[str, str]:
    """The headers for the counted policies and the flags of the query; empty without any."""
    context = request.get(REQUEST_CONTEXT)
    if context is None:
        return {}
    counted = context.allowances.values()
    flagged = {FLAGS: ", ".join(context.flags)} if context.flags else {}
    if not counted:
        return flagged
    return {
        **flagged,
        "RateLimit-Policy": ", ".join(
            f'"{each.policy.name}";q={each.policy.quota};w={each.policy.seconds}'
            for each in counted
        ),
        "RateLimit": ", ".join(
            f'"{each.policy.name}";r={each.remaining};t={each.reset}' for each in counted
        ),
    }
