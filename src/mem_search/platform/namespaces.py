"""A network of its own for this process, which Linux can give (network_namespaces(7))."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
from pathlib import Path

from mem_search.platform import IS_LINUX

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 0x1
_IFREQ = "16sh14x"


def has_namespaces() -> bool:
    """Whether this system has them at all; ``isolation_refused`` says whether this process may."""
    return IS_LINUX


def isolation_refused() -> str:
    """Why this process cannot have a network of its own; empty when it can.

    A process that failed halfway could not return, so another one tries first. Some systems
    allow the namespace and then refuse everything in it.
    """
    reader, writer = os.pipe()
    if os.fork() == 0:
        refusal = ""
        try:
            isolate()
        except Exception as error:  # noqa: BLE001  whatever it is, it is the answer
            refusal = str(error) or type(error).__name__
        os.write(writer, refusal.encode()[:500])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        refusal = answer.read().decode()
    os.wait()
    return refusal


def isolate() -> None:
    """Move into a new network namespace with a working loopback. Raises OSError."""
    user, group = os.geteuid(), os.getegid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) == 0:
        # Files keep their owner: each id stands for itself (user_namespaces(7)).
        for name, ids in (
            ("setgroups", "deny"),
            ("uid_map", f"{user} {user} 1"),
            ("gid_map", f"{group} {group} 1"),
        ):
            Path(f"/proc/self/{name}").write_text(ids, "ascii")
    elif libc.unshare(_CLONE_NEWNET) != 0:  # root may do this where user namespaces are off
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    with socket.socket() as any_socket:
        asked = struct.pack(_IFREQ, b"lo", 0)
        _, flags = struct.unpack(_IFREQ, fcntl.ioctl(any_socket, _SIOCGIFFLAGS, asked))
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack(_IFREQ, b"lo", flags | _IFF_UP))
