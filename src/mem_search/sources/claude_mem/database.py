"""A claude-mem database, opened read-only beside the program that writes it.

It is opened with ``mode=ro``, which sees what is still in the write-ahead log; ``immutable`` and a
copy of the file would not. Each query is a short read transaction of its own, so claude-mem's
checkpoints are not delayed. SQLite may create an empty ``-wal`` and a ``-shm`` file beside a
database that no program has open; the database file itself is never changed.
"""

from __future__ import annotations

import sqlite3
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from mem_search.errors import SourceError
from mem_search.sources.claude_mem.changes import BLOCK, Row
from mem_search.sources.claude_mem.tables import NEEDED, TABLES, Table

FILE_NAME: Final = "claude-mem.db"
BUSY_SECONDS: Final = 5.0
_SETTLED_SECONDS: Final = 2.0
"""File times are coarse: a file that changed more recently may change again unnoticed."""


class Database:
    """An open database. Inside ``open_database`` errors of SQLite become SourceError."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._connection = connection
        # No views: a store that somebody uploads must not run queries of its own.
        listing = connection.execute("select name from sqlite_master where type = 'table'")
        names = {name.decode(errors="replace") for (name,) in listing}
        if missing := [name for name in NEEDED if name not in names]:
            raise SourceError(
                f"{path} is not a claude-mem store: it has no table {', '.join(missing)}"
            )
        sessions = self._columns("sdk_sessions")
        self._queries: dict[str, str] = {}
        for table in TABLES:
            if table.name in names:
                columns = self._columns(table.name)
                if "id" not in columns:
                    raise SourceError(f"{path} is not a claude-mem store: {table.name} has no id")
                self._queries[table.name] = table.select(columns, sessions)

    @property
    def tables(self) -> Sequence[Table]:
        """The tables that this database has."""
        return [table for table in TABLES if table.name in self._queries]

    @property
    def created(self) -> str:
        """When claude-mem created this database, as text; empty if it did not write it down."""
        try:
            (moment,) = self._connection.execute(
                "select min(applied_at) from schema_versions"
            ).fetchone()
        except sqlite3.OperationalError:  # no such table, or no such column
            return ""
        return moment.decode(errors="replace") if isinstance(moment, bytes) else ""

    def count(self, table: Table) -> int:
        (count,) = self._connection.execute(f"select count(*) from {table.name}").fetchone()  # noqa: S608
        return int(count)

    def blocks(self, table: Table) -> list[int]:
        """The numbers of the blocks of ids that have rows, in order."""
        sql = f"select distinct id / {BLOCK} from {table.name} where id >= 0 order by 1"  # noqa: S608
        return [int(number) for (number,) in self._connection.execute(sql).fetchall()]

    def rows(self, table: Table, block: int) -> list[Row]:
        """The block's rows in order of id, each id once."""
        first = block * BLOCK
        rows = self._connection.execute(
            self._queries[table.name], (first, first + BLOCK - 1)
        ).fetchall()
        return list({row[0]: row for row in reversed(rows)}.values())[::-1]

    def _columns(self, table: str) -> set[str]:
        rows = self._connection.execute(f"pragma table_info({table})").fetchall()
        return {row[1].decode(errors="replace") for row in rows}


def find_database(place: Path) -> Path:
    """The database file at ``place``, which is the file or the directory it is in."""
    file = place
    try:
        file = place / FILE_NAME if place.is_dir() else place
        is_file = stat.S_ISREG(file.stat().st_mode)
    except FileNotFoundError:
        raise SourceError(f"there is no {file}; sync again once claude-mem has made it") from None
    except OSError as error:
        raise SourceError(
            f"{place} cannot be reached: {error.strerror}; give this user access to it"
        ) from error
    if not is_file:  # opening a pipe would wait for ever
        raise SourceError(f"{file} is no file; name the database of claude-mem", field="path")
    return file


@contextmanager
def open_database(path: Path) -> Iterator[Database]:
    """Open the database at ``path``. Raises SourceError that says what to do next."""
    try:
        with closing(_connect(path)) as connection:
            yield Database(path, connection)
    except sqlite3.Error as error:
        raise _refusal(path, error) from error


def signature(path: Path) -> list[int] | None:
    """Times and sizes of the database and its log: equal values mean that nothing changed.

    None when it changed too recently to tell. An empty log counts as none: opening a database
    can create one.
    """
    values: list[int] = []
    for file in (path, path.with_name(path.name + "-wal")):
        try:
            stat = file.stat()
        except OSError:
            stat = None  # there is no log; a missing database raises when it is opened
        if stat is None or not stat.st_size:
            values += [0, 0]
        elif 0 <= time.time() - stat.st_mtime < _SETTLED_SECONDS:
            return None
        else:
            values += [stat.st_mtime_ns, stat.st_size]
    return values


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,  # each batch of a reading may run in another thread
    )
    # Most rows are compared and never decoded, and text that is not UTF-8 must not stop a reading.
    connection.text_factory = bytes
    connection.execute("pragma trusted_schema = off")
    return connection


def _refusal(path: Path, error: sqlite3.Error) -> SourceError:
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return SourceError(f"{path} is locked by another program; sync again in a minute")
    if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
        return SourceError(
            f"{path} is not a readable SQLite database ({error});"
            f" check it with: sqlite3 '{path}' 'pragma integrity_check'"
        )
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_IOERR")):
        return SourceError(
            f"{path} cannot be opened ({error}): reading beside claude-mem needs its -wal and"
            f" -shm files, so {path.parent} must be readable and writable by this user"
        )
    return SourceError(f"{path} cannot be read as a claude-mem store: {error}")
