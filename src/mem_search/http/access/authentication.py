"""Authentication: checks of Host and Origin on every request, then the caller and their rights.

A web page in a browser can send requests to loopback. But it cannot send one of our Host
names (DNS rebinding), cannot hide its Origin, and cannot read the token file. An invalid
credential is refused on every route that reads the store: a wrong token must never get the
records of another user. What comes without one is judged by whose process sends it
(``check_without_token``), and a sender who is not known is nobody's.
"""

from __future__ import annotations

import base64
import ipaddress
import secrets
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web

from mem_search.access.callers import (
    ANONYMOUS,
    NEEDED,
    OWNER,
    Caller,
    check_may_change,
    check_user,
)
from mem_search.errors import Forbidden, InputError, Misdirected, Unauthorized
from mem_search.http.access.browser_sessions import SESSION
from mem_search.http.access.browsers import (
    check_page,
    is_allowed_name,
    is_browser,
    login_place,
    named_origin,
    no_login,
    sockname,
    viewer_host,
)
from mem_search.http.access.peers import OWN_USERS, is_unix, peer_user
from mem_search.http.core.lifecycle import LIFECYCLE
from mem_search.http.core.routing import Route
from mem_search.settings import Settings
from mem_search.text import secret_rules
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


_NOT_OURS: Final = "only programs of the worker's own user do without, and this is none, or unknown"


LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
_FORWARDED: Final = ("Forwarded", "X-Forwarded-For", "X-Real-IP", "Via")
"""Headers that proxies and tunnels add."""


def check_place(request: web.Request, settings: Settings) -> None:
    """Raises Misdirected for a foreign Host, Forbidden for a foreign page.

    What a proxy is asked (``GET http://HOST/``) has to name the same host: aiohttp takes that.
    """
    port, viewer = port_of(request), viewer_host(request)
    hosts = request.headers.getall("Host", [])
    scheme, is_whole, rest = request.raw_path.partition("://")
    if is_whole and "/" not in scheme and (at := rest.partition("/")[0]) not in hosts:
        hosts.append(at)
    named = len(hosts) == 1 and (
        hosts[0].lower() == viewer if viewer else allowed(hosts[0], port, settings)
    )
    if not named:
        here = viewer or (f"127.0.0.1:{port}" if port > 0 else "localhost")
        raise Misdirected(
            f"this worker is not {', '.join(hosts)[:100] or 'without a name'};"
            f" ask for {here}, or add the name to MEM_SEARCH_ALLOWED_HOSTS"
        )
    for origin in request.headers.getall("Origin", []):
        if not _is_ours(origin, port, viewer, settings):
            raise Forbidden(f"pages of {origin[:100]} may not ask this worker")
    check_page(request, settings)


def _is_ours(origin: str, port: int, viewer: str, settings: Settings) -> bool:
    """Whether a page of this origin may ask. The viewer's listener answers the viewer alone."""
    if viewer:
        return origin == f"http://{viewer}"
    scheme, _, authority = origin.partition("://")
    return (
        (scheme == "http" and allowed(authority, port, settings))
        # A proxy speaks TLS for a name that the settings have, and never for loopback.
        or (scheme == "https" and authority.lower() in map(str.lower, settings.allowed_hosts))
        or origin in settings.cors_origins
    )


def is_remote(request: web.Request, settings: Settings) -> bool:
    """Whether the request may come from another machine: then reading needs a token, too.

    That is so when a proxy or tunnel marked the request as forwarded or names its user, when its
    Host is not a loopback name, or when it came by a port that is not bound to loopback.
    """
    marks = (*_FORWARDED, settings.proxy_header or _FORWARDED[0])
    if any(map(request.headers.__contains__, marks)):
        return True
    if viewer_host(request):  # which listens on loopback, whatever address the worker has
        return False
    if is_open(settings) and not is_unix(request.transport):
        return True
    return not _is_own(request.headers.get("Host", "").lower(), port_of(request), settings)


def allowed(authority: str, port: int, settings: Settings) -> bool:
    """Whether ``host[:port]`` names this worker. ``port`` is 0 for a Unix socket: any fits."""
    authority = authority.lower()
    try:
        parts = urlsplit(f"//{authority}")
        parts.port  # noqa: B018 - raises for what is no port
    except ValueError:
        return False
    if parts.netloc != authority or "@" in authority or not parts.hostname:
        return False
    return is_allowed_name(authority, settings) or _is_own(authority, port, settings)


def _is_own(authority: str, port: int, settings: Settings) -> bool:
    """Whether a valid lower-case ``host[:port]`` is a loopback name of this worker."""
    host, _, named = authority.rpartition(":")
    if not named.isdecimal():
        host, named = authority, "80"
    # The address that means "all addresses" is no host name, yet browsers connect to it.
    own = settings.host.lower()
    names = LOOPBACK if own in ("0.0.0.0", "::") else (*LOOPBACK, own, f"[{own}]")  # noqa: S104
    return port in (int(named), 0) and host in names


def is_open(settings: Settings) -> bool:
    """Whether other machines can reach the worker: then reads need the token too."""
    if settings.host.lower() == "localhost":
        return False
    try:
        return not ipaddress.ip_address(settings.host).is_loopback
    except ValueError:
        return True


def port_of(request: web.Request) -> int:
    """The port of the connection, since the setting may be any; 0 for a Unix socket, which has
    none, and -1 for a connection that is gone.
    """
    own = sockname(request)
    if own is not None:
        return own[1]
    return -1 if request.transport is None else 0
