"""Connections to the worker: proved before anything is sent, and never waited on for ever.

Every search of the command line runs this, so it uses bare sockets: the standard HTTP client takes
as long to import as the interpreter takes to start.
"""

import _socket
import os
import time

from mem_search.access.proof import CHALLENGE, PROOF, proof
from mem_search.machine import scale_timeout

NO_ANSWER_SECONDS = 3.5
"""A worker answers ``/health`` at once, also while it works; one that takes this long hangs, unless
others keep the processors busy (``patience``).
"""

_MAX_PATIENCE_SECONDS = 60.0

LOOK_SECONDS = 1.0
"""An answer that takes longer lets the caller look whether the worker is alive."""

_MAX_HEAD_BYTES = 1 << 16

Place = tuple[str, int, str]
"""Host, port and key of a worker."""


class NoAnswer(Exception):
    """The worker accepts connections and does not answer: it is stopped, or it hangs."""


class Unproved(Exception):
    """What listens there is not, or not provably, the worker of this home."""


def patience() -> float:
    """Seconds after which a worker that does not answer hangs."""
    return scale_timeout(NO_ANSWER_SECONDS, most=_MAX_PATIENCE_SECONDS)


def connect(place: Place, seconds: float = 0) -> _socket.socket:
    """A connection to the worker, kept alive after its proof, which may take ``seconds`` (0: the
    patience of a command).

    Raises NoAnswer, Unproved, or OSError where nothing listens.
    """
    host, port, key = place
    family = _socket.AF_INET6 if ":" in host else _socket.AF_INET
    connection = _socket.socket(family, _socket.SOCK_STREAM)
    try:
        _check(connection, host, port, key, seconds or patience())
    except TimeoutError:
        connection.close()
        raise NoAnswer from None
    except BaseException:
        connection.close()
        raise
    connection.settimeout(None)
    return connection


def _check(connection: _socket.socket, host: str, port: int, key: str, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    connection.settimeout(seconds)
    connection.connect((host, port))
    challenge = os.urandom(16).hex()
    connection.sendall(
        f"HEAD /health HTTP/1.1\r\nHost: {named(host)}:{port}\r\n"
        f"{CHALLENGE}: {challenge}\r\n\r\n".encode()
    )
    head = b""
    while b"\r\n\r\n" not in head:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        connection.settimeout(left)
        piece = connection.recv(4096)
        head += piece
        if not head:  # a worker that ends closes what it accepted, and nothing listens then
            raise ConnectionResetError
        if not piece or len(head) > _MAX_HEAD_BYTES:
            raise Unproved
    expected = f"\r\n{PROOF}: {proof(key, challenge, port)}\r\n".lower().encode()
    if not key or expected not in head.lower():
        raise Unproved


def named(host: str) -> str:
    """``host`` as URLs write it."""
    return f"[{host}]" if ":" in host else host


def alive(place: Place, seconds: float = 0) -> bool:
    """Whether the worker answers in time, as ``connect`` does. False also when it has ended."""
    try:
        connect(place, seconds).close()
    except (OSError, NoAnswer, Unproved):
        return False
    return True
