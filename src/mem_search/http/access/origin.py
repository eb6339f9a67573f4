"""From where one may ask: Host and Origin on every request; ``callers`` is about who.

A web page that a person visits can send requests to loopback. It cannot send our Host name
unless it is ours (DNS rebinding), cannot hide its Origin, and cannot read the token file.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from aiohttp import web

from mem_search.errors import Forbidden, Misdirected
from mem_search.settings import Settings

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Real-IP", "Via")
"""Headers that proxies and tunnels add."""


def check_place(request: web.Request, settings: Settings) -> None:
    """Raises Misdirected for a foreign Host, Forbidden for a foreign page."""
    port = _port(request)
    hosts = request.headers.getall("Host", [])
    if len(hosts) != 1 or not allowed(hosts[0], port, settings):
        raise Misdirected(
            f"this worker is not {', '.join(hosts)[:100] or 'without a name'};"
            f" ask for 127.0.0.1:{port}, or add the name to MEM_SEARCH_ALLOWED_HOSTS"
        )
    for origin in request.headers.getall("Origin", []):
        if not origin.startswith("http://") or not allowed(origin[7:], port, settings):
            raise Forbidden(f"pages of {origin[:100]} may not ask this worker")
    site = request.headers.get("Sec-Fetch-Site", "").lower()
    if site in ("cross-site", "same-site") and request.path.startswith("/api"):
        raise Forbidden("pages of other sites may not ask this worker")


def is_remote(request: web.Request, settings: Settings) -> bool:
    """Whether the request may come from another machine: then reading needs a token, too.

    The worker is bound elsewhere than to loopback, or the request came by way of a proxy or
    tunnel: it says so, or asks for another name than loopback has.
    """
    if is_open(settings) or any(header in request.headers for header in _FORWARDED):
        return True
    return not _is_own(request.headers.get("Host", "").lower(), _port(request), settings)


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
    """Whether ``host[:port]``, well formed and in lower case, is a loopback name of ours."""
    host, _, named = authority.rpartition(":")
    if not named.isdecimal():
        host, named = authority, "80"
    # The address that means "all addresses" is nobody's name, yet browsers connect to it.
    own = () if settings.host in ("0.0.0.0", "::") else (settings.host.lower(),)  # noqa: S104
    return int(named) == port and host in (*LOOPBACK, *own, *(f"[{name}]" for name in own))


def is_open(settings: Settings) -> bool:
    """Whether machines other than this one can reach the worker: then reads need the token too."""
    if settings.host.lower() == "localhost":
        return False
    try:
        return not ipaddress.ip_address(settings.host).is_loopback
    except ValueError:
        return True


def _port(request: web.Request) -> int:
    """The port that the connection really came in on; settings may say 0 for any."""
    transport = request.transport
    name = transport.get_extra_info("sockname") if transport is not None else None
    return int(name[1]) if isinstance(name, tuple) else 0
