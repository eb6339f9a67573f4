"""The listener of the viewer: an origin that nobody can have held before this worker.

Another user of the machine can take the worker's port while no worker runs, and leave a service
worker or a cached script for ``http://127.0.0.1:PORT`` in the owner's browser. So the viewer has an
address of its own, drawn anew with each start: 127.a.b.c, and a port that the system picks (ADR
0059).
"""

from __future__ import annotations

import secrets
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_TRIES: Final = 4
"""Addresses that are tried: the first one is free unless the system has none of 127.0.0.0/8."""


@contextmanager
def viewer_socket() -> Iterator[socket.socket | str]:
    """Listen at the viewer's address until the block ends.

    Yields why there is none where the system does not tell whose a connection is, so that nobody
    could be logged in, or has no such address.
    """
    if sys.platform != "linux":
        yield "this system does not tell whose program opens a connection"
        return
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setblocking(False)
        yield _bound(listener) or listener


def origin_of(listener: socket.socket) -> str:
    """The origin of the pages that are served there."""
    host, port = listener.getsockname()
    return f"http://{host}:{port}"


def _bound(listener: socket.socket) -> str:
    """Bind and listen; why that cannot be, or an empty text."""
    refusal = ""
    for _ in range(_TRIES):
        address = ".".join(str(1 + secrets.randbelow(254)) for _ in range(3))
        try:
            # Without SO_REUSEADDR: a port where anybody listens at all addresses is not taken.
            listener.bind((f"127.{address}", 0))
            listener.listen(128)
        except OSError as error:
            refusal = f"the system gives it no address in 127.0.0.0/8 ({error.strerror})"
            continue
        return ""
    return refusal
