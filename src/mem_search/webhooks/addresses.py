"""Which addresses a message may go to: what the whole internet can reach, and nothing nearer.

A URL that somebody else chose must not make the worker talk to its own machine or network
(server-side request forgery, CWE-918). IPv6 can carry an IPv4 address inside in several ways,
and Python calls some of them global; each is unwrapped and judged by what it stands for.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

Address = IPv4Address | IPv6Address

_NUMBER = re.compile(r"[0-9]+|0[xX][0-9a-fA-F]*")
_NAT64 = IPv6Network("64:ff9b::/96")  # RFC 6052; the last four bytes are the IPv4 address
_GLOBAL_UNICAST = IPv6Network("2000::/3")  # RFC 4291 2.5.4: all that is given out so far
_UNIQUE_LOCAL = IPv6Network("fc00::/7")


def is_public(address: Address) -> bool:
    """Whether anybody anywhere could be asked at ``address``, whatever is wrapped in it."""
    if isinstance(address, IPv6Address):
        inside = _inside(address)
        # What Python says of these wrappers themselves differs between its versions.
        wrapped = address.ipv4_mapped or address.sixtofour
        wrapper = wrapped is not None or address in _NAT64
        itself = wrapper or (address in _GLOBAL_UNICAST and address.is_global)
        return itself and all(map(is_public, inside))
    return address.is_global and not (address.is_multicast or address.is_reserved)


def is_near(address: Address) -> bool:
    """Whether ``address`` is this machine or a private network: fine when its person said so.

    Never link-local, where clouds keep the secrets of a machine, nor multicast or unspecified.
    """
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return is_near(address.ipv4_mapped)
        return address.is_loopback or address in _UNIQUE_LOCAL
    return address.is_loopback or (
        address.is_private
        and not (address.is_link_local or address.is_unspecified or address.is_reserved)
    )


def literal(host: str) -> Address | None:
    """The address that ``host`` is written as; None for a name.

    Raises ValueError for what is written as an address, but in a way that programs read
    differently: ``127.1``, ``0177.0.0.1``, ``0x7f.1``, ``fe80::1%eth0``. What ends in a number
    is no name (WHATWG URL 3.5).
    """
    if ":" not in host and not _NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2]):
        return None
    if "%" in host:
        raise ValueError("an address with a zone")
    return ip_address(host)


def _inside(address: IPv6Address) -> tuple[IPv4Address, ...]:
    """The IPv4 addresses that packets to ``address`` may end up at."""
    return (
        *((address.ipv4_mapped,) if address.ipv4_mapped is not None else ()),
        *((address.sixtofour,) if address.sixtofour is not None else ()),
        *(address.teredo or ()),
        *((IPv4Address(int(address) & 0xFFFFFFFF),) if address in _NAT64 else ()),
    )
