"""The whole store over one SQLite file: ``storage.store.Store``."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from copy import copy
from pathlib import Path
from typing import Any, ClassVar, Final

from mem_search.errors import StorageError
from mem_search.model import Kind
from mem_search.model.access import HOUR, Allowance, Policy
from mem_search.model.statistics import StoreSize
from mem_search.storage.rules.bm25 import CorpusCache
from mem_search.storage.rules.checksums import with_checksum
from mem_search.storage.sql.access import Limits, Logins, Window
from mem_search.storage.sql.connection import reads, writes
from mem_search.storage.sql.jobs import StoredJobs
from mem_search.storage.sql.moving import Identity, Row, Table, Tables
from mem_search.storage.sql.records import Records
from mem_search.storage.sql.redacting import StoredRedacting
from mem_search.storage.sql.statistics import WAITING, Statistics, corpus
from mem_search.storage.sqlite import copies, odd_rows, vectors
from mem_search.storage.sqlite.connection import SqliteConnection
from mem_search.storage.sqlite.damage import BYTES, NAMES
from mem_search.storage.sqlite.database import Connection, Database
from mem_search.storage.sqlite.filters import FILTERS
from mem_search.storage.sqlite.postings import Postings
from mem_search.storage.sqlite.records import (
    TOKENS,
    RecordWriter,
    SqliteForgetting,
    SqliteIngest,
    SqliteTombstones,
)
from mem_search.storage.sqlite.snapshot import SqliteGraph, SqliteSearchStore
from mem_search.storage.sqlite.vectors import SqliteIndexing, VectorRows
from mem_search.storage.store import Store
from mem_search.text.dates import now_ms

log = logging.getLogger(__name__)

LOOK_MS: Final = 600_000
"""Between two looks for texts that are not UTF-8, after one was met: each reads the whole file."""

_MAX_TOGETHER_MS: Final = 1000
"""A clock that was set back by more is believed."""

_MIN_WRITES: Final = 2000
"""Writes of records after which a rest stores columns: 1.5 MB, more where old records changed."""


class SqliteRecords(Records):
    """``sql.records.Records``: changes of scopes count in a table of their own."""

    @reads
    def revision(self, connection: SqliteConnection) -> int:
        return connection.count("select value from revision")


class SqliteJobs(StoredJobs):
    """They run in the order in which they came, also those of a millisecond."""

    order = "created_at, id"

    added = (
        "insert into jobs(id, name, params, state, created_at) select %(job)s, %(name)s,"
        " %(params)s, 'queued', coalesce(max(created_at) + 1, %(now)s) from jobs"
        f" where created_at between %(now)s and %(now)s + {_MAX_TOGETHER_MS}"
    )


class SqliteRedacting(StoredRedacting):
    """What the rules were is noted in ``meta``."""

    writer = RecordWriter
    noted_rules = "select value from meta where key = 'redacted_by'"
    keep_rules = "insert or replace into meta(key, value) values('redacted_by', %s)"


class SqliteStatistics(Statistics):
    """``sql.statistics.Statistics``."""

    complete = f"id not in ({WAITING})"
    id_of_store = "select value from meta where key = 'store_id'"

    @reads
    def size(self, connection: SqliteConnection) -> StoreSize:
        # Not that of the file: what is still in the log of writes counts, too.
        stored, free = connection.one(
            "select page_count * page_size, freelist_count * page_size"
            " from pragma_page_count, pragma_freelist_count, pragma_page_size"
        )
        return StoreSize(stored, free)


class SqliteStore(Store):
    """An open file. ``SqliteStore.open`` makes it; always ``close`` it."""

    database: Database
    limits: SqliteLimits
    writer = RecordWriter

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._searches: list[SqliteSearchStore] = []
        self._not_utf8: list[str] = []
        self._looked_at = 0
        self.records = SqliteRecords(database, FILTERS.where)
        self.ingest = SqliteIngest(database)
        self.postings = Postings(database)
        self.forgetting = SqliteForgetting(database, self.postings)
        self.redacting = SqliteRedacting(database)
        self.indexing = SqliteIndexing(database)
        self.statistics = SqliteStatistics(database)
        self.jobs = SqliteJobs(database)
        self.graph = SqliteGraph(database)
        self.limits = SqliteLimits(database)
        self.logins = Logins(database)

    @classmethod
    async def open(cls, path: Path) -> SqliteStore:
        """Create or open the file and migrate it. Raises StorageError."""
        store = cls(await Database.open(path))
        with suppress(StorageError):  # a full disk; the next start puts them right
            await store.put_right()
        return store

    async def put_right(self) -> int:
        if not await self.database.read(odd_rows.any_odd):
            return 0
        changed = await self.database.write(odd_rows.put_right)
        log.warning("%d value(s) of stored rows were no such values, and were put right", changed)
        return changed

    async def odd_rows(self) -> list[str]:
        rows = await self.database.read(odd_rows.listed)
        told = [f"a row of {each['table']}: {each['reason']}; it is set aside" for each in rows]
        if self.database.undecodable and now_ms() - self._looked_at > LOOK_MS:
            self._looked_at = now_ms()
            self._not_utf8 = await self.database.aside(odd_rows.not_utf8)
        return told + self._not_utf8

    @property
    def unwritable(self) -> str:
        return self.database.unwritable

    async def mend(self, *, deep: bool = False) -> list[str]:
        return [NAMES[part] for part in await self.database.mend(deep=deep)]

    @property
    def location(self) -> str:
        return str(self.database.path)

    def open_search(
        self, folder: Path, model: int, dimensions: int, chats: Collection[Kind]
    ) -> SqliteSearchStore:
        vectors = VectorRows(folder, model, dimensions)
        if self._searches:
            opened = copy(self._searches[-1])
            opened.vectors = vectors
        else:
            opened = SqliteSearchStore(
                self.database, CorpusCache(self.database, corpus), vectors, chats, self.postings
            )
        self._searches.append(opened)
        self.database.on_mended.append(opened.reset_caches)
        return opened

    async def watch(self, woken: Callable[[], None]) -> None:
        """Nobody else may open the file (``daemon.state``), but what was dropped is made again."""
        self.database.on_mended.append(woken)

    async def rest(self) -> None:
        await self._store_columns(_MIN_WRITES)
        await self.postings.keep_up()
        await asyncio.to_thread(self.database.unmap)
        self.postings.release_pages()
        for search in self._searches:
            search.vectors.release_pages()

    async def copy(self, target: Path, *, vectors: bool) -> int:
        return await self.database.aside(lambda c: copies.copy(c, target, vectors=vectors))

    async def close(self) -> None:
        await self.limits.settle()
        await self.postings.close()
        try:
            await self._store_columns()
        finally:
            await self.database.close()
        for search in self._searches:  # reading threads use them until the database is closed
            search.close()

    async def _store_columns(self, least: int = 0) -> None:
        for search in self._searches[:1]:  # all have the same
            await search.store_columns(least)


log = logging.getLogger(__name__)

MAX_WINDOWS: Final = 10_000
"""Windows in memory; the least recently used one is dropped first."""

_Granted = tuple[str, str, int, int]
"""budget, policy, milliseconds since 1970, how many."""


class SqliteLimits(Limits):
    """One worker has the file, so it decides in memory and notes behind the request.

    No request waits for a writer. A worker that is killed forgets at most what a writer had not
    taken yet.
    """

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._windows: OrderedDict[tuple[str, str], Window] | None = None
        self._loading = asyncio.Lock()
        self._noted: list[_Granted] = []
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
    def _rows(self, connection: Connection) -> list[_Granted]:
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
    def _note(self, connection: Connection, rows: Sequence[_Granted]) -> None:
        connection.executemany("insert into granted_requests values(?, ?, ?, ?)", rows)
        # One that nobody asks for any more has at most its quota of rows until the next start.
        latest = max(at for *_, at, _ in rows)
        connection.executemany(
            "delete from granted_requests where budget = ? and policy = ? and at <= ?",
            [(*key, latest - 1000 * HOUR) for key in {row[:2] for row in rows}],
        )


class SqliteTables(Tables):
    """The tables of an open file. What it derives by triggers is derived as rows are put."""

    sources: ClassVar = {**Tables.sources, "tombstones": SqliteTombstones.rows}

    async def adopt(self, identity: Identity) -> None:
        # Tombstones refer to it: the key of the new file, by which there are none yet.
        own = "update tombstone_keys set key = ? where id = 1"
        await self._database.write(lambda c: c.execute(own, (identity.tombstone_key,)).rowcount)

    def _read(
        self,
        connection: Any,
        table: Table,
        columns: Sequence[str],
        chosen: str,
        values: Sequence[Any],
    ) -> list[Row]:
        rows = super()._read(connection, table, columns, chosen, values)
        if table.name != "vectors":
            return rows
        models = connection.execute("select id, dimensions from embedding_models")
        sizes = {model: BYTES * dimensions for model, dimensions in models}
        return [
            (model, entry, vectors.content(entry, stored, sizes[model]))
            for model, entry, stored in rows
        ]

    def _insert(self, connection: SqliteConnection, table: Table, rows: Sequence[Row]) -> None:
        if table.name == "tombstones":
            keys = {(key,) for _, key, _ in rows}
            connection.many("insert or ignore into tombstone_keys(key) values(%s)", list(keys))
            values = [{"digest": each, "key": key, "at": at} for each, key, at in rows]
            connection.many(f"{SqliteTombstones.insert} do nothing", values)
            return
        if table.name == "vectors":
            rows = [(model, entry, with_checksum(packed, entry)) for model, entry, packed in rows]
        columns, marks = ", ".join(self.columns(table)), ", ".join(["%s"] * len(table.columns))
        connection.many(f'insert or ignore into "{table.name}"({columns}) values({marks})', rows)

    def _identity(self, connection: SqliteConnection) -> Identity:
        meta = dict(connection.execute("select key, value from meta").fetchall())
        numbers = dict(connection.execute("select name, seq from sqlite_sequence").fetchall())
        (key,) = connection.execute("select key from tombstone_keys where id = 1").fetchone()
        tokens = (
            (name.removeprefix(TOKENS), *json.loads(value))
            for name, value in sorted(meta.items())
            if name.startswith(TOKENS)
        )
        return Identity(
            meta["store_id"],
            key,
            int(numbers.get("records", 0)),
            int(numbers.get("passages", 0)),
            tuple(json.loads(meta.get("embedder", "[]"))),
            meta.get("redacted_by", ""),
            tuple((task, day, int(count)) for task, day, count in tokens),
        )

    def _complete(self, connection: SqliteConnection, identity: Identity) -> None:
        connection.execute("insert into passages_fts(passages_fts) values('rebuild')")
        meta = {"store_id": identity.store_id, "redacted_by": identity.redacted_by}
        if identity.embedder:
            meta["embedder"] = json.dumps(identity.embedder)
        meta |= {
            f"{TOKENS}{task}": json.dumps([day, count]) for task, day, count in identity.tokens
        }
        connection.executemany("insert or replace into meta(key, value) values(?, ?)", meta.items())
        for name, number in (("records", identity.records), ("passages", identity.passages)):
            connection.execute("delete from sqlite_sequence where name = ?", (name,))
            connection.execute(
                "insert into sqlite_sequence(name, seq) values(?, ?)", (name, number)
            )
