"""The connections to one SQLite file: a writer thread, two readers, WAL.

Callers pass a function of the connection: ``await db.write(records.store, drafts)``. A write
runs inside one ``begin immediate`` transaction, committed when the function returns and
rolled back when it raises. Two readers beat four on small machines: the work is memory-bound.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import struct
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from mem_search.errors import MemSearchError, StorageError
from mem_search.priority import lower_thread
from mem_search.storage.sqlite.connection import SqliteConnection
from mem_search.storage.sqlite.fulltext import secure_words
from mem_search.storage.sqlite.mark import Mark, check, damaged
from mem_search.storage.sqlite.migrations import migrate
from mem_search.storage.sqlite.snapshot import before_upgrade

Connection = SqliteConnection
P = ParamSpec("P")
T = TypeVar("T")
Query = Callable[Concatenate[SqliteConnection, P], T]

_UPGRADING = threading.Lock()
"""One at a time: two that open a new store would copy it while it is being made."""

_READERS = 2
_BUSY_SECONDS = 5.0
_MAPPED = 2**31 - 2**16
"""Bytes of the file that a connection may map."""

_PRAGMAS = f"""
pragma foreign_keys = on;
pragma synchronous = normal;
pragma temp_store = memory;
pragma cache_size = -8192;
pragma mmap_size = {_MAPPED};
pragma journal_size_limit = 67108864;
pragma secure_delete = on;
"""


class Database:
    """An open store. ``Database.open`` makes it; always ``close`` it."""

    def __init__(self, path: Path, busy_seconds: float = _BUSY_SECONDS) -> None:
        self.path = path
        self._busy_seconds = busy_seconds
        self._writer = ThreadPoolExecutor(1, "sqlite-writer", initializer=lower_thread)
        self._readers = ThreadPoolExecutor(_READERS, "sqlite-reader")
        self._local = threading.local()
        self._open: list[sqlite3.Connection] = []
        self._writing: sqlite3.Connection | None = None
        self._lock = threading.Lock()
        self._watcher: sqlite3.Connection | None = None
        self._mark = Mark(path)

    @classmethod
    async def open(cls, path: Path, *, busy_seconds: float = _BUSY_SECONDS) -> Database:
        """Create or open the file and bring its schema up to date.

        A write waits ``busy_seconds`` for another process that holds the file. Raises
        StoreDamaged when the file is corrupt, or lacks what its mark says it held; StorageError
        when it is foreign, locked or cannot be written.
        """
        database = cls(path, busy_seconds)
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(database._writer, database._prepare)
        except OSError as error:
            await database.close()
            raise StorageError(
                f"cannot write {path} ({error.strerror}); `mem-search doctor` says how to repair it"
            ) from error
        except BaseException:
            await database.close()
            raise
        return database

    async def read(self, query: Query[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run ``query(connection, …)`` on a reader, inside one consistent snapshot."""

        def call() -> T:
            with _translated(self.path, self._local):
                connection = self._connection(readonly=True)
                connection.execute("begin")
                try:
                    return query(connection, *args, **kwargs)
                finally:
                    connection.rollback()

        return await asyncio.get_running_loop().run_in_executor(self._readers, call)

    async def write(self, query: Query[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run ``query(connection, …)`` as one transaction: all of it is kept, or nothing."""

        def call() -> T:
            with _translated(self.path, self._local):
                connection = self._connection(readonly=False)
                connection.execute("begin immediate")
                before = connection.total_changes
                try:
                    result = query(connection, *args, **kwargs)
                    number = self._mark.count(connection, before)
                    connection.commit()
                except BaseException:
                    connection.rollback()
                    raise
                self._mark.committed(connection, number)
                return result

        return await asyncio.get_running_loop().run_in_executor(self._writer, call)

    write_beside = write
    """A file has no replica that could be behind."""

    async def alone(self, work: Callable[[SqliteConnection], T]) -> T:
        """Run ``work(connection)`` on the writer outside a transaction, as ``vacuum`` needs it."""

        def call() -> T:
            with _translated(self.path, self._local):
                return work(self._connection(readonly=False))

        return await asyncio.get_running_loop().run_in_executor(self._writer, call)

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

    async def aside(self, query: Callable[[SqliteConnection], T]) -> T:
        """Run ``query(connection)`` on a connection of its own: no reader waits for a long one.

        Temporary tables are on disk. A cancellation ends the query before it is passed on.
        """
        reading = sqlite3.connect(
            self.path, isolation_level=None, check_same_thread=False, factory=SqliteConnection
        )

        def call() -> T:
            with closing(reading), _translated(self.path, self._local):
                return query(reading)

        running = asyncio.get_running_loop().run_in_executor(None, call)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            reading.interrupt()
            await asyncio.wait([running])
            running.exception()  # it was interrupted
            raise

    def unmap(self) -> None:
        """Unmap the pages that were read: the system may keep them in its cache. Blocking."""
        with self._lock:  # ``close`` waits until no connection is used here
            for connection in self._open:
                if connection is not self._watcher:
                    connection.execute("pragma mmap_size = 0")  # ignored while a statement reads
                    connection.execute(f"pragma mmap_size = {_MAPPED}")

    async def close(self) -> None:
        """Wait for what runs, fold the write-ahead log into the file, close."""
        for executor in (self._readers, self._writer):
            await asyncio.to_thread(executor.shutdown, wait=True)
        with self._lock:
            connections, self._open = self._open, []
        await asyncio.to_thread(self._mark.close, self._writing)
        for connection in connections:
            connection.close()

    def _prepare(self) -> None:
        check(self.path)
        with _translated(self.path, self._local):
            connection = self._writing = self._connection(readonly=False)
            # Before the journal mode, which would change a file of another program.
            with _UPGRADING:
                before_upgrade(connection, self.path)
                migrate(connection)
            secure_words(connection)
            self.path.chmod(0o600)  # and before the log beside it, which inherits the mode
            _log_ahead(connection, self._busy_seconds)
        self._mark.open(connection)

    def _connection(self, *, readonly: bool) -> SqliteConnection:
        connection: SqliteConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            # check_same_thread is off only so that close() may close it from elsewhere.
            connection = sqlite3.connect(
                self.path,
                timeout=self._busy_seconds,
                isolation_level=None,
                check_same_thread=False,
                factory=SqliteConnection,
            )
            connection.executescript(_PRAGMAS)
            if readonly:
                connection.execute("pragma query_only = on")
            self._local.connection = connection
            with self._lock:
                self._open.append(connection)
        return connection


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


_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_UNREADABLE = (json.JSONDecodeError, UnicodeDecodeError, struct.error)
"""What decoding raises: the store wrote every value itself, so an unreadable one was changed."""


@contextmanager
def _translated(path: Path, local: threading.local) -> Iterator[None]:
    """Translate errors of SQLite into a StorageError with the next step.

    Flipped bytes show in many ways, down to a None where a row was. So whatever else fails is
    damage too if SQLite finds some in the file, and a bug if not.
    """
    try:
        yield
    except MemSearchError:
        raise
    except _UNREADABLE as error:
        raise damaged(path, f"a stored value is unreadable ({error})") from error
    except sqlite3.DatabaseError as error:
        code, text = getattr(error, "sqlite_errorcode", 0), str(error)
        if (
            code & 0xFF in _DAMAGE
            or code == sqlite3.SQLITE_IOERR_SHORT_READ
            or text.startswith(("Could not decode", "no such ", "vtable constructor failed"))
            or _is_damaged(local)
        ):
            raise damaged(path, text) from error
        if code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            step = "another process holds it; stop that process or try again"
        elif code & 0xFF == sqlite3.SQLITE_FULL:
            step = "the disk is full; free some space; no transaction was stored in part"
        elif code & 0xFF == sqlite3.SQLITE_IOERR:
            step = "the disk is full or failing; check it; no transaction was stored in part"
        elif code & 0xFF in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
            step = "check that the folder exists and is writable"
        else:
            raise
        raise StorageError(f"{path}: {text}; {step}") from error
    except Exception as error:
        if _is_damaged(local):
            raise damaged(path, f"{type(error).__name__}: {error}") from error
        raise


def _is_damaged(local: threading.local) -> bool:
    """Whether SQLite finds an error in the file: seconds for a large one, and only for a bug."""
    connection: sqlite3.Connection | None = getattr(local, "connection", None)
    if connection is None:
        return False
    try:
        return bool(connection.execute("pragma quick_check(1)").fetchone() != ("ok",))
    except sqlite3.DatabaseError as error:
        return getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE
