"""How far a read replica is behind its primary, and whether it can be read at all.

A monitor asks both servers once a second, in a thread of its own. It notes at which place of its
write-ahead log the primary was, and when, by this machine's clock. A replica that has replayed up
to such a place has all that was there then. So an idle primary makes no replica old, a replica that
receives nothing grows old as soon as something is written, and no clocks of machines are compared.
Stores of one process share a monitor: what it sees belongs to the servers.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, ClassVar, Final

import psycopg

from mem_search.errors import StorageError
from mem_search.storage.postgres.connection import Connection, first_line, place_of
from mem_search.storage.postgres.migrations import missing

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 1.0
"""Between two looks."""

SILENT_SECONDS: Final = 5.0
"""For an answer to a look. A server that takes longer hangs, though it may hold its connections."""

SILENT: Final = "it does not answer"

LEFT_ALONE: Final = 3.0
"""Seconds without a search for a replica that failed in one, also when looks find it well."""

KEPT_SECONDS: Final = 3600.0
"""Of places of the primary: a replica that is further behind is never read."""

NETWORK: Final[Mapping[str, Any]] = {
    "connect_timeout": 5, "keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}  # fmt: skip
"""A server that no packet reaches is noticed in some ten seconds."""

WRITTEN: Final = "select (pg_current_wal_insert_lsn() - '0/0')::bigint"
"""Where the primary is. What was inserted is past every commit before it, flushed or not."""

REPLAYED: Final = (
    "select pg_is_in_recovery(), coalesce((pg_last_wal_replay_lsn() - '0/0')::bigint, -1)"
)

_DATABASE: Final = "(select oid::bigint from pg_database where datname = current_database())"
_IDENTITY: Final = f"select (select system_identifier from pg_control_system()), {_DATABASE}"
_FALLBACK_IDENTITY: Final = f"select 0::bigint, {_DATABASE}"
"""Where the cluster's own identity may not be read."""


class ReplicaMonitor:
    """The state of one replica. ``ReplicaMonitor.of`` returns it, ``release`` ends its use."""

    _shared: ClassVar[dict[tuple[str, str], ReplicaMonitor]] = {}
    _sharing: ClassVar = threading.Lock()

    def __init__(self, primary: str, replica: str) -> None:
        self._key = primary, replica
        self._users = 0
        self._primary, self._replica = _Server(primary), _Server(replica)
        self._stopped = threading.Event()
        self._noting = threading.Lock()
        self._times: list[float] = []
        self._places: list[int] = []
        self._alone_until = 0.0
        self.replayed = -1
        self._trouble = "nobody has looked yet"
        self._primary_failed = False
        self._thread = threading.Thread(target=self._run, name="postgres-monitor", daemon=True)

    @classmethod
    def of(cls, primary: str, replica: str) -> ReplicaMonitor:
        """The monitor of these servers, which are asked from now on."""
        with cls._sharing:
            monitor = cls._shared.get((primary, replica))
            if monitor is None:
                monitor = cls._shared[primary, replica] = cls(primary, replica)
                monitor._thread.start()
            monitor._users += 1
            return monitor

    def release(self) -> None:
        """Stop, unless another store uses it. It waits for a look, unless a server hangs."""
        with self._sharing:
            self._users -= 1
            if self._users:
                return
            del self._shared[self._key]
        self._stopped.set()
        self._thread.join(SILENT_SECONDS)

    @property
    def trouble(self) -> str:
        """Why the replica is not read; empty when it can be."""
        return self._trouble or (SILENT if self._replica.is_silent else "")

    @property
    def is_readable(self) -> bool:
        return not self.trouble

    @property
    def primary_away(self) -> bool:
        """Whether the last look at the primary failed."""
        return self._primary_failed or self._primary.is_silent

    def behind(self, replayed: int) -> float:
        """For how many seconds what is written may be lacking in a replica that has ``replayed``
        so much; infinite where it is not known.
        """
        with self._noting:
            place = bisect_right(self._places, replayed) - 1
            return time.monotonic() - self._times[place] if place >= 0 else math.inf

    def place_after(self, moment: float) -> int | None:
        """A place of the primary that was read after ``moment``, by ``time.monotonic``."""
        with self._noting:
            return self._places[-1] if self._times and self._times[-1] > moment else None

    def failed(self, why: str) -> None:
        """Note that a search could not read the replica: the next ones leave it alone."""
        self._alone_until = time.monotonic() + LEFT_ALONE
        self._noted(why)

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._look_at_primary()
            self._noted(self._look_at_replica())
            self._stopped.wait(LOOK_SECONDS)
        self._primary.close()
        self._replica.close()

    def _look_at_primary(self) -> None:
        began = time.monotonic()
        try:
            place = int(self._primary.ask(lambda c: c.one(WRITTEN))[0])
        except (psycopg.Error, StorageError):
            self._primary_failed = True
            return
        self._note(began, place)
        self._primary_failed = False

    def _note(self, began: float, place: int) -> None:
        with self._noting:
            if self._places and place < self._places[-1]:  # another server has taken over
                self._times.clear()
                self._places.clear()
            if self._places and place == self._places[-1]:
                self._times[-1] = began  # nothing was written since
            else:
                self._times.append(began)
                self._places.append(place)
            while len(self._times) > 1 and began - self._times[0] > KEPT_SECONDS:
                del self._times[0], self._places[0]

    def _look_at_replica(self) -> str:
        """What is wrong with it; empty for nothing."""
        try:
            is_replica, replayed = self._replica.ask(lambda c: c.one(REPLAYED))
        except (psycopg.Error, StorageError) as error:
            return first_line(error)
        self.replayed = int(replayed)
        if not is_replica:
            return "it is not a replica: it takes writes of its own, as one that was promoted does"
        if replayed < 0:
            return "it does not say how far it has got"
        if self._primary.identity is None:
            return "the primary has not been reached yet"
        if self._replica.identity != self._primary.identity:
            return "it is a replica of another server or database"
        if not self._replica.is_current:
            return "its schema is older than this mem-search; it has not got that far yet"
        return ""

    def _noted(self, trouble: str) -> None:
        if not trouble and time.monotonic() < self._alone_until:
            return
        if trouble != self._trouble:
            if trouble:
                log.warning("searches are read from the primary, not the replica: %s", trouble)
            else:
                log.info("the replica can be read")
        self._trouble = trouble


class _Server:
    """One connection to a server, opened again after a failure; who it is, is asked each time."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._connection: Connection | None = None
        self._asked_at = math.inf
        self.identity: tuple[Any, ...] | None = None
        self.is_current = False

    @property
    def is_silent(self) -> bool:
        return time.monotonic() - self._asked_at > SILENT_SECONDS

    def ask(self, query: Callable[[Connection], tuple[Any, ...]]) -> tuple[Any, ...]:
        """The row that ``query`` finds. Raises what psycopg raises, or StorageError."""
        self._asked_at = time.monotonic()
        try:
            connection = self._connection
            if connection is None:
                connection = self._connection = Connection.connect(
                    self._address, autocommit=True, prepare_threshold=None, **NETWORK
                )
                self.identity = _identity(connection)
                self.is_current = False
            # A schema that is older is looked at again: it may be on its way.
            if not self.is_current:
                self.is_current = missing(connection, place_of(self._address)) == []
            return query(connection)
        except BaseException:
            self.close()
            raise
        finally:
            self._asked_at = math.inf

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(psycopg.Error):
                connection.close()


def _identity(connection: Connection) -> tuple[Any, ...]:
    try:
        return connection.one(_IDENTITY)
    except psycopg.errors.InsufficientPrivilege:
        return connection.one(_FALLBACK_IDENTITY)
