"""The connections to one PostgreSQL server, for one owner: a pool for writing, one for reading.

Callers pass a function of the connection, as for SQLite. A write runs in one transaction, committed
when the function returns and rolled back when it raises. A read runs in one transaction that reads
only and sees one moment. The functions block, so they run in threads.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import wraps
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import ConnectionPool, PoolTimeout

from mem_search.errors import StorageError, StoreAway
from mem_search.patterns import pattern
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.postgres.migrations import SCHEMA, check_server, migrate
from mem_search.storage.postgres.roles import Roles
from mem_search.storage.postgres.workers import LEASE, Worker
from mem_search.storage.rules.tombstones import KEY_BYTES
from mem_search.text.redaction import rules

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R", bound="Repository")
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

    def __init__(self, address: str, owner: str, home: str = "", lease: float = LEASE) -> None:
        self.place = place_of(address)
        self.owner = owner
        self.worker = Worker(owner, home, lease)
        self._address = address
        self._types_in = "public"
        self.roles = Roles()
        self._closed = False
        self._reading = self._pool(_READERS, readonly=True)
        self._writing = self._pool(_WRITERS, readonly=False)
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="postgres-reader")
        self._writers = ThreadPoolExecutor(_WRITERS, thread_name_prefix="postgres-writer")

    @classmethod
    async def open(cls, address: str, owner: str, home: str = "", lease: float = LEASE) -> Database:
        """Connect, and bring the schema up to date. Raises StorageError.

        ``home`` is that of this worker; what it claims is its own for ``lease`` seconds at least.
        """
        database = cls(address, owner, home, lease)
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

    async def write(self, query: Query[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run ``query(connection, …)`` as one transaction: all of it is kept, or nothing.

        It runs again when the server ended it for the sake of another one (SQLSTATE class 40).
        """

        def call() -> T:
            with translated(self.place):
                for attempt in range(1, _ATTEMPTS + 1):
                    try:
                        with self._writing.connection() as connection, connection.begun():
                            return query(connection, *args, **kwargs)
                    except psycopg.errors.TransactionRollback:
                        if attempt == _ATTEMPTS:
                            raise
                raise AssertionError

        return await asyncio.get_running_loop().run_in_executor(self._writers, call)

    async def apart(self, work: Callable[[Connection], T]) -> T:
        """Run ``work(connection)`` as the role that owns the tables, outside a transaction and on
        a connection of its own: it may take minutes, and vacuums or builds an index. A
        cancellation ends its statement before it is passed on.
        """

        def administered(connection: Connection) -> T:
            connection.administer()
            return work(connection)

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
                await self.write(self.worker.end)
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


class Repository:
    """Base of a part of the store; ``reads`` and ``writes`` turn functions of a connection into its
    methods.
    """

    def __init__(self, database: Database) -> None:
        self._database = database


def reads(
    query: Callable[Concatenate[R, Connection, P], T],
) -> Callable[Concatenate[R, P], Coroutine[Any, Any, T]]:
    """An async method that runs ``query`` on a reader, inside one consistent snapshot."""

    @wraps(query)
    async def method(self: R, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._database.read(lambda c: query(self, c, *args, **kwargs))

    return method


def writes(
    query: Callable[Concatenate[R, Connection, P], T],
) -> Callable[Concatenate[R, P], Coroutine[Any, Any, T]]:
    """An async method that runs ``query`` as one transaction: all of it is kept, or nothing."""

    @wraps(query)
    async def method(self: R, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._database.write(lambda c: query(self, c, *args, **kwargs))

    return method


def place_of(address: str) -> str:
    """The address without a password, for messages. Raises StorageError."""
    try:
        parts = conninfo_to_dict(address)
    except psycopg.ProgrammingError as error:
        raise StorageError(
            f"MEM_SEARCH_STORE is no address of PostgreSQL ({_line(error)});"
            " it has the form postgresql://USER@HOST:5432/DATABASE"
        ) from error
    host = parts.get("host") or parts.get("hostaddr") or "the local socket"
    port = f":{parts['port']}" if "port" in parts else ""
    return f"{host}{port}/{parts.get('dbname') or parts.get('user') or ''}"


_STEPS: Final[Mapping[str, str]] = {
    "53100": "the server's disk is full; free some space; no transaction was stored in part",
    "53200": "the server is out of memory; no transaction was stored in part",
    "53300": "the server has no free connection; raise max_connections or stop other clients",
    "25006": "the server only reads, as a replica does; connect to the primary",
    "42501": "the role lacks a right; grant it CREATE on the database, or ask the administrator",
    "28P01": "the password is wrong; correct MEM_SEARCH_STORE, or use a passfile",
    "28000": "the server does not accept this role; correct MEM_SEARCH_STORE or pg_hba.conf",
    "3D000": "there is no such database; create it, or correct MEM_SEARCH_STORE",
    "57014": "the statement took too long for the server's statement_timeout; raise it",
}
"""SQLSTATE → what is wrong and the next step."""

_REFUSED: Final = (
    (pattern(r"database .* does not exist"), "3D000"),
    (pattern(r"password authentication failed|no password supplied"), "28P01"),
    (pattern(r"role .* does not exist|pg_hba\.conf|authentication failed"), "28000"),
    (pattern(r"too many (?:clients|connections)|connection slots"), "53300"),
)
"""What libpq says of a connection that the server refused, and its SQLSTATE, which is not given."""

_AWAY: Final = "start the server, or correct MEM_SEARCH_STORE"


@contextmanager
def translated(place: str) -> Iterator[None]:
    """Translate errors of the server into a StorageError of one line with the next step."""
    try:
        yield
    except PoolTimeout as error:
        raise StoreAway(f"PostgreSQL at {place} does not answer; {_AWAY}") from error
    except psycopg.Error as error:
        text = _line(error)
        state = error.sqlstate or next((s for said, s in _REFUSED if said.search(text)), "")
        if step := _STEPS.get(state):
            raise StorageError(f"PostgreSQL at {place}: {text}; {step}") from error
        if state.startswith("40"):
            raise StorageError(
                f"PostgreSQL at {place}: other writes were in the way; try again"
            ) from error
        # A connection that failed has no state.
        if isinstance(error, psycopg.OperationalError):
            raise StoreAway(f"PostgreSQL at {place}: {text}; {_AWAY}") from error
        raise


def _line(error: BaseException) -> str:
    return " ".join(str(error).split("\n")[0].split())
