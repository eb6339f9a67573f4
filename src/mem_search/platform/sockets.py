"""Whose a socket of this machine is, as far as the system says.

Only a positive answer counts: an end that is not found, that no process holds any more, or that
the system does not tell about is nobody's. Linux tells of every socket, macOS and the BSDs of those
with a path in the file system.

The kernel is asked for one socket by both of its addresses and ports (sock_diag(7)), which takes
20 µs; the tables of proc_net(5), which take milliseconds, are for systems without that.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from mem_search.platform import IS_LINUX

Ends = tuple[bytes, int, bytes, int]
"""Address (``packed``) and port of a socket, then those of the socket that it is connected to."""

OF_IPV4: Final = bytes(10) + b"\xff\xff"
"""How IPv6 begins to write an address of IPv4 (RFC 4291 2.5.5.2)."""

HELD_STATES: Final = frozenset({1, 4, 5, 8})
"""States of a connected socket that a process holds: established, half closed, or closed by us."""

_WHOLE_MAP: Final = 2**32 - 1
"""Users that the first user namespace of a machine has."""

_PROC: Final = Path("/proc")
_ASK, _ANSWER, _SOCK_DIAG, _REQUEST = 20, 20, 4, 1
"""Of linux/netlink.h and linux/sock_diag.h: both messages are SOCK_DIAG_BY_FAMILY."""

_HEADER: Final = struct.Struct("=IHHII")
_ENDS: Final = struct.Struct("!HH16s16s")
_QUESTION: Final = struct.Struct("=BBBBI")
_NO_COOKIE: Final = struct.pack("=III", 0, 2**32 - 1, 2**32 - 1)
_OWNER: Final = struct.Struct("=II")
_ENDS_AT: Final = _HEADER.size + 4
_OWNER_AT: Final = _HEADER.size + 64
"""Where a reply (inet_diag_msg) has the ends, and the user with the inode."""


@dataclass(frozen=True, slots=True)
class TcpSocket:
    """A TCP socket of this machine. Without an inode no process holds it, and ``user`` is 0."""

    ends: Ends
    state: int
    user: int
    inode: int


_SOL_LOCAL, _LOCAL_PEERCRED = 0, 1
_XUCRED: Final = struct.Struct("=II")
"""Of macOS and the BSDs, sys/un.h and sys/ucred.h: version and user begin the reply."""


def tells_owners() -> bool:
    """Whether this system tells whose program has opened a TCP connection."""
    return IS_LINUX


def owner_of_unix(connected: socket.socket) -> int | None:
    """The user of the process at the other end of a Unix socket; None where nobody says."""
    try:
        if IS_LINUX:
            peer = socket.SO_PEERCRED  # type: ignore[attr-defined,unused-ignore]
            credentials = connected.getsockopt(socket.SOL_SOCKET, peer, struct.calcsize("iII"))
            return int(struct.unpack("iII", credentials)[1])
        credentials = connected.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, 76)
        version, user = _XUCRED.unpack_from(credentials)
    except (OSError, struct.error):
        return None
    return int(user) if version == 0 else None


def packed(text: str) -> bytes:
    """The 16 bytes of an address, without its interface; IPv4 as IPv6 writes it."""
    if ":" in text:
        return socket.inet_pton(socket.AF_INET6, text.partition("%")[0])
    return OF_IPV4 + socket.inet_pton(socket.AF_INET, text)


def owner_of_socket(ends: Ends) -> int | None:
    """The user of the process that holds the TCP socket with these ends; None without one."""
    tcp_socket = find_socket(ends)
    # A placeholder (TIME_WAIT, a socket whose process is gone) has neither inode nor user: it
    # would be root's.
    if tcp_socket is None or not tcp_socket.inode or tcp_socket.state not in HELD_STATES:
        return None
    return tcp_socket.user


def find_socket(ends: Ends) -> TcpSocket | None:
    try:
        tcp_socket = _asked(ends)
        # The other end is there as well: a kernel that finds neither has no sock_diag for TCP.
        answers = tcp_socket is not None or _asked((*ends[2:], *ends[:2])) is not None
    except OSError:  # it has none at all, or may not be asked
        answers = False
    if not answers:
        tcp_socket = next((each for each in _tables() if each.ends == ends), None)
    return tcp_socket if tcp_socket is not None and tcp_socket.ends == ends else None


def _asked(ends: Ends) -> TcpSocket | None:
    """What the kernel says of one socket. Raises OSError where it cannot be asked."""
    if not hasattr(socket, "AF_NETLINK"):
        raise OSError("no netlink")
    own, port, other, to_port = ends
    family = socket.AF_INET6
    if own.startswith(OF_IPV4):
        family, own, other = socket.AF_INET, own[12:], other[12:]
    body = _QUESTION.pack(family, socket.IPPROTO_TCP, 0, 0, 2**32 - 1)
    body += _ENDS.pack(port, to_port, own, other) + _NO_COOKIE
    header = _HEADER.pack(_HEADER.size + len(body), _ASK, _REQUEST, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as kernel:
        kernel.settimeout(1)  # it answers within the send
        kernel.sendall(header + body)
        reply = kernel.recv(4096)
    return _told(reply) if _HEADER.unpack_from(reply)[1] == _ANSWER else None


def _told(reply: bytes) -> TcpSocket:
    family, state = reply[_HEADER.size : _HEADER.size + 2]
    port, to_port, own, other = _ENDS.unpack_from(reply, _ENDS_AT)
    if family == socket.AF_INET:
        own, other = OF_IPV4 + own[:4], OF_IPV4 + other[:4]
    user, inode = _OWNER.unpack_from(reply, _OWNER_AT)
    return TcpSocket((own, port, other, to_port), state, user, inode)


def _tables() -> Iterator[TcpSocket]:
    """All TCP sockets of this machine. One of IPv6 may be connected to an address of IPv4."""
    for table in ("tcp", "tcp6"):
        try:
            rows = (_PROC / "net" / table).read_bytes().splitlines()[1:]
        except OSError:
            continue  # no IPv6, or not this system: whoever is not found is unknown
        for row in rows:
            _, own, other, state, _, _, _, user, _, inode = row.split(None, 10)[:10]
            yield TcpSocket((*_end(own), *_end(other)), int(state, 16), int(user), int(inode))


def _end(column: bytes) -> tuple[bytes, int]:
    """``0100007F:1F90``: words of 32 bits in the byte order of the machine, then the port."""
    words, _, port = column.partition(b":")
    numbers = [int(words[at : at + 8], 16) for at in range(0, len(words), 8)]
    address = struct.pack(f"={len(numbers)}I", *numbers)
    return address if len(address) == 16 else OF_IPV4 + address, int(port, 16)


@cache
def stranger() -> int | None:
    """The number that stands for every user whom the user namespace of this process does not have;
    None where it has all.
    """
    try:
        rows = (_PROC / "self" / "uid_map").read_text("ascii").splitlines()
        if sum(int(row.split()[2]) for row in rows) >= _WHOLE_MAP:
            return None
        return int((_PROC / "sys" / "kernel" / "overflowuid").read_text("ascii"))
    except (OSError, ValueError, LookupError):
        return 65534  # its value unless somebody changed it
