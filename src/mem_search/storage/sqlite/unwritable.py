"""A store that can be read and not written: a full disk, a quota, a file system that is read-only.

SQLite needs room beside a file even to read it (the index of the write-ahead log). Where there is
none and the log is empty, the file is all there is, and is read as one that nobody changes
(``immutable``). So no such connection may be open when the file is written again.
"""

from __future__ import annotations

import errno
import sqlite3
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from mem_search.errors import UNWRITABLE
from mem_search.storage.sqlite.connection import SqliteConnection

_ROOM: Final = 1 << 17
"""Bytes that have to fit beside a store, to open it: the index of its log, and a first page."""

_REASONS: Final = {
    errno.EROFS: "the file system of the store is read-only; mount it writable",
    errno.EDQUOT: "the disk quota is used up; free some space",
    errno.EFBIG: "a limit of the size of files is reached; raise it (ulimit -f)",
    errno.ENOSPC: "the disk of the store is full; free some space",
}


_PATIENCE: Final = 5.0
"""Seconds in which what reads the store as it is has to end before it is written again."""


class AsItIs:
    """Whether a store is read as it is, why, and who reads it now. Thread-safe.

    ``era`` changes with it: a connection of an earlier era must not be used any more.
    """

    def __init__(self) -> None:
        self.reason = ""
        self.era = 0
        self._reading = 0
        self._changed = threading.Condition()

    def begin(self, reason: str) -> None:
        """From now on the store is read as it is."""
        self.reason, self.era = reason, self.era + 1

    def connection(self, database: Path) -> SqliteConnection | None:
        """A connection for now; None where the store can be opened as any other."""
        return open_as_it_is(database) if self.reason else None

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Around each use of such a connection."""
        if not self.reason:
            yield
            return
        with self._changed:
            self._reading += 1
        try:
            yield
        finally:
            with self._changed:
                self._reading -= 1
                self._changed.notify_all()

    @contextmanager
    def ending(self) -> Iterator[bool]:
        """Nobody begins to read inside; whether nobody reads. Without an error it ends there."""
        with self._changed:
            alone = self._changed.wait_for(lambda: not self._reading, _PATIENCE)
            yield alone
            if alone:
                self.reason, self.era = "", self.era + 1


def why_unwritable(folder: Path) -> str:
    """Why nothing more can be written in ``folder``, and what to do; empty where it can be.

    Raises OSError for any other reason, such as a failing disk or missing rights.
    """
    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as room:
            written = 0
            while written < _ROOM:
                written += room.write(bytes(_ROOM - written))
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise
        return _REASONS[error.errno]
    return ""


def open_as_it_is(database: Path) -> SqliteConnection:
    """A connection that only reads ``database`` and needs no room. Raises sqlite3.Error."""
    log = database.with_name(f"{database.name}-wal")
    is_whole = not log.exists() or not log.stat().st_size
    # With a log its index is there, too: who wrote the log had room for it.
    mode = "mode=ro&immutable=1" if is_whole else "mode=ro"
    return sqlite3.connect(
        f"{database.as_uri()}?{mode}",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        factory=SqliteConnection,
    )


def is_full(error: sqlite3.Error | OSError) -> bool:
    """Whether ``error`` can mean that there is no room, or that nothing may be written."""
    if isinstance(error, OSError):
        return error.errno in UNWRITABLE
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in {
        sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN,
    }  # fmt: skip
