"""Where a request comes from: its Host and Origin, which are always checked, and browsers, with the
places at which one may be logged in (ADR 0033).

A web page in a browser can send requests to loopback. But it cannot send one of our Host names (DNS
rebinding), cannot hide its Origin, and cannot read the token file.

A browser is a program of the owner's, but what runs in it is whatever somebody once served for an
origin. So it gets nothing of the store for being the owner's program: only a session counts, at the
viewer's origin, which nobody held before this worker, or at a name of ``allowed_hosts``.

Pages of the origins that ``cors_origins`` names may read replies (CORS, Fetch standard). No reply
allows every origin, and none allows credentials: a page sends its token like any other client.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from aiohttp import web

from mem_search.errors import Forbidden, Misdirected
from mem_search.http.core.lifecycle import LIFECYCLE, Lifecycle
from mem_search.platform.sockets import (
    OF_IPV4,
    Ends,
    find_socket,
    owner_of_socket,
    owner_of_unix,
    packed,
    stranger,
)
from mem_search.settings import Settings

_SIGNS: Final = (
    "Origin", "Referer", "Cookie", "Sec-Fetch-Site", "Sec-Fetch-Dest", "Sec-Fetch-User",
    "Sec-Purpose", "Service-Worker",
)  # fmt: skip
"""Headers that pages cannot leave out. Node's fetch sends ``Sec-Fetch-Mode`` alone."""

_NAMED_BY_BROWSERS: Final = "Mozilla/"
"""How the User-Agent of browsers begins, also of those before Fetch Metadata (2020 to 2023), whose
pages can ask without any of the headers above.
"""

_SITE: Final = "Sec-Fetch-Site"
"""Every browser sends it to loopback, and no page can leave it out (Fetch Metadata)."""

_STATIC_PAGES: Final = ("/", "/docs")
_LEADS_ON: Final = "/v/"
"""Pages without data, to which pages of other sites may link: a browser is led on by the last."""

_HTTP: Final = 80
"""The port of a name without one."""

_SCRIPT_OF_A_PAGE: Final = "Service-Worker"
"""Browsers fetch the script of a service worker with it; the viewer has none."""


def is_browser(request: web.Request) -> bool:
    """Whether a browser sent it, or a program that says of itself what browsers do."""
    agents = request.headers.getall("User-Agent", ())
    return any(map(request.headers.__contains__, _SIGNS)) or any(
        _NAMED_BY_BROWSERS in each for each in agents
    )


def is_navigation(request: web.Request) -> bool:
    """Whether a browser opens the address in a tab, and no page reads the reply."""
    headers = request.headers
    return (
        request.method in ("GET", "HEAD")
        and headers.get("Sec-Fetch-Mode", "").lower() == "navigate"
        and headers.get("Sec-Fetch-Dest", "").lower() == "document"
    )


def viewer_host(request: web.Request) -> str:
    """``127.a.b.c:PORT`` where the request came by the listener of the viewer; else ""."""
    own = sockname(request)
    host = f"{own[0]}:{own[1]}" if own else ""
    return host if host and request.app[LIFECYCLE].viewer == f"http://{host}" else ""


def login_place(request: web.Request, settings: Settings) -> str:
    """The place at which a browser may be logged in, to which its session is bound; "" elsewhere.

    That is the viewer's origin, or the Host where ``allowed_hosts`` names it. With the worker's own
    port that name would be the worker's port again, which others may have held.
    """
    if viewer := viewer_host(request):
        return viewer
    host = request.headers.get("Host", "").lower()
    own, (_, _, port) = sockname(request), host.rpartition(":")
    is_own = own is not None and int(port if port.isdecimal() else _HTTP) == own[1]
    return host if is_allowed_name(host, settings) and not is_own else ""


def no_login(lifecycle: Lifecycle) -> str:
    """Why a browser gets nothing here, and what to do."""
    if lifecycle.viewer:
        return (
            "at this address a browser gets nothing without a token; open the viewer, which has"
            " an address of its own: mem-search view"
        )
    return (
        "a browser gets nothing without a token, and none can be logged in, since"
        f" {lifecycle.no_viewer}; use the command line, or send a token"
    )


def is_allowed_name(authority: str, settings: Settings) -> bool:
    """Whether ``allowed_hosts`` has this lower-case ``host[:port]``, with its port or without."""
    also = {name.lower() for name in settings.allowed_hosts}
    name, _, port = authority.rpartition(":")
    return authority in also or (port.isdecimal() and name in also)


def named_origin(request: web.Request, settings: Settings) -> str:
    """The origin of the page that asks, where the setting ``cors_origins`` names it; else ""."""
    sent = request.headers.getall("Origin", [])
    return sent[0] if len(sent) == 1 and sent[0] in settings.cors_origins else ""


def check_page(request: web.Request, settings: Settings) -> None:
    """Raises Forbidden for pages of other sites and for scripts that would stay in the browser,
    Misdirected where a page has a name of loopback. ``check_place`` has checked Host and Origin.
    """
    if _SCRIPT_OF_A_PAGE in request.headers:
        raise Forbidden("nothing here is the script of a service worker")
    said = request.headers.getall(_SITE, ())
    if said:
        _check_address(request, settings)
    if said and _is_of_another_site(request, said) and not named_origin(request, settings):
        raise Forbidden(
            "web pages of other sites may not use this worker; to open an address that one of them"
            " shows, type it into the browser"
        )


def _check_address(request: web.Request, settings: Settings) -> None:
    """Raises Misdirected where a page has a name of loopback instead of the worker's own address.

    A browser asks ``localhost`` at ``[::1]`` first, where another user can listen.
    """
    own, host = sockname(request), request.headers["Host"].lower()
    if own is None or is_allowed_name(host, settings):
        return
    plain = own[0].removeprefix("::ffff:") if "." in own[0] else own[0]  # IPv4 as IPv6 writes it
    address = f"[{plain}]" if ":" in plain else plain
    name = host.rpartition(":")[0] or host
    if name != address:
        raise Misdirected(
            f"in a browser, open http://{address}:{own[1]}: another program of this machine may"
            f" answer to {name[:100]}"
        )


def _is_of_another_site(request: web.Request, said: Sequence[str]) -> bool:
    """Whether a browser says that another page asks, but to show one without data in its tab."""
    if all(each.lower() in ("same-origin", "none") for each in said):
        return False
    is_static = request.path in _STATIC_PAGES or request.path.startswith(_LEADS_ON)
    return not (is_navigation(request) and is_static and request.method == "GET")


def sockname(request: web.Request) -> tuple[str, int] | None:
    """The worker's own end of the connection; None for a Unix socket and for one that is gone."""
    transport = request.transport
    name = transport.get_extra_info("sockname") if transport is not None else None
    return (str(name[0]), int(name[1])) if isinstance(name, tuple) else None


_SECONDS: Final = "600"
"""How long a browser remembers the answer to a preflight."""

_EXPOSED: Final = (
    "ETag, Link, Retry-After, RateLimit, RateLimit-Policy, X-Request-Id, X-Total-Count,"
    " X-Next-Offset, Deprecation, Content-Disposition, Mcp-Session-Id"
)
_SENT: Final = (
    "Authorization, Content-Type, Accept, If-None-Match, X-Request-Id, Mcp-Session-Id,"
    " Mcp-Protocol-Version, Last-Event-ID"
)


def preflight(request: web.Request, settings: Settings) -> web.Response | None:
    """The answer to a preflight of a named origin; None for every other request."""
    if request.method != "OPTIONS" or "Access-Control-Request-Method" not in request.headers:
        return None
    if not named_origin(request, settings):
        return None
    headers = {
        "Access-Control-Allow-Methods": "GET, HEAD, POST, PUT, DELETE",
        "Access-Control-Allow-Headers": _SENT,
        "Access-Control-Max-Age": _SECONDS,
    }
    if request.headers.get("Access-Control-Request-Private-Network") == "true":
        headers["Access-Control-Allow-Private-Network"] = "true"
    return web.Response(status=204, headers=headers)


def cross_origin_headers(request: web.Request, settings: Settings) -> Mapping[str, str]:
    """The headers by which the page of a named origin may read a reply."""
    origin = named_origin(request, settings)
    if not origin:
        return {}
    return {"Access-Control-Allow-Origin": origin, "Access-Control-Expose-Headers": _EXPOSED}


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


_LOOPBACK: Final = (OF_IPV4 + b"\x7f", bytes(15) + b"\x01")
"""What packed addresses of this machine begin with."""

OWN_USERS: Final = (os.getuid(), 0)
"""The worker's own user, and root, who reads its files anyway."""

_CONNECTED: Final = frozenset({1, 8})
"""States of our own end while the peer's socket has its port: nobody else gets it."""

_known: WeakKeyDictionary[asyncio.BaseTransport, int | None] = WeakKeyDictionary()


def peer_user(transport: asyncio.BaseTransport | None) -> int | None:
    """The user id of the process at the other end; None where nobody can say.

    A connection is looked up once: its other end stays the same.
    """
    if transport is None:
        return None
    if transport not in _known:
        _known[transport] = _look_up(transport)
    return _known[transport]


def is_unix(transport: asyncio.BaseTransport | None) -> bool:
    """Whether the connection came by a Unix socket."""
    connected = None if transport is None else transport.get_extra_info("socket")
    return connected is not None and connected.family == socket.AF_UNIX


def _look_up(transport: asyncio.BaseTransport) -> int | None:
    connected = transport.get_extra_info("socket")
    if is_unix(transport):
        user = owner_of_unix(connected)
    else:
        ends = _ends(transport.get_extra_info("peername"), transport.get_extra_info("sockname"))
        user = None if ends is None else owner_of_socket(ends)
        # Afterwards: a peer that reset the connection may have left its port to somebody else.
        if user is not None and not _is_connected(ends, connected):
            user = None
    return None if user == stranger() else user


def _is_connected(ends: Ends | None, own: socket.socket) -> bool:
    """Whether our own end is still the one that is connected to these ends, and not a later one."""
    assert ends is not None
    try:
        inode = os.fstat(own.fileno()).st_ino
    except OSError:
        return False
    peer = find_socket((*ends[2:], *ends[:2]))
    return peer is not None and peer.inode == inode and peer.state in _CONNECTED


def _ends(peer: object, own: object) -> Ends | None:
    """The ends as the peer's own socket has them; None for what is no loopback connection."""
    if not (isinstance(peer, tuple) and isinstance(own, tuple)):
        return None
    ends = (packed(peer[0]), int(peer[1]), packed(own[0]), int(own[1]))
    return ends if ends[0].startswith(_LOOPBACK) else None
