"""Databases of other programs, and files that somebody sent as one: SQLite, read with limits.

A database is a program as well: a view, a generated column or a virtual table runs when a table of
that name is read, and twenty kilobytes can answer with gigabytes. So a process with limits reads it
(``database_process``): only plain tables, only the functions that our own queries name, and no more
bytes than the file can honestly hold. A program that is writing to the database is not disturbed:
it is opened with ``mode=ro``, which sees what is still in the write-ahead log, and each query is a
short read transaction of its own. SQLite may create an empty ``-wal`` and a ``-shm`` file beside a
database that no program has open; the database itself is never changed.
"""

from __future__ import annotations

import atexit
import shutil
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mem_search.limited_process import Ended, LimitedProcess
from mem_search.regular_file import open_regular_file
from mem_search.sources.base import scratch_folder, unpacking

SECONDS: Final = 60
"""Processor time of one query."""

MEGABYTES: Final = 768
"""Memory of the process; the largest honest reply and its rows take half of that."""

MAX_COPIED_BYTES: Final = 500 * 2**20
"""Bytes of a database that is copied, and of its log."""

_MODULE: Final = "mem_search.sources.database_process"
_IDLE_SECONDS: Final = 30.0
"""So long the process waits for the next database: sessions of an agent are a database each."""

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    """What the process answers instead of rows. ``name`` is that of SQLite's error, if it is one,
    ``MISSING`` where the database has not all tables."""

    reason: str
    name: str = ""


MISSING: Final = "missing"
ENDED: Final = "ended"
"""The name of a Refusal after which nothing more can be asked: the process has ended."""


class UnreadableDatabase(Exception):
    """The database is not read. ``name`` and message are those of the Refusal."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.reason)
        self.name = refusal.name


class ForeignDatabase:
    """An open database. ``columns`` are those of the tables that were asked for and are there."""

    def __init__(self, process: LimitedProcess, columns: Mapping[str, frozenset[str]]) -> None:
        self._process = process
        self.columns = columns

    def rows(self, sql: str, *values: object) -> list[Row]:
        """The rows of a query. Raises UnreadableDatabase, SourceError."""
        rows: list[Row] = _asked(self._process, ("rows", sql, values))
        return rows


@contextmanager
def foreign_database(
    path: Path, needed: Collection[str], optional: Collection[str] = (), *, as_bytes: bool = False
) -> Iterator[ForeignDatabase]:
    """The database at ``path``, of which only these tables are read.

    ``as_bytes``: texts are bytes, so that what is no UTF-8 stops nothing.
    Raises UnreadableDatabase; SourceError without a process.
    """
    process = _IDLE.take()
    try:
        asked = ("open", str(path.absolute()), tuple(needed), tuple(optional), as_bytes)
        yield ForeignDatabase(process, _asked(process, asked))
        _asked(process, ("close",))
    except BaseException:
        process.close()  # what it holds open is not known
        raise
    _IDLE.keep(process)


@contextmanager
def copied_database(path: Path) -> Iterator[Path]:
    """A copy with its log: a browser locks its database, and opening it would write beside it.

    Raises OSError, StorageError where there is no room.
    """
    with unpacking(), scratch_folder() as folder:
        copy = Path(folder, "copy.sqlite")
        _copy(path, copy)
        log = path.with_name(f"{path.name}-wal")
        with suppress(FileNotFoundError):
            _copy(log, copy.with_name(f"{copy.name}-wal"))
        yield copy


def _copy(path: Path, target: Path) -> None:
    with open_regular_file(path, max_bytes=MAX_COPIED_BYTES) as file, target.open("xb") as copy:
        shutil.copyfileobj(file, copy)


def _asked(process: LimitedProcess, work: object) -> Any:
    try:
        reply = process.ask(work)
    except Ended as error:
        raise UnreadableDatabase(Refusal(str(error), ENDED)) from None
    if isinstance(reply, str):  # it needed too much memory
        reply = Refusal(reply)
    if isinstance(reply, Refusal):
        raise UnreadableDatabase(reply)
    return reply


class _Idle:
    """The process that the next reading takes. It ends when none comes for a while."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: LimitedProcess | None = None
        self._timer: threading.Timer | None = None

    def take(self) -> LimitedProcess:
        with self._lock:
            process, self._process = self._process, None
            if self._timer is not None:
                self._timer.cancel()
        limits = {"seconds": SECONDS, "megabytes": MEGABYTES}
        return process or LimitedProcess(_MODULE, "that reads databases", **limits)

    def keep(self, process: LimitedProcess) -> None:
        with self._lock:
            before, self._process = self._process, process
            if self._timer is not None:
                self._timer.cancel()
            self._timer = threading.Timer(_IDLE_SECONDS, self.end)
            self._timer.daemon = True
            self._timer.start()
        if before is not None:
            before.close()

    def end(self) -> None:
        with self._lock:
            process, self._process = self._process, None
            if self._timer is not None:
                self._timer.cancel()
        if process is not None:
            process.close()


_IDLE: Final = _Idle()
atexit.register(_IDLE.end)
