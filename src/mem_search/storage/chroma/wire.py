"""Ways to a Chroma: HTTP over sockets to the worker's own one.

Its connections are kept alive. A ``Dial`` opens one: directly (``dial``), or through the door of a
child that lives in a network namespace of its own (``Door``, see ``child``). The bytes then flow
between worker and Chroma without a process in between. ``remote`` has the way to other servers.
"""

from __future__ import annotations

import socket
import threading
from collections import deque
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from itertools import count
from typing import Final, Protocol

Dial = Callable[[float], socket.socket]
"""Opens a connection within so many seconds; raises OSError."""

_ANSWER: Final = 1024
_GREETING: Final = b"isolated"


def dial(host: str, port: int) -> Dial:
    """Connections to an address of this machine."""

    def connect(timeout: float) -> socket.socket:
        return socket.create_connection((host, port), timeout)

    return connect


class Door:
    """The worker's end of a socket pair through which a child passes connected sockets.

    ``inner`` is the child's end; ``launch`` closes it once the child has it. Blocking and
    thread-safe.
    """

    def __init__(self) -> None:
        self._outer, self.inner = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._numbers = count()
        self._asking = threading.Lock()

    def refused(self, timeout: float) -> str:
        """Why the child has no network of its own; empty if it has. Raises OSError."""
        self._outer.settimeout(timeout)
        said = self._outer.recv(_ANSWER)
        if not said:
            raise ConnectionError("the child ended before it said where it runs")
        return "" if said == _GREETING else said.decode(errors="replace")

    def connect(self, timeout: float) -> socket.socket:
        """A ``Dial``."""
        request = b"%d:" % next(self._numbers)
        with self._asking:
            self._outer.settimeout(timeout)
            self._outer.send(request)
            while True:
                answer, handles, _, _ = socket.recv_fds(self._outer, _ANSWER, 1)
                sockets = [socket.socket(fileno=handle) for handle in handles]
                if answer.startswith(request):
                    break
                for late in sockets:  # of a request that was given up
                    late.close()
                if not answer:
                    raise ConnectionError("the child has ended")
        if not sockets:
            raise ConnectionError(answer.removeprefix(request).decode(errors="replace"))
        return sockets[0]

    def close(self) -> None:
        """Close both ends, which ends the process at the other side."""
        self._outer.close()
        self.inner.close()


class Wire(Protocol):
    """The way to one server. Blocking and thread-safe."""

    def request(self, method: str, path: str, content: bytes = b"") -> tuple[int, bytes]:
        """Status and body of the reply. Raises OSError (TimeoutError for silence)."""
        ...

    def close(self) -> None: ...


class SocketWire:
    """HTTP requests over connections that stay open; ``timeout`` seconds of silence end one.

    Thread-safe: as many connections as requests at once.
    """

    def __init__(self, connect: Dial, timeout: float) -> None:
        self._connect = connect
        self._timeout = timeout
        self._idle: deque[socket.socket] = deque()
        self._closed = False

    def request(self, method: str, path: str, content: bytes = b"") -> tuple[int, bytes]:
        """See ``Wire``. A request on a connection that the server has closed meanwhile is sent
        again, so it must be one that may arrive twice.
        """
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: chroma\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(content)}\r\n\r\n"
        )
        message = head.encode("ascii") + content
        while True:
            connection, kept = self._connection()
            try:
                connection.sendall(message)
                reply = HTTPResponse(connection, method=method)
                reply.begin()
                body = reply.read()
            except TimeoutError:
                connection.close()
                raise
            except (OSError, HTTPException) as error:
                connection.close()
                if kept:
                    continue
                raise ConnectionError(str(error) or type(error).__name__) from error
            if reply.will_close or self._closed:
                connection.close()
            else:
                self._idle.append(connection)
            return reply.status, body

    def close(self) -> None:
        """Close what is idle now, and everything else after its reply."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()

    def _connection(self) -> tuple[socket.socket, bool]:
        if self._closed:
            raise ConnectionError("the connection was closed")
        try:
            return self._idle.pop(), True
        except IndexError:
            connection = self._connect(self._timeout)
        connection.settimeout(self._timeout)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection, False
