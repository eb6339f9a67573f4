"""Several workers of one store: which of them live, what is theirs, and what wakes them.

A worker says every few seconds that it lives. What it claims (a job, passages of the outbox, a
message) is its own until its lease has expired; then any other worker takes it. Times are those of
the server, so that clocks of machines do not matter. PostgreSQL tells at once when somebody adds
work (``listen``); where it cannot, behind a pooler of transactions, workers look as often as they
say that they live.
"""

from __future__ import annotations

import hashlib
import logging
import math
import threading
import time
from collections.abc import Callable
from typing import Final
from uuid import uuid4

import psycopg

from mem_search.errors import StorageError
from mem_search.storage.postgres.connection import Connection

log = logging.getLogger(__name__)

LEASE: Final = 20.0
"""Seconds that a claim outlives the last word of its worker. A machine may be that slow."""

_WORDS_A_LEASE: Final = 4
_FORGOTTEN: Final = "1 day"


class Worker:
    """A worker of a store. ``home`` is the same after a restart; the worker before it is dead."""

    def __init__(self, owner: str, home: str, lease: float = LEASE) -> None:
        self.id = uuid4().hex
        self.home = home
        self._lease = lease
        self._channel = (
            f"mem_search_{hashlib.md5(owner.encode(), usedforsecurity=False).hexdigest()}"
        )
        self._stopped = threading.Event()

    def begin(self, connection: Connection) -> None:
        """Say that it lives, and that no other worker of its home does."""
        if self.home:
            connection.execute("delete from workers where home = %s and id != %s",
                               (self.home, self.id))  # fmt: skip
        connection.execute("delete from workers where until < now() - %s::interval", (_FORGOTTEN,))
        self.live(connection)

    def live(self, connection: Connection) -> None:
        """Say that it lives."""
        connection.execute(
            "insert into workers(id, home, until)"
            " values(%s, %s, clock_timestamp() + make_interval(secs => %s))"
            " on conflict(owner, id) do update set until = excluded.until",
            (self.id, self.home, self._lease),
        )

    def end(self, connection: Connection) -> None:
        """What it claimed is free."""
        connection.execute("delete from workers where id = %s", (self.id,))

    def stop(self) -> None:
        """``watch`` returns soon."""
        self._stopped.set()

    def watch(self, connect: Callable[[], Connection], woken: Callable[[], None]) -> None:
        """Say regularly that it lives, and call ``woken`` when there may be work, until stopped.

        It blocks, on a connection of its own: the others may be busy for longer than a lease.
        """
        pause = self._lease / _WORDS_A_LEASE
        told = ""
        while not self._stopped.is_set():
            try:
                with connect() as connection:
                    connection.execute(f"listen {self._channel}")
                    told = ""
                    self._follow(connection, pause, woken)
            except (psycopg.Error, StorageError) as error:
                if (said := str(error).split("\n")[0]) != told:
                    log.warning("other workers cannot be heard now: %s", said)
                told = said
                self._stopped.wait(pause)
                woken()

    def _follow(self, connection: Connection, pause: float, woken: Callable[[], None]) -> None:
        said = -math.inf
        while not self._stopped.is_set():
            now = time.monotonic()
            if now - said >= pause:
                with connection.begun():
                    self.live(connection)
                said = now
                woken()  # in case that no notice came
            # Short waits, so that a worker that stops does not wait for this thread.
            if list(connection.notifies(timeout=min(pause, 0.5), stop_after=1)):
                woken()
