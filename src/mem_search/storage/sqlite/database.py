"""The connections to one SQLite file: a writer thread, two readers, WAL.

Callers pass a function of the connection: ``await db.write(records.store, drafts)``. A write
runs inside one ``begin immediate`` transaction, committed when the function returns and
rolled back when it raises. Two readers beat four on small machines: the work is memory-bound.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from mem_search.errors import StorageError
from mem_search.storage.sqlite.migrations import migrate

Connection = sqlite3.Connection
P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R", bound="Repository")
Query = Callable[Concatenate[sqlite3.Connection, P], T]

_READERS = 2
_BUSY_SECONDS = 5.0
_PRAGMAS = """
pragma foreign_keys = on;
pragma synchronous = normal;
pragma temp_store = memory;
pragma cache_size = -8192;
pragma mmap_size = 2147418112;
pragma journal_size_limit = 67108864;
"""


class Database:
    """An open store. Make it with ``Database.open``; always ``close`` it."""

    def __init__(self, path: Path, busy_seconds: float = _BUSY_SECONDS) -> None:
        self.path = path
        self._busy_seconds = busy_seconds
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="sqlite-writer")
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="sqlite-reader")
        self._local = threading.local()
        self._open: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._watcher: sqlite3.Connection | None = None

    @classmethod
    async def open(cls, path: Path, *, busy_seconds: float = _BUSY_SECONDS) -> Database:
        """Create or open the file and bring its schema up to date.

        A write waits ``busy_seconds`` for another process that holds the file. Raises
        StorageError when the file is corrupt, foreign, locked or cannot be written.
        """
        database = cls(path, busy_seconds)
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            await database._run(database._writer, database._prepare)
        except OSError as error:
            await database.close()
            raise StorageError(
                f"cannot write {path} ({error.strerror}); `mem-search doctor` names what mends it"
            ) from error
        except BaseException:
            await database.close()
            raise
        return database

    async def read(self, query: Query[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run ``query(connection, …)`` on a reader, inside one consistent snapshot."""

        def call() -> T:
            with _translated(self.path):
                connection = self._connection(readonly=True)
                connection.execute("begin")
                try:
                    return query(connection, *args, **kwargs)
                finally:
                    connection.rollback()

        return await self._run(self._readers, call)

    async def write(self, query: Query[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run ``query(connection, …)`` as one transaction: all of it is kept, or nothing."""

        def call() -> T:
            with _translated(self.path):
                connection = self._connection(readonly=False)
                connection.execute("begin immediate")
                try:
                    result = query(connection, *args, **kwargs)
                    connection.commit()
                except BaseException:
                    connection.rollback()
                    raise
                return result

        return await self._run(self._writer, call)

    def version(self) -> int | None:
        """A number that changes with every commit to the file, of this process or another.

        Call it in the event loop: it reads shared memory, which takes microseconds and never
        waits. None where SQLite cannot tell at the moment.
        """
        try:
            if self._watcher is None:
                self._watcher = sqlite3.connect(
                    self.path, timeout=0, isolation_level=None, check_same_thread=False
                )
                with self._lock:
                    self._open.append(self._watcher)
            (version,) = self._watcher.execute("pragma data_version").fetchone()
        except sqlite3.OperationalError:
            return None
        return int(version)

    async def close(self) -> None:
        """Wait for what runs, fold the write-ahead log into the file, close."""
        for executor in (self._readers, self._writer):
            await asyncio.to_thread(executor.shutdown, wait=True)
        with self._lock:
            connections, self._open = self._open, []
        for connection in connections:
            connection.close()

    @staticmethod
    async def _run(executor: ThreadPoolExecutor, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(executor, call)

    def _prepare(self) -> None:
        with _translated(self.path):
            connection = self._connection(readonly=False)
            # Before the journal mode, which would change a file that turns out not to be ours.
            migrate(connection)
            self.path.chmod(0o600)  # and before the log beside it, which takes over the mode
            _log_ahead(connection, self._busy_seconds)

    def _connection(self, *, readonly: bool) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            # check_same_thread is off only so that close() may close it from elsewhere.
            connection = sqlite3.connect(
                self.path,
                timeout=self._busy_seconds,
                isolation_level=None,
                check_same_thread=False,
            )
            connection.executescript(_PRAGMAS)
            if readonly:
                connection.execute("pragma query_only = on")
            self._local.connection = connection
            with self._lock:
                self._open.append(connection)
        return connection


class Repository:
    """A part of the store. ``reads`` and ``writes`` make its methods from SQL on a connection."""

    def __init__(self, database: Database) -> None:
        self._database = database


def reads(
    query: Callable[Concatenate[R, sqlite3.Connection, P], T],
) -> Callable[Concatenate[R, P], Coroutine[Any, Any, T]]:
    """An async method that runs ``query`` on a reader, inside one consistent snapshot."""

    @wraps(query)
    async def method(self: R, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._database.read(lambda c: query(self, c, *args, **kwargs))

    return method


def writes(
    query: Callable[Concatenate[R, sqlite3.Connection, P], T],
) -> Callable[Concatenate[R, P], Coroutine[Any, Any, T]]:
    """An async method that runs ``query`` as one transaction: all of it is kept, or nothing."""

    @wraps(query)
    async def method(self: R, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._database.write(lambda c: query(self, c, *args, **kwargs))

    return method


def _log_ahead(connection: sqlite3.Connection, seconds: float) -> None:
    """Switch to the write-ahead log; SQLite does not wait here for others that open the file."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            connection.execute("pragma journal_mode = wal")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Turn what SQLite says about the file into a StorageError with the next step."""
    try:
        yield
    except sqlite3.IntegrityError:
        raise
    except sqlite3.DatabaseError as error:
        text = str(error)
        if "locked" in text or "busy" in text:
            step = "another process holds it; stop that process or try again"
        elif "full" in text:
            step = "the disk is full; free some space, nothing was half-written"
        elif "not a database" in text or "malformed" in text:
            step = "it is corrupt or not ours; move it away, then run `mem-search sync` to refill"
        elif "disk I/O" in text:
            step = "the disk is full or failing; check it, nothing was half-written"
        elif "readonly" in text or "unable to open" in text:
            step = "check that the folder exists and is writable"
        else:
            raise
        raise StorageError(f"{path}: {text}; {step}") from error
