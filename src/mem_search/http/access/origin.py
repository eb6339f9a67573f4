"""Checks of Host and Origin on every request; ``authentication`` checks the caller.

A web page in a browser can send requests to loopback. But it cannot send one of our Host
names (DNS rebinding), cannot hide its Origin, and cannot read the token file.
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

    That is so when the worker is not bound to loopback, when a proxy or tunnel marked the request
    as forwarded, or when its Host is not a loopback name.
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
    """Whether a valid lower-case ``host[:port]`` is a loopback name of this worker."""
    host, _, named = authority.rpartition(":")
    if not named.isdecimal():
        host, named = authority, "80"
    # The address that means "all addresses" is no host name, yet browsers connect to it.
    own = () if settings.host in ("0.0.0.0", "::") else (settings.host.lower(),)  # noqa: S104
    return int(named) == port and host in (*LOOPBACK, *own, *(f"[{name}]" for name in own))


def is_open(settings: Settings) -> bool:
    """Whether other machines can reach the worker: then reads need the token too."""
    if settings.host.lower() == "localhost":
        return False
    try:
        return not ipaddress.ip_address(settings.host).is_loopback
    except ValueError:
        return True


def _port(request: web.Request) -> int:
    """The port of the connection; the setting may be 0 for any port."""
    transport = request.transport
    name = transport.get_extra_info("sockname") if transport is not None else None
    return int(name[1]) if isinstance(name, tuple) else 0
