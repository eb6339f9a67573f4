"""Connections of the worker: who may hold one, and for how long.

A socket costs its sender nothing and the worker a file descriptor, so there is a cap in all and for
each address. At the cap, the connection that has been idle the longest makes room for a new one: a
client that sends its request at once is answered, whatever thousand silent sockets do. While every
connection has a request in progress, a new one gets 503 with ``Retry-After``. A head that does not
arrive, a body that stops, a reply that nobody reads and an idle connection each have a time limit.

aiohttp by itself has neither caps nor these limits, and ``asyncio`` accepts until no descriptor is
left. So the sockets are accepted here, and aiohttp's protocol runs behind ``Connection``.
"""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import socket
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler
from aiohttp.web_protocol import RequestHandler

from mem_search.http.core.problems import protocol_of, whole_reply
from mem_search.settings import Settings

log = logging.getLogger(__name__)

RESERVE: Final = 128
"""File descriptors that are left for the store, the index and the processes."""

MIN_CONNECTIONS: Final = 16
_AT_ONCE: Final = 16
"""Sockets accepted before the loop does something else."""

_SILENT: Final = 1.0
"""Seconds without progress after which a request may be closed to make room."""

_LINGERING: Final = 16
"""Refused sockets that are kept for a moment so that their sender can read the reply."""

_PAUSE: Final = 0.1
_LOG_SECONDS: Final = 60.0

_UNIX: Final = "unix"
"""The address of every client of the Unix socket: they have none."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Connections in all and of one address; seconds for a head, and without any progress."""

    most: int
    most_of_address: int
    head: float
    idle: float

    @classmethod
    def of(cls, settings: Settings) -> Limits:
        """Those of the settings, within what the system allows this process."""
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        room = settings.connections
        if files != resource.RLIM_INFINITY:
            # One for the socket and one for the file that it may be uploading.
            room = max(MIN_CONNECTIONS, min(room, (files - RESERVE) // 2))
        of_address = min(room, settings.connections_per_address)
        return cls(room, of_address, settings.header_timeout, settings.idle_timeout)


class Connection(asyncio.Protocol):
    """One socket: passes everything on to aiohttp's protocol and notes when something happened."""

    def __init__(self, handler: RequestHandler, address: str, lost: Callable[[], None]) -> None:
        self._handler = handler
        self._lost = lost
        self._clock = asyncio.get_running_loop().time
        self.address = address
        self.transport: asyncio.Transport | None = None
        self._request: web.Request | None = None
        self._stream: asyncio.Task[object] | None = None
        """What sends a reply without an end."""
        self._answered = self._ended = False
        self._reading = False
        """Whether a part of a request's head has come."""
        self._since = self._heard = self._clock()
        self._stalled: float | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._handler.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        self._heard = self._clock()
        if self._request is None and not self._reading:
            self._reading, self._since = True, self._heard
        self._handler.data_received(data)

    def eof_received(self) -> bool:
        """The other side sends no more. It may still read: ``nc -N`` and some clients of HTTP end
        their half with the request. So all that was asked is answered, and then it is closed. A
        stream without an end is not for them, and the rest of a head or a body cannot come.
        """
        self._handler.eof_received()
        self._ended = True
        waiting = self._handler._waiter  # noqa: SLF001  aiohttp tells it in no other way
        if waiting is not None and not waiting.done():
            if self._reading:
                self.close(408, "the request ended within its head")
            return False
        self._go_on_without_more()
        return self._stream is None

    def pause_writing(self) -> None:
        self._stalled = self._clock()
        self._handler.pause_writing()

    def resume_writing(self) -> None:
        self._stalled = None
        self._handler.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._handler.connection_lost(exc)
        if self._stream is not None:  # it may have nothing to send for long, and so not notice
            self._stream.cancel()
        self._lost()

    def begin(self, request: web.Request) -> None:
        """The head of the request is complete."""
        self._request = request
        if self._ended:
            self._go_on_without_more()

    def stream(self) -> None:
        """The reply, which this task sends, has no end of its own."""
        self._stream = asyncio.current_task()
        if self._ended and self.transport is not None:
            self.transport.close()

    def end(self) -> None:
        """The request has its reply, which is now sent."""
        if self._ended and self._request is not None:
            self._request.content.feed_eof()  # only now: before, it would be an empty body
        self._request, self._stream, self._reading, self._answered = None, None, False, True
        self._since = self._clock()

    def expires(self, limits: Limits) -> float:
        """When it has waited for the other side for too long; infinite while it is our turn."""
        if self._stalled is not None:
            return self._stalled + limits.idle
        if self._request is None:
            fresh = self._reading or not self._answered
            return self._since + (limits.head if fresh else limits.idle)
        if self._waits_for_body(self._request):
            return self._heard + limits.idle
        return float("inf")

    def idle_since(self, now: float) -> float | None:
        """Since when it could be closed to make room; None while it must stay."""
        if self._request is None and self._stalled is None:
            return self._since
        quiet = self._heard if self._stalled is None else self._stalled
        waits = self._stalled is not None or (
            self._request is not None and self._waits_for_body(self._request)
        )
        # A request that makes progress comes after every connection without one.
        return quiet + 1e6 if waits and now - quiet >= _SILENT else None

    def _go_on_without_more(self) -> None:
        """Close after the last request that has come; a body that is not whole is an error."""
        if not self._handler._messages:  # noqa: SLF001  those that wait for their turn
            self._handler.close()
        if self._request is not None and not self._request.content.is_eof():
            self._request.content.set_exception(web.RequestPayloadError("the body ended early"))

    def _waits_for_body(self, request: web.Request) -> bool:
        # While reading is paused, we are the slow side.
        reading = self.transport is not None and self.transport.is_reading()
        return reading and not request.content.is_eof()

    def close(self, status: int, detail: str) -> None:
        """Close it; a sender that waits for its first reply, or sent a part, is told why."""
        if self.transport is None:
            return
        waits = self._request is None and self._stalled is None
        if waits and (self._reading or not self._answered):
            self.transport.write(whole_reply(status, detail))
            self.transport.close()
        else:
            self.transport.abort()


def connection_of(request: web.Request) -> Connection | None:
    """The connection by which it came; None where something else than ``Connections`` accepts."""
    protocol = request.transport.get_protocol() if request.transport is not None else None
    return protocol if isinstance(protocol, Connection) else None


@web.middleware
async def in_progress(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Tell the connection that a request has begun, and when it has its reply."""
    connection = connection_of(request)
    if connection is None:
        return await handler(request)
    connection.begin(request)
    try:
        return await handler(request)
    except ConnectionError:
        if request.transport is not None:
            raise
        # It has gone, and nobody reads this. aiohttp would log a traceback for each such request.
        return web.Response(status=400)
    finally:
        connection.end()


class _Refused(asyncio.Protocol):
    """Sends the refusal and reads what comes: closing a socket with unread data loses the reply."""

    def __init__(self, left: Callable[[], None]) -> None:
        self._left = left

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(FULL)
        transport.write_eof()
        asyncio.get_running_loop().call_later(1.0, transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self._left()


class Connections:
    """Accepts sockets from ``listeners`` for aiohttp's ``server``, from ``start`` to ``close``.

    They may be of TCP or of Unix, whose clients count as one address.
    """

    def __init__(
        self, listeners: Sequence[socket.socket], server: web.Server, limits: Limits
    ) -> None:
        self._listeners = listeners
        self._server = server
        self.limits = limits
        self._loop = asyncio.get_running_loop()
        self._open: set[Connection] = set()
        self._of_address: Counter[str] = Counter()
        self._tasks: set[asyncio.Task[object]] = set()
        self._refused = 0
        self._spare: int | None = os.open(os.devnull, os.O_RDONLY)
        self._sweeping: asyncio.TimerHandle | None = None
        self._counted: Counter[str] = Counter()
        self._logged = -_LOG_SECONDS

    def start(self) -> None:
        """Accept sockets from now on."""
        for each in self._listeners:
            self._loop.add_reader(each.fileno(), self._accept, each)
        self._sweep()

    def close(self) -> None:
        """Accept nothing more; open connections stay, for ``web.Server`` to close."""
        for each in self._listeners:
            self._loop.remove_reader(each.fileno())
        if self._sweeping is not None:
            self._sweeping.cancel()
        if self._spare is not None:
            os.close(self._spare)
        for each in self._listeners:
            each.close()

    def _accept(self, listener: socket.socket) -> None:
        for _ in range(_AT_ONCE):
            try:
                accepted, address = listener.accept()
            except (BlockingIOError, InterruptedError):
                return
            except ConnectionAbortedError:
                continue
            except OSError as error:  # mostly EMFILE: something else took the descriptors
                self._pause(listener, error)
                return
            self._admit(accepted, address[0] if isinstance(address, tuple) else _UNIX)

    def _admit(self, accepted: socket.socket, address: str) -> None:
        accepted.setblocking(False)
        full = (
            self._of_address[address] >= self.limits.most_of_address
            and not self._make_room(address)
        ) or (len(self._open) >= self.limits.most and not self._make_room())
        if full:
            self._refuse(accepted)
            return
        protocol = protocol_of(self._server)
        connection = Connection(protocol, address, lambda: self._forget(connection))
        self._open.add(connection)
        self._of_address[address] += 1
        self._serve(accepted, connection, lambda: self._forget(connection))

    def _serve(
        self, accepted: socket.socket, protocol: asyncio.Protocol, failed: Callable[[], None]
    ) -> None:
        async def connect() -> None:
            try:
                await self._loop.connect_accepted_socket(lambda: protocol, accepted)
            except OSError:  # it has gone already
                accepted.close()
                failed()

        task: asyncio.Task[object] = self._loop.create_task(connect())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _forget(self, connection: Connection) -> None:
        if connection in self._open:
            self._open.discard(connection)
            self._of_address[connection.address] -= 1
            if not self._of_address[connection.address]:
                del self._of_address[connection.address]

    def _make_room(self, address: str | None = None) -> bool:
        """Close the connection that has been idle the longest; False when none is idle."""
        now = self._loop.time()
        idle = [
            (since, connection)
            for connection in self._open
            if connection.transport is not None
            and (address is None or connection.address == address)
            and (since := connection.idle_since(now)) is not None
        ]
        if not idle:
            return False
        _, longest = min(idle, key=lambda each: each[0])
        self._note("closed to make room")
        self._forget(longest)  # its descriptor is free in the next turn of the loop
        longest.close(503, "the worker closed this connection to make room for others")
        return True

    def _refuse(self, accepted: socket.socket) -> None:
        self._note("refused")
        if self._refused >= _LINGERING:
            with suppress(OSError):
                accepted.send(FULL)
            accepted.close()
            return
        self._refused += 1
        self._serve(accepted, _Refused(self._refusal_left), self._refusal_left)

    def _refusal_left(self) -> None:
        self._refused -= 1

    def _pause(self, listener: socket.socket, error: OSError) -> None:
        """Close idle connections, answer one caller with the spare descriptor, then wait.

        The listener stays readable, so without a pause the loop would do nothing else.
        """
        self._note(f"met with {error.strerror!r}")
        for _ in range(_AT_ONCE):
            self._make_room()
        if self._spare is not None:
            os.close(self._spare)
            self._spare = None
        with suppress(OSError):
            accepted, _ = listener.accept()
            with accepted:
                accepted.setblocking(False)
                accepted.send(FULL)
        with suppress(OSError):  # the next time it is tried again
            self._spare = os.open(os.devnull, os.O_RDONLY)
        self._loop.remove_reader(listener.fileno())
        self._loop.call_later(_PAUSE, self._resume, listener)

    def _resume(self, listener: socket.socket) -> None:
        if listener.fileno() >= 0:
            self._loop.add_reader(listener.fileno(), self._accept, listener)

    def _sweep(self) -> None:
        """Once a second: close what has waited for too long, and say what happened."""
        now = self._loop.time()
        for connection in [each for each in self._open if each.expires(self.limits) <= now]:
            self._forget(connection)
            connection.close(408, "the request did not arrive in time")
        if self._counted and now - self._logged >= _LOG_SECONDS:
            counts = ", ".join(f"{count} {what}" for what, count in self._counted.items())
            log.warning("connections: %s; %d are open", counts, len(self._open))
            self._counted.clear()
            self._logged = now
        self._sweeping = self._loop.call_later(1.0, self._sweep)

    def _note(self, what: str) -> None:
        self._counted[what] += 1


FULL: Final = whole_reply(503, "the worker has as many connections as it may have; try again")
