"""Connections to one SQLite file with the settings that all of them have."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

MAPPED = 2**31 - 2**16
"""Bytes of the file that a connection may map."""

_PRAGMAS = f"""
pragma foreign_keys = on;
pragma synchronous = normal;
pragma temp_store = memory;
pragma cache_size = -8192;
pragma mmap_size = {MAPPED};
pragma journal_size_limit = 67108864;
pragma secure_delete = on;
"""


def prepared(
    opened: sqlite3.Connection | None, path: Path, busy_seconds: float, *, readonly: bool
) -> sqlite3.Connection:
    """``opened``, or a new connection, with our settings. Raises sqlite3.Error."""
    # check_same_thread is off only so that ``Database.close`` may close it from elsewhere.
    connection = opened or sqlite3.connect(
        path, timeout=busy_seconds, isolation_level=None, check_same_thread=False
    )
    try:
        connection.executescript(_PRAGMAS)
        if readonly:
            connection.execute("pragma query_only = on")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def log_ahead(connection: sqlite3.Connection, seconds: float) -> None:
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
