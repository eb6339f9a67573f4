"""Authentication: checks of Host and Origin on every request, then the caller and their rights.

A web page in a browser can send requests to loopback. But it cannot send one of our Host
names (DNS rebinding), cannot hide its Origin, and cannot read the token file. An invalid
credential is refused on every route that reads the store: a wrong token must never get the
records of another user.
"""

from __future__ import annotations

import base64
import ipaddress
import os
import secrets
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web

from mem_search.access.callers import ANONYMOUS, NEEDED, OWNER, Caller, check_may_change
from mem_search.errors import Forbidden, Misdirected, Unauthorized
from mem_search.http.access.browser_sessions import cookie_name
from mem_search.http.access.proxy_header import caller_by_proxy, peer_of
from mem_search.http.core.lifecycle import LIFECYCLE
from mem_search.http.core.routing import Route
from mem_search.settings import Settings

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
    by_proxy = caller_by_proxy(request, settings) if settings.proxy_header else None
    if "Authorization" not in request.headers:
        if by_proxy is not None:  # also where a cookie of ours would be the owner's
            return by_proxy
        return OWNER if await _is_logged_in(request) else ANONYMOUS
    caller = await _caller_by_token(request, basic=basic)
    if by_proxy is not None and by_proxy.user != caller.user:
        raise Unauthorized(
            f"the token is not that of {by_proxy.user}, whom the proxy names; send one of them"
        )
    return caller


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


async def _is_logged_in(request: web.Request) -> bool:
    """Whether a page of our own asks, in a browser that opened a link of ``mem-search view``."""
    if request.headers.get("Sec-Fetch-Site", "").lower() != "same-origin":
        return False
    lifecycle = request.app[LIFECYCLE]
    cookie = request.cookies.get(cookie_name(lifecycle.store_id), "")
    return bool(cookie) and await lifecycle.sessions.is_valid(cookie)


def _password_in(credentials: str) -> str:
    """The password of ``USER:PASSWORD`` in base64; "" for anything else."""
    try:
        return base64.b64decode(credentials, validate=True).decode().partition(":")[2]
    except ValueError:
        return ""


def check_rights(route: Route, caller: Caller, *, private: bool) -> None:
    """Raises Unauthorized where a token is missing, Forbidden where it is not sufficient.

    ``private``: reading needs a token, too.
    """
    if not caller.is_known:
        if route.write or private:
            raise Unauthorized(NEEDED)
        return
    if route.only == "home" and not caller.owns_home:
        raise Forbidden("only the home's own token creates and revokes tokens")
    if route.only and caller.user:
        raise Forbidden(
            "only the owner of this machine may do that;"
            " to import a file, send it with POST /api/import/upload"
        )
    if route.changes:
        check_may_change(caller)


_OF_BROWSERS: Final = ("Origin", "Referer", "Cookie", "Sec-Fetch-Site", "Sec-Fetch-Dest")
"""Headers that pages cannot leave out. Node's fetch sends ``Sec-Fetch-Mode`` alone."""


def check_capture(request: web.Request, settings: Settings) -> None:
    """Raises Unauthorized unless the request may add records without a token (ADR 0039).

    It may when it comes from a program of this user: over loopback, not forwarded, and without any
    header by which a browser says for which page it asks. The setting ``capture_token``
    demands the token all the same, as ``read_token`` and a proxy that names users do.
    """
    demanded = settings.capture_token or settings.read_token or settings.proxy_header
    marked = any(name in request.headers for name in _OF_BROWSERS)
    if demanded or marked or is_remote(request, settings) or not is_local_user(request):
        raise Unauthorized(NEEDED)


def is_local_user(request: web.Request) -> bool:
    """Whether a process of the worker's own user has the other end, over loopback.

    Linux tells whose each socket is. Elsewhere any program of this machine counts.
    """
    transport = request.transport
    ends = [] if transport is None else [transport.get_extra_info(n) for n in _ENDS]
    if len(ends) < len(_ENDS) or not all(isinstance(end, tuple) for end in ends):
        return False
    peer = peer_of(request)
    if peer is None or not peer.is_loopback:
        return False
    owner = owner_of_socket(6 if ":" in ends[0][0] else 4, ends[0][1], ends[1][1])
    return owner is None or owner in (os.getuid(), 0)


_ENDS: Final = ("peername", "sockname")


def owner_of_socket(version: int, port: int, to_port: int) -> int | None:
    """The user whose socket of this machine is connected from ``port`` to ``to_port``; None if the
    system does not tell (proc_net(5): addresses in hexadecimal, the user in the eighth column).
    """
    table = Path("/proc/net/tcp6" if version == 6 else "/proc/net/tcp")
    try:
        with table.open("rb") as lines:
            for line in lines:
                columns = line.split(None, 8)
                if len(columns) < 9 or b":" not in columns[2]:
                    continue  # the heading
                local, remote = (int(each.rpartition(b":")[2], 16) for each in columns[1:3])
                if (local, remote) == (port, to_port):
                    return int(columns[7])
    except (OSError, ValueError):
        return None
    return None


LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
_FORWARDED: Final = ("Forwarded", "X-Forwarded-For", "X-Real-IP", "Via")
"""Headers that proxies and tunnels add."""


def check_place(request: web.Request, settings: Settings) -> None:
    """Raises Misdirected for a foreign Host, Forbidden for a foreign page."""
    port = port_of(request)
    hosts = request.headers.getall("Host", [])
    if len(hosts) != 1 or not allowed(hosts[0], port, settings):
        raise Misdirected(
            f"this worker is not {', '.join(hosts)[:100] or 'without a name'};"
            f" ask for 127.0.0.1:{port}, or add the name to MEM_SEARCH_ALLOWED_HOSTS"
        )
    for origin in request.headers.getall("Origin", []):
        scheme, _, authority = origin.partition("://")
        ours = (scheme == "http" and allowed(authority, port, settings)) or (
            # A proxy speaks TLS for a name that the settings have, and never for loopback.
            scheme == "https" and authority.lower() in map(str.lower, settings.allowed_hosts)
        )
        if not ours and origin not in settings.cors_origins:
            raise Forbidden(f"pages of {origin[:100]} may not ask this worker")
    site = request.headers.get("Sec-Fetch-Site", "").lower()
    foreign = site in ("cross-site", "same-site") and not named_origin(request, settings)
    if foreign and request.path.startswith("/api"):
        raise Forbidden("web pages of other sites may not use this worker")


def named_origin(request: web.Request, settings: Settings) -> str:
    """The origin of the page that asks, where the setting ``cors_origins`` names it; else ""."""
    sent = request.headers.getall("Origin", [])
    return sent[0] if len(sent) == 1 and sent[0] in settings.cors_origins else ""


def is_remote(request: web.Request, settings: Settings) -> bool:
    """Whether the request may come from another machine: then reading needs a token, too.

    That is so when the worker is not bound to loopback, when a proxy or tunnel marked the request
    as forwarded or names its user, or when its Host is not a loopback name.
    """
    marks = (*_FORWARDED, settings.proxy_header or _FORWARDED[0])
    if is_open(settings) or any(map(request.headers.__contains__, marks)):
        return True
    return not _is_own(request.headers.get("Host", "").lower(), port_of(request), settings)


def allowed(authority: str, port: int, settings: Settings) -> bool:
    """Whether ``host[:port]`` names this worker."""
    authority = authority.lower()
    try:
        parts = urlsplit(f"//{authority}")
        parts.port  # noqa: B018 - raises for what is no port
    except ValueError:
        return False
    if parts.netloc != authority or "@" in authority or not parts.hostname:
        return False
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    also = {name.lower() for name in settings.allowed_hosts}
    return authority in also or host in also or _is_own(authority, port, settings)


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
    """The port of the connection, since the setting may be any; 0 for the Unix socket.

    There any port in the Host is ours: no page of a browser gets to that socket.
    """
    transport = request.transport
    name = transport.get_extra_info("sockname") if transport is not None else None
    return int(name[1]) if isinstance(name, tuple) else 0
