"""Requests to URLs that somebody gave: which may be called, and what their names may resolve to.

``check_url`` checks a URL when somebody gives it. ``CheckedResolver`` checks the addresses of its
name whenever it is called, and passes exactly those to the connection. So a name that changes its
address in between (DNS rebinding) has no effect. Webhooks and the fetching of pages use both, by
``open_session``.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Collection, Mapping
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from mem_search import __version__
from mem_search.errors import InputError
from mem_search.patterns import pattern

Address = IPv4Address | IPv6Address

_NUMBER = pattern(r"[0-9]+|0[xX][0-9a-fA-F]*")


def _networks(*texts: str) -> tuple[IPv4Network | IPv6Network, ...]:
    return tuple(map(ip_network, texts))


_NOT_PUBLIC = _networks(
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
    "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24",
    "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
    "224.0.0.0/3", "168.63.129.16/32",
)  # fmt: skip
"""All of IANA's registry of special IPv4 addresses, with multicast and what is reserved, and the
address by which Azure tells a machine its secrets.

The few of it that are reachable from everywhere (anycast of NAT and of AS112) serve no pages.
Python's ``is_global`` is not asked: its versions differ, and it calls all of 192.0.0.0/24 public
that has no purpose yet.
"""

_PUBLIC6 = _networks("2000::/3")
"""RFC 4291 2.5.4: all of IPv6 that is assigned to the internet so far."""

_NOT_PUBLIC6 = _networks(
    "2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"
)
"""What the registry of special IPv6 addresses has inside of that: Teredo, 6to4, documentation, …"""

_NAT64 = IPv6Network("64:ff9b::/96")  # RFC 6052; the last four bytes are the IPv4 address
_NEAR = _networks(
    "10.0.0.0/8", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7"
)


def is_public(address: Address) -> bool:
    """Whether ``address``, or the IPv4 address that it stands for, is on the public internet."""
    address = _reached(address)
    if isinstance(address, IPv4Address):
        return not _is_in(address, _NOT_PUBLIC)
    return _is_in(address, _PUBLIC6) and not _is_in(address, _NOT_PUBLIC6)


def is_near(address: Address) -> bool:
    """Whether ``address`` is this machine or a private network: allowed only by a setting.

    Never link-local, where clouds keep the secrets of a machine, nor multicast or unspecified.
    """
    return _is_in(getattr(address, "ipv4_mapped", None) or address, _NEAR)


def _reached(address: Address) -> Address:
    """The IPv4 address to which a packet to ``address`` goes in the end, where it is one of IPv6.

    Translators (NAT64), relays (6to4) and the system itself (mapped) unpack it. Teredo is none of
    these: its address has two of IPv4, and it is never public.
    """
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def _is_in(address: Address, networks: tuple[IPv4Network | IPv6Network, ...]) -> bool:
    return any(address in network for network in networks)


def literal(host: str) -> Address | None:
    """The address in ``host``; None for a name.

    Raises ValueError for an address in a form that programs read in different ways: ``127.1``,
    ``0177.0.0.1``, ``0x7f.1``, ``fe80::1%eth0``. A host that ends in a number is never a name
    (WHATWG URL 3.5).
    """
    if ":" not in host and not _NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2]):
        return None
    if "%" in host:
        raise ValueError("an address with a zone")
    return ip_address(host)


MAX_URL_CHARS = 2_000
_OWN_NAMES = ("localhost", "local", "internal", "localdomain", "home.arpa")
"""Names and suffixes of names that no public server can have (RFC 6761, 6762, 8375, ICANN)."""

Lookup = Callable[[str, int], Awaitable[list[str]]]
"""The addresses of (host, port)."""


class RefusedReceiver(InputError):
    """The receiver has an address that the worker must not use; a retry does not help."""

    code = "webhook_refused"
    setting = "MEM_SEARCH_WEBHOOK_ALLOW"
    thing = "a receiver"
    unnamed = "messages are signed instead"


class RefusedPage(RefusedReceiver):
    """The same for a page that is to be read."""

    code = "page_refused"
    setting = "MEM_SEARCH_FETCH_ALLOW"
    thing = "a page"
    unnamed = "nothing that needs a password is read"


def check_url(
    text: str, allowed: Collection[str] = (), refused: type[RefusedReceiver] = RefusedReceiver
) -> URL:
    """The parsed URL. Raises ``refused``, whose message says what to write.

    ``allowed`` lists each ``host:port`` that may be on this machine or a private network.
    """
    if len(text) > MAX_URL_CHARS:
        raise refused(f"the URL is longer than {MAX_URL_CHARS} characters")
    if any(ord(letter) <= 32 or ord(letter) == 127 for letter in text):
        raise refused("a URL has no spaces or control characters")
    try:
        url = URL(text)
        host, port = url.host, url.port
    except ValueError:
        raise refused("is not a URL; write https://example.org/path") from None
    if url.scheme not in ("http", "https") or not host or not port:
        raise refused("must begin with https:// or http:// and name a host")
    if url.user is not None or url.password is not None:
        raise refused(f"must not contain a user name or password; {refused.unnamed}")
    try:
        address = literal(host)
    except ValueError:
        raise refused(
            f"{host!r} is not an address; write four numbers from 0 to 255, or a name"
        ) from None
    near = is_allowed(host, port, allowed)
    if address is not None:
        _judge(host, port, address, near, refused)
    elif _is_own_name(host) and not near:
        raise _refusal(host, port, f"{host} is a name of this machine or network", refused)
    return url


def is_allowed(host: str, port: int, allowed: Collection[str]) -> bool:
    """Whether a setting of this worker allows ``host:port``."""
    return _authority(host, port) in {entry.lower() for entry in allowed}


class CheckedResolver(AbstractResolver):
    """Resolves names and refuses a name with any address that is not allowed."""

    def __init__(
        self,
        allowed: Collection[str],
        lookup: Lookup | None = None,
        refused: type[RefusedReceiver] = RefusedReceiver,
    ) -> None:
        self._allowed = allowed
        self._refused = refused
        self._lookup = lookup or _look_up

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses to connect to. Raises RefusedReceiver, or OSError for an unknown name."""
        near = is_allowed(host, port, self._allowed)
        addresses = [ip_address(text) for text in await self._lookup(host, port)]
        if not addresses:
            raise OSError(f"{host} has no address")
        for address in addresses:
            _judge(host, port, address, near, self._refused)
        return [
            ResolveResult(
                hostname=host,
                host=str(address),
                port=port,
                family=socket.AF_INET if address.version == 4 else socket.AF_INET6,
                proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for address in addresses
        ]

    async def close(self) -> None:
        """Does nothing: nothing stays open."""


def open_session(
    allowed: Collection[str],
    seconds: float,
    headers: Mapping[str, str],
    lookup: Lookup | None = None,
    refused: type[RefusedReceiver] = RefusedReceiver,
) -> ClientSession:
    """A session without cookies and proxies that connects to checked addresses alone.

    A connection to another one fails with an error in which ``refusal_in`` finds ``refused``.
    """
    connector = TCPConnector(
        resolver=CheckedResolver(allowed, lookup, refused),
        use_dns_cache=False,  # every connection uses addresses that were checked for it
        force_close=True,
    )
    return ClientSession(
        connector=connector,
        cookie_jar=DummyCookieJar(),
        timeout=ClientTimeout(total=seconds),
        trust_env=False,  # a proxy could connect to any address
        auto_decompress=False,
        headers={"User-Agent": f"mem-search/{__version__}", **headers},
    )


def refusal_in(error: BaseException | None) -> RefusedReceiver | None:
    """The refusal inside an error: aiohttp wraps what the resolver raises."""
    while error is not None and not isinstance(error, RefusedReceiver):
        error = error.__cause__ or error.__context__
    return error


async def _look_up(host: str, port: int) -> list[str]:
    loop = asyncio.get_running_loop()
    rows = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    # An IPv6 row may name a zone (fe80::1%eth0): such an address is refused by its digits.
    return list(dict.fromkeys(str(row[4][0]).partition("%")[0] for row in rows))


def _judge(
    host: str, port: int, address: Address, near: bool, refused: type[RefusedReceiver]
) -> None:
    if is_public(address) or (near and is_near(address)):
        return
    what = f"{host} is" if host == str(address) else f"{host} resolves to {address},"
    reason = f"{what} not an address on the internet"
    if is_near(address):
        raise _refusal(host, port, reason, refused)
    raise refused(f"{reason}, and cannot be allowed")


def _refusal(host: str, port: int, reason: str, refused: type[RefusedReceiver]) -> RefusedReceiver:
    return refused(
        f"{reason}; {refused.thing} on this machine or a private network has to be allowed:"
        f" set {refused.setting}={_authority(host, port)}"
    )


def _is_own_name(host: str) -> bool:
    name = host.rstrip(".").lower()
    return "." not in name or name.endswith(tuple(f".{end}" for end in _OWN_NAMES))


def _authority(host: str, port: int) -> str:
    return f"[{host}]:{port}".lower() if ":" in host else f"{host}:{port}".lower()
