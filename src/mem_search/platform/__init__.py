"""What differs between operating systems, and what the worker takes of the machine.

No other package asks which system this is (``tests/test_import_rules.py``). Linux alone has the
files of ``/proc``, death signals, namespaces and files in memory. Where that is missing, another
way stands beside it here, or the answer is that it is not known.

Work that no search waits for gets a lower priority. A search passes from thread to thread several
times. Where imports keep all processors busy, it waits for a processor at each step, unless the
system prefers its threads. ADR 0008 has figures.
"""

from __future__ import annotations

import os
import sys

# Every search from the command line imports this, so it imports no typing.

SYSTEM = os.environ.get("MEM_SEARCH_SYSTEM") or sys.platform
"""``linux``, ``darwin``, or ``plain`` in tests: a system that has what POSIX says and no more."""

IS_LINUX = SYSTEM == "linux"
IS_MACOS = SYSTEM == "darwin"

MAX_SOCKET_PATH = 107 if IS_LINUX else 103
"""Bytes: the longest path by which a program connects; the system ends it with a zero (unix(7))."""

_NICER = 5
"""Added to the niceness: a third of the processor time, where others want the same processor.

More would let a program that keeps all processors busy stop an import in the middle of a
transaction, or of a batch that another thread waits for.
"""

_NICEST = 19

_F_GETPATH = 50
_MAX_PATH_BYTES = 1024
"""Of fcntl(2) on macOS."""


def lower_process() -> None:
    """Lower the priority of this process and of the threads it will start."""
    os.nice(_NICER)


def lower_thread() -> None:
    """Lower the priority of this thread on Linux; elsewhere a priority is of a whole process.

    There is no way back: only a privileged process may raise a priority.
    """
    import threading  # a search from the command line has one thread

    if IS_LINUX:
        thread = threading.get_native_id()
        now = os.getpriority(os.PRIO_PROCESS, thread)
        os.setpriority(os.PRIO_PROCESS, thread, min(now + _NICER, _NICEST))


def scale_timeout(seconds: float, *, most: float) -> float:
    """What takes ``seconds`` on a free machine takes at most this many on this one, now.

    Where n processes wait for each processor, everything takes n times as long. The load average
    of the last minute says how many wait; it counts those that wait for a disk, too. A limit that
    forgets this gives up work that goes on. ``most`` bounds the answer, in seconds.
    """
    waiting = os.getloadavg()[0] / (os.cpu_count() or 1)
    return min(seconds * max(1.0, waiting), most)


def path_of_handle(handle: int) -> str:
    """A path by which this process and its children open the very file; empty where there is none.

    Only Linux has such paths.
    """
    if not IS_LINUX:
        return ""
    place = f"/proc/{os.getpid()}/fd/{handle}"
    return place if os.path.lexists(place) else ""


def real_path(handle: int, path: str | os.PathLike[str]) -> str:
    """Where the open file lies, without links; where ``path`` leads, if the system cannot say."""
    if place := path_of_handle(handle):
        return os.path.realpath(place)
    if IS_MACOS:
        import fcntl

        raw_path: bytes = fcntl.fcntl(handle, _F_GETPATH, bytes(_MAX_PATH_BYTES))
        return os.fsdecode(raw_path.partition(b"\0")[0])
    return os.path.realpath(path)


def expanded(path: str | os.PathLike[str]) -> str:
    """``path`` with the home for its ``~``; ``~x`` stays where there is no such user, of which
    ``Path.expanduser`` raises a RuntimeError.
    """
    return os.path.expanduser(path)  # noqa: PTH111


def spelled(path: str | os.PathLike[str]) -> str:
    """``path`` without links and as its folders spell it: one place has one spelling.

    A file system of macOS finds ``~/documents`` and another form of an accent, too, and
    ``realpath`` keeps what was asked. What cannot be opened keeps it as well.
    """
    place = os.path.realpath(path)
    if not IS_MACOS:
        return place
    try:
        handle = os.open(place, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:  # it is gone, or may not be read
        return place
    try:
        return real_path(handle, place)
    finally:
        os.close(handle)
