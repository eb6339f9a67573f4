"""The process that prepares drafts: ``preparing`` starts it with ``python -m``.

It reads drafts from its standard input and writes a reply for each to its standard output, as
pickles after their length. What it costs is limited by the kernel: a draft that needs more
processor time ends the process with SIGXCPU, one that needs more memory raises MemoryError.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import pickle
import resource
import signal
import struct
import sys
from typing import Any, BinaryIO, Final

_PR_SET_PDEATHSIG = 1
_NICER: Final = 5
"""Searches have priority over imports."""

HEAD: Final = struct.Struct(">Q")
"""The length of what follows, in bytes."""


def main() -> None:
    """Prepare drafts until the input ends."""
    options = argparse.ArgumentParser(prog="mem-search-prepare")
    for name in ("parent", "seconds", "megabytes"):
        options.add_argument(f"--{name}", required=True, type=int)
    given = options.parse_args()
    _end_with(given.parent)
    os.nice(_NICER)
    incoming, outgoing = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a plug-in prints must not come between the replies
    _limit(resource.RLIMIT_CORE, 0)

    # A plug-in is where the worker found it, however the worker was started.
    sys.path[:] = _read(incoming)
    from mem_search.ingest.prepare import outcome

    _limit(resource.RLIMIT_DATA, given.megabytes * 2**20)
    _write(outgoing, None)
    while True:
        used = resource.getrusage(resource.RUSAGE_SELF)
        _limit(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime) + 1 + given.seconds)
        try:
            reply = outcome(_read(incoming))
        except EOFError:
            return
        except MemoryError:
            reply = f"it needs more than {given.megabytes} MB of memory (prepare_memory)"
        try:
            _write(outgoing, reply)
        except (pickle.PicklingError, TypeError, AttributeError, RecursionError) as error:
            _write(outgoing, f"what its kind made of it cannot be kept: {error}")


def _read(incoming: BinaryIO) -> Any:
    head = incoming.read(HEAD.size)
    if len(head) < HEAD.size:
        raise EOFError
    return pickle.loads(incoming.read(HEAD.unpack(head)[0]))  # noqa: S301  from the worker


def _write(outgoing: BinaryIO, reply: object) -> None:
    outgoing.write(framed(reply))
    outgoing.flush()


def framed(value: object) -> bytes:
    """``value`` as a pickle after its length."""
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    return HEAD.pack(len(data)) + data


def _limit(what: int, most: int) -> None:
    """Lower the limit; the hard one stays, because the limit of processor time moves on."""
    _, hard = resource.getrlimit(what)
    resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _end_with(parent: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # The worker may have ended before the request above: then no signal would come.
    if os.getppid() != parent:
        sys.exit("the worker that started this process has ended")


if __name__ == "__main__":
    main()
