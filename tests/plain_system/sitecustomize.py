"""Takes from every Python process of the tier ``elsewhere`` what macOS does not have.

``site`` imports a module of this name when an interpreter starts, so the worker, its children and
the hooks are without it, and libraries take the ways that they have for a Mac: ``poll`` for
``epoll``, threads that wait for children. ``/proc`` is there for psutil alone, which asks another
system otherwise, and for what the tests themselves look at.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import select
import signal
import socket
import struct
import sys
import sysconfig
from typing import Any

_ABSENT = {
    os: (
        "sched_getaffinity", "sched_setaffinity", "memfd_create", "pidfd_open", "eventfd", "pipe2",
        "posix_fadvise", "posix_fallocate", "fdatasync", "copy_file_range", "splice", "getxattr",
        "setxattr", "listxattr", "removexattr", "getresuid", "getresgid", "setresuid", "setresgid",
        "unshare", "setns", "timerfd_create", "O_PATH", "O_TMPFILE", "O_DIRECT", "O_NOATIME",
    ),
    select: ("epoll",),
    signal: ("sigwaitinfo", "sigtimedwait", "pidfd_send_signal"),
    socket: (
        "AF_NETLINK", "SO_PEERCRED", "SOCK_CLOEXEC", "SOCK_NONBLOCK", "MSG_NOSIGNAL",
    ),
    fcntl: ("F_SETPIPE_SZ", "F_GETPIPE_SZ", "F_ADD_SEALS"),
}  # fmt: skip
_NOT_IN_LIBC = frozenset({"prctl", "malloc_trim", "mallopt", "unshare", "setns", "memfd_create"})
_EPROTONOSUPPORT = 43  # of macOS
_STDLIB = sysconfig.get_path("stdlib")
_MAY_LOOK = (f"{os.sep}psutil{os.sep}", __file__.rsplit(os.sep, 2)[0] + os.sep)

_LOCAL_PEERCRED, _PEERCRED = (0, 1), 17

_pair = socket.socketpair
_option = socket.socket.getsockopt
_function = ctypes.CDLL.__getattr__


def _socketpair(family: int | None = None, kind: int = socket.SOCK_STREAM, *more: int) -> Any:
    if kind == socket.SOCK_SEQPACKET:
        raise OSError(_EPROTONOSUPPORT, "Protocol not supported")
    return _pair(family, kind, *more)


def _getsockopt(asked: socket.socket, level: int, option: int, size: int = 0) -> int | bytes:
    """As macOS, which has LOCAL_PEERCRED for SO_PEERCRED: version and user of an xucred."""
    if (asked.family, level, option) != (socket.AF_UNIX, *_LOCAL_PEERCRED):
        return _option(asked, level, option, size) if size else _option(asked, level, option)
    _, user, _ = struct.unpack("iII", _option(asked, socket.SOL_SOCKET, _PEERCRED, 12))
    return struct.pack("=II", 0, user).ljust(size, b"\0")


def _function_of(library: ctypes.CDLL, name: str) -> Any:
    if library._name is None and name in _NOT_IN_LIBC:
        raise AttributeError(name)
    return _function(library, name)


def _hide(event: str, arguments: tuple[Any, ...]) -> None:
    """``/proc`` is not found by whoever is no library for it and no test."""
    if event not in ("open", "os.listdir", "os.scandir") or not arguments:
        return
    place = arguments[0]
    if not isinstance(place, str) or not (place == "/proc" or place.startswith("/proc/")):
        return
    frame: Any = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith((_STDLIB + os.sep, "<frozen")) or "site-packages" in file:
            break
        frame = frame.f_back
    if frame is None or not any(part in frame.f_code.co_filename for part in _MAY_LOOK):
        raise FileNotFoundError(2, "No such file or directory", place)


for _module, _names in _ABSENT.items():
    for _name in _names:
        if hasattr(_module, _name):
            delattr(_module, _name)
        if _name in getattr(_module, "__all__", ()):
            _module.__all__.remove(_name)
if hasattr(os, "process_cpu_count"):
    os.process_cpu_count = os.cpu_count  # it would ask for the affinity
socket.socketpair = _socketpair
socket.socket.getsockopt = _getsockopt  # type: ignore[method-assign]
ctypes.CDLL.__getattr__ = _function_of  # type: ignore[method-assign]
sys.addaudithook(_hide)
