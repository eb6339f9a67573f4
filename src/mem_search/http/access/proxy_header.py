"""The user whom a reverse proxy has authenticated, named by a header of its requests.

Off unless the setting ``proxy_header`` names the header. It counts only on connections of the
addresses in ``proxy_addresses``: whatever another address says of itself, also in
``X-Forwarded-For``, is refused. A header that is not plain is refused, too, and never read in the
caller's favour: a proxy that adds its own beside the client's, joins both, or passes an empty one
on, is set up wrongly.
"""

from __future__ import annotations

import ipaddress

from aiohttp import web

from mem_search.access.callers import Caller, check_user
from mem_search.errors import InputError, Unauthorized
from mem_search.settings import Settings
from mem_search.text import secret_rules
from mem_search.text.secret_rules import MIN_RUN_CHARS

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


async def caller_by_proxy(request: web.Request, settings: Settings) -> Caller | None:
    """The user whom the proxy names; None where the header is not there. Ask where it is on.

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
