"""The connections to one SQLite file: a writer thread, two readers, WAL.

Callers pass a function of the connection: ``await db.write(records.store, drafts)``. A write
runs inside one ``begin immediate`` transaction, committed when the function returns and
rolled back when it raises. Two readers beat four on small machines: the work is memory-bound.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import stat
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from mem_search.errors import StorageError
from mem_search.platform import lower_thread
from mem_search.storage.sqlite import damage
from mem_search.storage.sqlite.connection import (
    MAPPED,
    SqliteConnection,
    as_read,
    log_ahead,
    prepared,
)
from mem_search.storage.sqlite.copies import before_upgrade
from mem_search.storage.sqlite.damage import DerivedDamaged, Part, UndecodableText, translated
from mem_search.storage.sqlite.mark import Mark, check
from mem_search.storage.sqlite.migrations import is_older, migrate, missing
from mem_search.storage.sqlite.unwritable import AsItIs, is_full, open_as_it_is, why_unwritable
from mem_search.storage.sqlite.words import secure_words

log = logging.getLogger(__name__)

Connection = SqliteConnection
P = ParamSpec("P")
T = TypeVar("T")
Query = Callable[Concatenate[SqliteConnection, P], T]

_UPGRADING = threading.Lock()
"""One at a time: two that open a new store would copy it while it is being made."""

_READERS = 2
_BUSY_SECONDS = 5.0

_MODE = 0o600


class Database:
    """An open store. ``Database.open`` makes it; always ``close`` it."""

    def __init__(self, path: Path, busy_seconds: float = _BUSY_SECONDS) -> None:
        self.path = path
        self._busy_seconds = busy_seconds
        self._writer = ThreadPoolExecutor(1, "sqlite-writer", initializer=lower_thread)
        self._readers = ThreadPoolExecutor(_READERS, "sqlite-reader")
        self._behind = ThreadPoolExecutor(1, "sqlite-behind", initializer=lower_thread)
        self._local = threading.local()
        self._open: list[sqlite3.Connection] = []
        self._writing: sqlite3.Connection | None = None
        self._lock = threading.Lock()
        self._watcher: sqlite3.Connection | None = None
        self._mark = Mark(path)
        self.as_it_is = AsItIs()
        self.mended: tuple[Part, ...] = ()
        """What was damaged and made again since the store was opened."""
        self.on_mended: list[Callable[[], None]] = []
        self.undecodable = ""
        """What SQLite said of the first text that is not UTF-8; such texts are read in part."""

    @classmethod
    async def open(cls, path: Path, *, busy_seconds: float = _BUSY_SECONDS) -> Database:
        """Create or open the file and bring its schema up to date.

        A write waits ``busy_seconds`` for another process that holds the file. Raises
        StoreDamaged when the file is corrupt, or lacks what its mark says it held; StorageError
        when it is foreign, locked or cannot be written. Where that is for want of room or on a file
        system that is read-only, it is opened as it is: it answers, and takes what is written once
        there is room (``unwritable``).
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

        def apart() -> T:
            with self.as_it_is.reading():
                return self._in_snapshot(query, *args, **kwargs)

        def call() -> T:
            return self._in_snapshot(query, *args, **kwargs)

        return await self._run(self._readers, apart if self.as_it_is.reason else call)

    async def read_behind(self, query: Query[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """As ``read``, of a store that can be written, in a thread that no search waits for."""
        return await self._run(self._behind, lambda: self._in_snapshot(query, *args, **kwargs))

    def _in_snapshot(self, query: Query[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            connection = self._connection(readonly=True)
            connection.execute("begin")
            try:
                return query(connection, *args, **kwargs)
            finally:
                connection.rollback()
        except Exception:
            with ExitStack() as stack:
                # A statement that has not ended keeps its snapshot for the readings after it.
                stack.callback(self._drop_connection)
                stack.enter_context(translated(self.path, self._local))
                raise

    async def write(self, query: Query[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run ``query(connection, …)`` as one transaction: all of it is kept, or nothing."""

        def call() -> T:
            with translated(self.path, self._local):
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

        return await self._run(self._writer, call)

    write_beside = write
    """A file has no replica that could be behind."""

    async def alone(self, work: Callable[[SqliteConnection], T]) -> T:
        """Run ``work(connection)`` on the writer outside a transaction, as ``vacuum`` needs it."""

        def call() -> T:
            with translated(self.path, self._local):
                return work(self._connection(readonly=False))

        return await self._run(self._writer, call)

    async def _run(self, executor: ThreadPoolExecutor, call: Callable[[], T]) -> T:
        """``call`` in ``executor``; once more after what is derived was damaged and made again."""
        loop = asyncio.get_running_loop()
        if executor is self._writer and self.unwritable:
            await loop.run_in_executor(executor, self._become_writable)
        mended = self.mended
        try:
            return await loop.run_in_executor(executor, call)
        except DerivedDamaged as error:
            log.error("%s", error)
            await self.mend()
        except UndecodableText as error:
            self._read_in_part(error)
        except Exception:
            if self.mended is mended:
                raise
            # It met what another one has mended meanwhile.
        return await loop.run_in_executor(executor, call)

    async def mend(self, *, deep: bool = False) -> tuple[Part, ...]:
        """Make again what is derived from the records and damaged; the parts that were.

        ``deep`` compares the words index with all texts, too. Raises StorageError.
        """

        def call() -> tuple[Part, ...]:
            if self.unwritable:
                self._become_writable()
            with translated(self.path, self._local):
                parts = damage.mend(self.path, self._busy_seconds, deep=deep)
            if parts:
                self.mended = (*self.mended, *parts)
            return parts

        # A look holds up no writer; comparing needs a connection that may write.
        if not deep and not await self.aside(damage.damaged_parts):
            return ()
        parts = await asyncio.get_running_loop().run_in_executor(self._writer, call)
        if parts:
            log.warning("%s: damaged, and made again from the records", damage.named(parts))
            for told in self.on_mended:
                told()
        return parts

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
        except (sqlite3.OperationalError, sqlite3.ProgrammingError):
            return None  # or it was closed, because the store can be written again
        return int(version)

    async def aside(self, query: Callable[[SqliteConnection], T]) -> T:
        """Run ``query(connection)`` on a connection of its own: no reader waits for a long one.

        Temporary tables are on disk. A cancellation ends the query before it is passed on.
        """
        reading = self.as_it_is.connection(self.path) or sqlite3.connect(
            self.path, isolation_level=None, check_same_thread=False, factory=SqliteConnection
        )

        reading.text_factory = as_read

        def call() -> T:
            with (
                self.as_it_is.reading(),
                closing(reading),
                translated(self.path, self._local),
            ):
                return query(reading)

        running = asyncio.get_running_loop().run_in_executor(None, call)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            with suppress(sqlite3.ProgrammingError):  # its thread has just closed it
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
                    connection.execute(f"pragma mmap_size = {MAPPED}")

    async def close(self) -> None:
        """Wait for what runs, fold the write-ahead log into the file, close."""
        for executor in (self._readers, self._behind, self._writer):
            await asyncio.to_thread(executor.shutdown, wait=True)
        await asyncio.to_thread(self._mark.close, None if self.unwritable else self._writing)
        self._close_connections()

    @property
    def unwritable(self) -> str:
        """Why nothing can be stored, and what to do; empty where it can be."""
        return self.as_it_is.reason

    def _prepare(self) -> None:
        check(self.path)
        try:
            self._open_to_write()
            # SQLite opens a store whose log is there without a byte of room, to find out later.
            with suppress(OSError):
                if why_unwritable(self.path.parent):
                    self._open_as_it_is(None)
        except DerivedDamaged as error:
            log.error("%s", error)
            self._drop_connection()
            with translated(self.path, self._local):
                self.mended += damage.mend(self.path, self._busy_seconds)
            self._open_to_write()
        except UndecodableText as error:
            self._read_in_part(error)
            self._drop_connection()
            self._open_to_write()
        except StorageError as error:
            cause = error.__cause__
            if not isinstance(cause, sqlite3.Error) or not is_full(cause):
                raise
            self._open_as_it_is(error)
        except OSError as error:
            if not is_full(error):
                raise
            self._open_as_it_is(error)

    def _read_in_part(self, error: UndecodableText) -> None:
        """Read texts that are not UTF-8 with U+FFFD from now on."""
        if self.undecodable:
            return  # another one has met it
        log.error("a stored text is not UTF-8 and is read in part: %s", error)
        self.undecodable = str(error)

    def _open_to_write(self) -> None:
        with translated(self.path, self._local):
            connection = self._writing = self._connection(readonly=False)
            # Before the journal mode, which would change a file of another program.
            with _UPGRADING:
                before_upgrade(connection, self.path)
                migrate(connection)
            secure_words(connection)
            if stat.S_IMODE(self.path.stat().st_mode) != _MODE:
                self.path.chmod(_MODE)  # and before the log beside it, which inherits the mode
            log_ahead(connection, self._busy_seconds)
        self._mark.open(connection)

    def _open_as_it_is(self, error: Exception | None) -> None:
        """Serve searches from a store that cannot be written. Raises ``error`` where it can be, or
        is none of this version; without one it is opened to write then, because closing its log
        has made room.
        """
        self._mark.close(None)
        self._drop_connection()
        try:
            reason = why_unwritable(self.path.parent)
        except OSError:
            reason = ""
        if not reason and error is None:
            self._open_to_write()
            return
        if error and not (reason and self.path.exists() and self.path.stat().st_size):
            raise error
        with translated(self.path, self._local), closing(open_as_it_is(self.path)) as connection:
            missing(connection)
            if is_older(connection):
                raise StorageError(f"the store has to be upgraded first, and {reason}") from error
        self.as_it_is.begin(reason)
        log.error("nothing can be stored, searches are answered: %s", reason)

    def _become_writable(self) -> None:
        """Open the store to write, if that is possible by now. Raises StorageError."""
        if not (known := self.unwritable):
            return  # another write has done it
        if reason := why_unwritable(self.path.parent):
            raise StorageError(f"nothing can be stored: {reason}; searches are answered")
        with self.as_it_is.ending() as alone:
            if not alone:
                raise StorageError(f"nothing can be stored yet ({known}); try again in a second")
            # All: connections of a process share how the index of the log was opened.
            self._close_connections()
            self._open_to_write()
        log.warning("the store can be written again")

    def _drop_connection(self) -> None:
        """Close the connection of this thread: it is of a former store, or a reading failed."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is not None:
            with self._lock:
                self._open = [each for each in self._open if each is not connection]
            connection.close()
            self._local.connection = None

    def _close_connections(self) -> None:
        """Close every connection; no thread may use one. Each thread opens its own again."""
        with self._lock:
            connections, self._open, self._watcher = self._open, [], None
        for connection in connections:
            connection.close()
        self._local.connection = None

    def _connection(self, *, readonly: bool) -> SqliteConnection:
        if readonly and getattr(self._local, "era", 0) != self.as_it_is.era:
            self._drop_connection()
        connection: SqliteConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            self._local.era = self.as_it_is.era
            opened = self.as_it_is.connection(self.path) if readonly else None
            connection = prepared(opened, self.path, self._busy_seconds, readonly=readonly)
            self._local.connection = connection
            with self._lock:
                self._open.append(connection)
        if self.undecodable:
            connection.text_factory = as_read
        return connection
