"""Searches read from a replica of the server, as far as it is recent enough.

A search may be answered by the replica when that has replayed all that this worker has written, and
is no further behind than a limit; else the primary answers. Both are checked with each read, on the
connection that reads: several replicas may be behind one address. A search that has read the
primary once stays there, so within one search the store never goes back in time. A replica that
fails is left alone until a monitor finds it well, so that no later search waits for it.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import psycopg
from psycopg_pool import ConnectionPool, PoolTimeout

from mem_search.errors import StoreAway
from mem_search.model.statistics import ReplicaState
from mem_search.storage.postgres.connection import Connection, first_line, place_of
from mem_search.storage.postgres.replica_monitor import (
    LOOK_SECONDS,
    NETWORK,
    REPLAYED,
    SILENT,
    WRITTEN,
    ReplicaMonitor,
)
from mem_search.storage.store import View

T = TypeVar("T")

_READERS: Final = 4
_SECONDS: Final = 1.0
"""For a connection. The primary is there, so a search waits no longer, and only once."""


@dataclass(slots=True)
class _Reading(View):
    """A search, as far as it has got. ``newer``: the primary has answered a part of it."""

    replica: Replica | None = None
    replayed: int = 0
    newer: bool = False

    def note(self, replayed: int, behind: float, alone: bool) -> None:
        self.replayed = max(self.replayed, replayed)
        self.stale_s = max(self.stale_s or 0.0, behind)
        self.alone |= alone


_reading: ContextVar[_Reading | None] = ContextVar("search", default=None)


@dataclass(frozen=True, slots=True)
class _Answer(Generic[T]):
    value: T


class _Replaying(Connection):
    """A connection that knows how far its server was before the current transaction began."""

    replayed = -1
    """-1 where the server is no replica."""


class Replica:
    """The replica of the store of one owner. ``act`` makes a connection act as a search does.

    ``limit``: seconds that it may be behind.
    """

    def __init__(
        self, address: str, limit: float, primary: str, act: Callable[[Connection], None]
    ) -> None:
        self.place = place_of(address, "MEM_SEARCH_STORE_REPLICA")
        self._address, self._primary, self._limit = address, primary, limit
        self._monitor: ReplicaMonitor | None = None
        self._needed = -1
        self._unplaced: float | None = None
        self._primary_failed = False
        self._noting = threading.Lock()
        self._threads = ThreadPoolExecutor(_READERS, thread_name_prefix="postgres-replica")
        self._pool: ConnectionPool[_Replaying] = ConnectionPool(
            address,
            min_size=0,  # users whose store is open and who do not search need none
            max_size=_READERS,
            open=False,
            timeout=_SECONDS,
            reconnect_timeout=_SECONDS,
            check=_check,
            connection_class=_Replaying,
            configure=act,
            kwargs={"autocommit": True, **NETWORK},
            name="mem-search-replica",
        )

    def open(self, connection: Connection) -> None:
        """Begin to look at it; ``connection`` is of the primary, whose schema is up to date."""
        self.wrote(connection)
        self._pool.open()
        self._monitor = ReplicaMonitor.of(self._primary, self._address)

    def close(self) -> None:
        """Wait for what reads, unless the replica hangs. A second call does nothing."""
        monitor, self._monitor = self._monitor, None
        self._threads.shutdown(wait=monitor is None or not monitor.trouble)
        self._pool.close()
        if monitor is not None:
            monitor.release()

    def wrote(self, connection: Connection) -> None:
        """Note that ``connection`` has committed what a search may read; a replica needs that."""
        try:
            place = connection.count(WRITTEN)
        except psycopg.Error:  # the server has gone since; a later look says where it was
            with self._noting:
                self._unplaced = time.monotonic()
            return
        with self._noting:
            self._needed = max(self._needed, place)

    @property
    def state(self) -> ReplicaState:
        """Whether a search that begins now would be read from it, and why not."""
        monitor = self._monitor
        if monitor is None or monitor.trouble:
            why = "nobody looks at it" if monitor is None else monitor.trouble
            return ReplicaState(self.place, "away", None, why)
        behind = monitor.behind(monitor.replayed)
        lag = None if math.isinf(behind) else round(behind, 1)
        if monitor.primary_away and lag is not None:
            return ReplicaState(self.place, "alone", lag, "the primary does not answer")
        if behind > self._limit:
            why = f"it is further behind than MEM_SEARCH_STORE_REPLICA_LAG ({self._limit:g} s)"
            return ReplicaState(self.place, "behind", lag, why)
        if monitor.replayed < self._required(monitor):
            why = "it has not got yet what this worker has written"
            return ReplicaState(self.place, "behind", lag, why)
        return ReplicaState(self.place, "used", lag, "")

    @contextmanager
    def view(self) -> Iterator[View]:
        """What is read inside is one search, which this replica may answer; views can nest."""
        known = _reading.get()
        if known is not None and known.replica is self:
            yield known
            return
        with _set(_Reading(replica=self)) as reading:
            yield reading

    def answers(self) -> bool:
        """Whether the replica has answered what the current search has read so far."""
        reading = self._current()
        return reading is not None and reading.stale_s is not None and not reading.newer

    async def read(
        self, query: Callable[[Connection], T], primary: Callable[[], Awaitable[T]]
    ) -> T:
        """The value of ``query`` for the current search, else that of ``primary()``.

        Raises what ``primary`` raises.
        """
        reading = self._current()
        if reading is None:
            return await primary()
        if (answer := await self._tried(reading, query)) is not None:
            return answer.value
        try:
            value = await primary()
        except StoreAway:
            self._primary_failed = True
            if (answer := await self._tried(reading, query)) is None:
                raise
            return answer.value
        reading.newer = True
        return value

    def _current(self) -> _Reading | None:
        reading = _reading.get()
        return reading if reading is not None and reading.replica is self else None

    async def _tried(
        self, reading: _Reading, query: Callable[[Connection], T]
    ) -> _Answer[T] | None:
        monitor = self._monitor
        if reading.newer or monitor is None or monitor.trouble:
            return None
        running = asyncio.get_running_loop().run_in_executor(
            self._threads, self._answered, monitor, reading, query
        )
        # Nobody may wait for it any more.
        running.add_done_callback(lambda late: late.cancelled() or late.exception())
        while not running.done():
            await asyncio.wait([running], timeout=LOOK_SECONDS)
            if not monitor.is_readable:  # it may hang, and its thread with it
                return None
        answer = running.result()
        if answer is None:
            return None
        reading.note(*answer[1:])
        return _Answer(answer[0])

    def _answered(
        self, monitor: ReplicaMonitor, reading: _Reading, query: Callable[[Connection], T]
    ) -> tuple[T, int, float, bool] | None:
        """The value, how far the replica was and how old, and whether that lacks too much."""
        try:
            with self._pool.connection() as connection:
                replayed = connection.replayed
                if replayed < reading.replayed:  # promoted, or another one behind the same address
                    return None
                behind = monitor.behind(replayed)
                lacks = behind > self._limit or replayed < self._required(monitor)
                monitor.replayed = max(monitor.replayed, replayed)
                self._primary_failed &= monitor.primary_away
                if math.isinf(behind) or (lacks and not self._primary_failed):
                    return None
                with connection.begun():
                    return query(connection), replayed, behind, lacks
        except PoolTimeout:
            monitor.failed(SILENT)
            return None
        except (psycopg.errors.TransactionRollback, psycopg.errors.QueryCanceled):
            return None  # the replica has dropped it for what it has to replay
        except psycopg.OperationalError as error:
            monitor.failed(first_line(error))
            return None
        except psycopg.Error:
            return None  # the primary says what is wrong

    def _required(self, monitor: ReplicaMonitor) -> float:
        """How far a replica has to be to have all that this worker has written."""
        with self._noting:
            if self._unplaced is not None:
                place = monitor.place_after(self._unplaced)
                if place is None:
                    return math.inf
                self._needed, self._unplaced = max(self._needed, place), None
            return self._needed


@contextmanager
def current() -> Iterator[View]:
    """What is read inside comes from the primary, also within a view."""
    with _set(None):
        yield View()


@contextmanager
def _set(reading: _Reading | None) -> Iterator[_Reading]:
    token = _reading.set(reading)
    try:
        yield reading  # type: ignore[misc]
    finally:
        _reading.reset(token)


def _check(connection: _Replaying) -> None:
    """Before each use, and before the transaction: what it sees then is at least so new."""
    is_replica, replayed = connection.one(REPLAYED)
    connection.replayed = int(replayed) if is_replica else -1
