"""The process that reads other programs' databases: ``databases`` starts it with ``python -m``."""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from mem_search.limited_process import serve
from mem_search.regular_file import kind_of, open_regular_file
from mem_search.sources.databases import MISSING, SECONDS, Refusal, Row

MAX_FILE: Final = 64 * 2**30
MAX_VALUE: Final = 64 * 2**20
"""Bytes of one value; the longest text that an agent keeps has a few megabytes."""

MAX_REPLY: Final = 128 * 2**20
"""Bytes of the values of one reply, which the worker holds in memory."""

MAX_GROWTH: Final = 8
"""All replies together have at most so many times the bytes of the file: a row of ours repeats what
it has from its session, and no more."""

MIN_TOTAL: Final = 32 * 2**20
"""Bytes that all replies may have, however small the file is."""

_BUSY_SECONDS: Final = 5.0
_MEMORY: Final = "reading it needs more than {megabytes} MB of memory"
_STEPS: Final = 10_000
"""Steps of SQLite's machine between two looks at the clock: a fraction of a millisecond."""

_LIMITS: Final = {
    sqlite3.SQLITE_LIMIT_LENGTH: MAX_VALUE,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_COLUMN: 500,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 200,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 20,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 100_000,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_FUNCTIONS: Final = frozenset({"count", "coalesce", "max", "min"})
"""Those that our queries name. Whatever else would run stands in the file."""

_PLAIN: Final = ("table", "shadow")
_GENERATED: Final = (2, 3)
"""What ``pragma table_xinfo`` says in ``hidden`` of a generated column."""


class _Opened:
    """One database. Errors are sqlite3.Error, OSError and ValueError."""

    def __init__(
        self, path: Path, needed: tuple[str, ...], optional: tuple[str, ...], *, as_bytes: bool
    ) -> None:
        size = _size(path)
        if not size:
            raise _Missing("it is empty: its program has stored nothing in it yet")
        self._connection = connection = sqlite3.connect(
            f"{path.as_uri()}?mode=ro", uri=True, timeout=_BUSY_SECONDS, isolation_level=None
        )
        try:
            for limit, most in _LIMITS.items():
                connection.setlimit(limit, most)
            for pragma in ("trusted_schema = off", "cell_size_check = on", "mmap_size = 0",
                           "query_only = on", "temp_store = memory"):  # fmt: skip
                connection.execute(f"pragma {pragma}")
            self._until = 0.0
            connection.set_progress_handler(lambda: time.process_time() > self._until, _STEPS)
            self._left = max(MIN_TOTAL, MAX_GROWTH * size)
            self._until = time.process_time() + SECONDS / 2
            self.columns = self._examined((*needed, *optional))
            if missing := [name for name in needed if name not in self.columns]:
                raise _Missing(f"it has no table {', '.join(missing)}")
            allowed = {name.lower() for name in self.columns}
            connection.set_authorizer(
                lambda action, name, other, _, inside: _verdict(
                    action, name, other, inside, allowed
                )
            )
            connection.text_factory = bytes if as_bytes else _replaced
        except BaseException:
            connection.close()
            raise

    def rows(self, sql: str, values: tuple[object, ...]) -> list[Row]:
        self._until = time.process_time() + SECONDS / 2
        rows: list[Row] = []
        size = 0
        for row in self._connection.execute(sql, values):
            size += sum(len(value) if isinstance(value, str | bytes) else 8 for value in row)
            if size > MAX_REPLY:
                raise ValueError(f"a part of it has more than {MAX_REPLY // 2**20} MB")
            if size > self._left:
                raise ValueError("it answers with far more than it holds (an archive bomb)")
            rows.append(row)
        self._left -= size
        return rows

    def close(self) -> None:
        self._connection.close()

    def _examined(self, tables: tuple[str, ...]) -> dict[str, frozenset[str]]:
        """Table → its columns. Raises ValueError for what only looks like a table."""
        execute = self._connection.execute
        columns = {}
        kinds = {row[1].lower(): row[2] for row in execute("pragma main.table_list")}
        for table in tables:
            definitions = execute(
                "select type, rootpage, sql from sqlite_master where name = ? collate nocase"
                " and type in ('table', 'view')", (table,)
            ).fetchall()  # fmt: skip
            if not definitions and table.lower() not in kinds:
                continue
            # The list of the file may lie about what it creates; SQLite before 3.37 has no other.
            is_plain = definitions and all(
                kind == "table" and root and str(sql).startswith("CREATE TABLE ")
                for kind, root, sql in definitions
            )
            if not is_plain or (kinds and kinds.get(table.lower()) not in _PLAIN):
                raise ValueError(f"its {table} is not a plain table, but runs what the file says")
            listed = execute(f"pragma main.table_xinfo({table})").fetchall()
            if generated := [row[1] for row in listed if row[6] in _GENERATED]:
                raise ValueError(f"its {table} has generated columns ({', '.join(generated)})")
            columns[table] = frozenset(row[1] for row in listed)
        return columns


def _replaced(text: bytes) -> str:
    return text.decode("utf-8", "replace")


class _Missing(ValueError):
    """A table is not there."""


def _size(path: Path) -> int:
    """Bytes of the database and its log. Raises OSError for what is no file."""
    with open_regular_file(path, max_bytes=MAX_FILE) as file:
        size = os.fstat(file.fileno()).st_size
    for end in ("-wal", "-shm", "-journal"):
        beside = path.with_name(path.name + end)
        try:
            status = beside.lstat()
        except FileNotFoundError:
            continue
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"{beside.name} beside it is {kind_of(status.st_mode)}")
        size += status.st_size if end == "-wal" else 0
    return size


def _verdict(
    action: int, name: str | None, other: str | None, inside: str | None, allowed: set[str]
) -> int:
    """Whether a part of a query may run: what reads these tables, and nothing within a view."""
    if inside is None and (
        action == sqlite3.SQLITE_SELECT
        or (action == sqlite3.SQLITE_READ and str(name).lower() in allowed)
        or (action == sqlite3.SQLITE_FUNCTION and str(other).lower() in _FUNCTIONS)
    ):
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _load() -> Callable[[tuple[Any, ...]], object]:
    opened: list[_Opened] = []

    def work(asked: tuple[Any, ...]) -> object:
        what, *given = asked
        try:
            if what == "open":
                path, needed, optional, as_bytes = given
                opened.append(_Opened(Path(path), needed, optional, as_bytes=as_bytes))
                return opened[-1].columns
            if what == "close":
                opened.pop().close()
                return None
            return opened[-1].rows(*given)
        except _Missing as error:
            return Refusal(str(error), MISSING)
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", "")
            if name == "SQLITE_INTERRUPT":
                return Refusal(f"a query takes more than {SECONDS // 2} seconds of processor time")
            return Refusal(str(error), name)
        except OSError as error:
            return Refusal(error.strerror or str(error))
        except ValueError as error:
            return Refusal(str(error))

    return work


if __name__ == "__main__":
    serve(_load, memory=_MEMORY)
