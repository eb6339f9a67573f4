"""The connections to one PostgreSQL server, for one owner: a pool for writing, one for reading.

Callers pass a function of the connection, as for SQLite. A write runs in one transaction, committed
when the function returns and rolled back when it raises. A read runs in one transaction that reads
only and sees one moment. The functions block, so they run in threads.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Concatenate, Final, ParamSpec, TypeVar

import psycopg
from psycopg_pool import ConnectionPool

from mem_search.errors import StorageError
from mem_search.storage.postgres.connection import Connection, place_of
from mem_search.storage.postgres.migrations import SCHEMA, check_server, migrate
from mem_search.storage.postgres.replica import Replica
from mem_search.storage.postgres.roles import Roles
from mem_search.storage.postgres.server import translated
from mem_search.storage.postgres.workers import LEASE, Worker
from mem_search.storage.rules.identities import KEY_BYTES
from mem_search.text.redaction import rules

P = ParamSpec("P")
T = TypeVar("T")
Query = Callable[Concatenate[Connection, P], T]

_READERS: Final = 4
_WRITERS: Final = 3
"""Records are written one batch at a time; the others are for jobs, messages and limits."""

_SECONDS: Final = 10.0
"""For a free connection, and for the server to answer."""

_ATTEMPTS: Final = 3
"""Of a write that another one of the server made impossible; it is rolled back each time."""


class Database:
    """An open store. ``Database.open`` makes it; always ``close`` it."""

    def __init__(
        self,
        address: str,
        owner: str,
        home: str = "",
        lease: float = LEASE,
        replica: tuple[str, float] | None = None,
    ) -> None:
        self.place = place_of(address)
        self.owner = owner
        self.worker = Worker(owner, home, lease)
        self._address = address
        self._types_in = "public"
        self.roles = Roles()
        self._closed = False
        self.replica = Replica(*replica, address, self._reader) if replica else None
        self._reading = self._pool(_READERS, readonly=True)
        self._writing = self._pool(_WRITERS, readonly=False)
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="postgres-reader")
        self._writers = ThreadPoolExecutor(_WRITERS, thread_name_prefix="postgres-writer")

    @classmethod
    async def open(
        cls,
        address: str,
        owner: str,
        home: str = "",
        lease: float = LEASE,
        replica: tuple[str, float] | None = None,
    ) -> Database:
        """Connect, and bring the schema up to date. Raises StorageError.

        ``home`` is that of this worker; what it claims is its own for ``lease`` seconds at least.
        ``replica`` is the address of one, and the seconds that it may be behind.
        """
        database = cls(address, owner, home, lease, replica)
        try:
            await asyncio.get_running_loop().run_in_executor(database._writers, database._prepare)
        except BaseException:
            await database.close()
            raise
        return database

    async def read(self, query: Query[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run ``query(connection, …)`` on a reader, inside one consistent snapshot."""

        def call() -> T:
            with (
                translated(self.place),
                self._reading.connection() as connection,
                connection.begun(),
            ):
                return query(connection, *args, **kwargs)

        return await asyncio.get_running_loop().run_in_executor(self._readers, call)

    async def search(self, query: Callable[[Connection, bool], T]) -> T:
        """Run ``query(connection, is_replica)`` as ``read`` does, for a search: on the replica, if
        there is one and ``Replica.read`` finds it good enough.
        """
        if self.replica is None:
            return await self.read(query, False)
        return await self.replica.read(
            lambda connection: query(connection, True), lambda: self.read(query, False)
        )

    async def write(self, query: Query[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run ``query(connection, …)`` as one transaction: all of it is kept, or nothing.

        It runs again when the server ended it for the sake of another one (SQLSTATE class 40).
        """
        return await self._write(lambda c: query(c, *args, **kwargs), searched=True)

    async def write_beside(self, query: Callable[[Connection], T]) -> T:
        """``write`` of what no search reads: the replica answers searches before it has that."""
        return await self._write(query, searched=False)

    async def _write(self, query: Callable[[Connection], T], *, searched: bool) -> T:
        def once() -> T:
            with self._writing.connection() as connection:
                with connection.begun():
                    result = query(connection)
                if searched and self.replica is not None:
                    self.replica.wrote(connection)
                return result

        def call() -> T:
            with translated(self.place):
                return _repeated(once)

        return await asyncio.get_running_loop().run_in_executor(self._writers, call)

    async def apart(self, work: Callable[[Connection], T]) -> T:
        """Run ``work(connection)`` as the role that owns the tables, outside a transaction and on
        a connection of its own: it may take minutes, and vacuums or builds an index. It runs again
        as a ``write`` does: two builds on one table wait for each other. A cancellation ends its
        statement before it is passed on.
        """

        def administered(connection: Connection) -> T:
            connection.administer()
            return _repeated(lambda: work(connection))

        return await self._own_connection(administered)

    async def aside(self, query: Callable[[Connection], T]) -> T:
        """Run ``query(connection)`` on a connection of its own: no reader waits for a long one.

        It sees one moment, and may make temporary tables. A cancellation ends the query before it
        is passed on.
        """

        def work(connection: Connection) -> T:
            with connection.begun():
                return query(connection)

        return await self._own_connection(work, "isolation level repeatable read")

    async def _own_connection(self, work: Callable[[Connection], T], mode: str = "") -> T:
        opened: list[Connection] = []

        def call() -> T:
            with translated(self.place), self._connect() as connection:
                self._act(connection, self.roles.working, mode)
                opened.append(connection)
                return work(connection)

        running = asyncio.get_running_loop().run_in_executor(None, call)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            for connection in opened:
                await asyncio.to_thread(connection.cancel_safe)
            await asyncio.wait([running])
            running.exception()  # it was ended
            raise

    async def watch(self, woken: Callable[[], None]) -> None:
        """See ``Worker.watch``; ``woken`` is called in the running loop. Until cancelled.

        It has a thread of its own: it never ends, and several of them would leave none of the
        loop's few threads to others.
        """
        loop = asyncio.get_running_loop()
        thread = ThreadPoolExecutor(1, thread_name_prefix="postgres-watch")

        def connected() -> Connection:
            connection = self._connect()
            self._writer(connection)
            return connection

        watching = loop.run_in_executor(
            thread, self.worker.watch, connected, lambda: _call_soon(loop, woken)
        )
        try:
            await asyncio.shield(watching)
        finally:
            self.worker.stop()
            await asyncio.wait([watching])
            thread.shutdown(wait=False)

    async def close(self) -> None:
        """Wait for what runs, free what is claimed, and close the connections.

        A second call does nothing.
        """
        if not self._closed:
            self._closed = True
            with suppress(StorageError, RuntimeError):  # the lease expires anyway
                await self.write_beside(self.worker.end)
        if self.replica is not None:
            await asyncio.to_thread(self.replica.close)
        for executor in (self._readers, self._writers):
            await asyncio.to_thread(executor.shutdown, wait=True)
        for pool in (self._reading, self._writing):
            await asyncio.to_thread(pool.close)

    def _prepare(self) -> None:
        with translated(self.place):
            with self._connect() as connection:
                check_server(connection, self.place)
                self._types_in, self.roles = migrate(connection, self.place)
            self._writing.open()
            self._reading.open()
            with self._writing.connection() as connection, connection.begun():
                connection.execute(
                    "insert into stores(tombstone_key, redacted_by) values(%s, %s)"
                    " on conflict (owner) do nothing",
                    (secrets.token_bytes(KEY_BYTES), rules()),
                )
                self.worker.begin(connection)
            if self.replica is not None:
                with self._writing.connection() as connection:
                    self.replica.open(connection)

    def _connect(self) -> Connection:
        return Connection.connect(self._address, autocommit=True, connect_timeout=int(_SECONDS))

    def _pool(self, most: int, *, readonly: bool) -> ConnectionPool[Connection]:
        return ConnectionPool(
            self._address,
            min_size=1,
            max_size=most,
            open=False,
            timeout=_SECONDS,
            # The pool doubles its pause between two attempts to connect, for five minutes unless
            # told otherwise. It must not still pause when the server has been back for minutes:
            # it gives up early, and the next request makes it try at once.
            reconnect_timeout=_SECONDS,
            # A server that was started again left dead connections behind.
            check=ConnectionPool.check_connection,
            connection_class=Connection,
            configure=self._reader if readonly else self._writer,
            kwargs={"autocommit": True, "connect_timeout": int(_SECONDS)},
            name=f"mem-search-{'read' if readonly else 'write'}",
        )

    def _writer(self, connection: Connection) -> None:
        self._act(connection, self.roles.working)

    def _reader(self, connection: Connection) -> None:
        self._act(connection, self.roles.searching, "isolation level repeatable read read only")

    def _act(self, connection: Connection, role: str, mode: str = "") -> None:
        connection.act(
            SCHEMA, self._types_in, self.owner, role=role, mode=mode,
            worker=self.worker.id, home=self.worker.home,
        )  # fmt: skip


def _call_soon(loop: asyncio.AbstractEventLoop, woken: Callable[[], None]) -> None:
    with suppress(RuntimeError):  # the loop ends
        loop.call_soon_threadsafe(woken)


def _repeated(work: Callable[[], T]) -> T:
    """Run ``work`` again while the server ends it for the sake of another (SQLSTATE class 40)."""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return work()
        except psycopg.errors.TransactionRollback:
            if attempt == _ATTEMPTS:
                raise
    raise AssertionError
