"""Granted requests. One worker has the file, so it decides in memory and notes behind the request:
no request waits for a writer. A worker that is killed forgets at most what a writer had not taken
yet.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, defaultdict
from collections.abc import Sequence
from typing import Final

from mem_search.errors import StorageError
from mem_search.model.access import HOUR, Allowance, Policy
from mem_search.storage.rules.rate_windows import Window
from mem_search.storage.sql.connection import Repository, reads, writes
from mem_search.storage.sqlite.database import Connection, Database
from mem_search.text.dates import now_ms

log = logging.getLogger(__name__)

MAX_WINDOWS: Final = 10_000
"""Windows in memory; the least recently used one is dropped first."""

Row = tuple[str, str, int, int]
"""budget, policy, milliseconds since 1970, how many."""


class SqliteLimits(Repository):
    """``LimitStore`` over the table ``granted_requests``."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._windows: OrderedDict[tuple[str, str], Window] | None = None
        self._loading = asyncio.Lock()
        self._noted: list[Row] = []
        self._writing: asyncio.Task[None] | None = None

    async def take(
        self, budget: str, policy: Policy, count: int = 1, *, now: int | None = None
    ) -> Allowance:
        now = now_ms() if now is None else now
        async with self._loading:
            if self._windows is None:
                self._windows = await self._loaded()
        window = self._windows.setdefault((budget, policy.name), Window())
        self._windows.move_to_end((budget, policy.name))
        if len(self._windows) > MAX_WINDOWS:
            self._windows.popitem(last=False)
        allowance = window.take(policy, now, count)
        if allowance.granted:
            self._noted.append((budget, policy.name, now, count))
            if self._writing is None or self._writing.done():
                self._writing = asyncio.create_task(self._write(), name="granted requests")
        return allowance

    @writes
    def expire(self, connection: Connection, before: int) -> None:
        connection.execute("delete from granted_requests where at < ?", (before,))

    async def settle(self) -> None:
        """Wait until everything is noted, or cannot be."""
        if self._writing is not None:
            await asyncio.wait([self._writing])

    async def _loaded(self) -> OrderedDict[tuple[str, str], Window]:
        taken: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for budget, policy, at, count in await self._rows():
            taken[budget, policy] += [at] * count
        return OrderedDict((key, Window(times)) for key, times in taken.items())

    @reads
    def _rows(self, connection: Connection) -> list[Row]:
        return connection.execute(
            "select budget, policy, at, count from granted_requests order by at"
        ).fetchall()

    async def _write(self) -> None:
        while self._noted:
            rows, self._noted = self._noted, []
            try:
                await self._note(rows)
            except StorageError as error:
                self._noted = rows + self._noted  # with the next request
                log.warning("granted requests are not stored yet: %s", error)
                return

    @writes
    def _note(self, connection: Connection, rows: Sequence[Row]) -> None:
        connection.executemany("insert into granted_requests values(?, ?, ?, ?)", rows)
        # One that nobody asks for any more has at most its quota of rows until the next start.
        latest = max(at for *_, at, _ in rows)
        connection.executemany(
            "delete from granted_requests where budget = ? and policy = ? and at <= ?",
            [(*key, latest - 1000 * HOUR) for key in {row[:2] for row in rows}],
        )
