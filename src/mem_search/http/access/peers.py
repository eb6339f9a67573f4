"""Which user of this machine has the other end of a connection.

Only a positive answer counts: whoever the system does not tell about (``platform.sockets``) is
never the owner.
"""

from __future__ import annotations

import asyncio
import os
import socket
from typing import Final
from weakref import WeakKeyDictionary

from mem_search.platform.sockets import (
    OF_IPV4,
    Ends,
    find_socket,
    owner_of_socket,
    owner_of_unix,
    packed,
    stranger,
)

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
