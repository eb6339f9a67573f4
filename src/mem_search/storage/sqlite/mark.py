"""The mark beside a store: what the store held last, so that a loss is not taken for a new store.

SQLite opens an empty file as an empty database, and reads a write-ahead log up to its first wrong
byte. Both are right for SQLite, and both would lose records in silence. The mark is a small file
with the number of the last commit. It is rewritten in place with every commit, in one write of a
few hundred bytes, so it costs microseconds and needs no free disk.

It has two lines. ``latest`` is exact as long as the machine has not been restarted: a killed
process loses no commit. ``durable`` is what a checkpoint has brought to the disk, and holds after
a loss of power too, which may take the newest commits with it (``synchronous = normal``).
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import time
import zlib
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from shlex import quote
from typing import Final

from mem_search.errors import StoreDamaged
from mem_search.platform.processes import boot
from mem_search.storage.sqlite.connection import as_read
from mem_search.storage.sqlite.unwritable import is_full, open_as_it_is

log = logging.getLogger(__name__)

_LINE: Final = 256
"""Bytes of each of the two lines."""

_PAGE: Final = 4096
"""Bytes of a page; every size that SQLite allows from here up is a multiple, and 4096 is ours."""

_DURABLE_SECONDS: Final = 60.0
"""Between checkpoints for the durable line; SQLite makes further ones by itself."""

_NUMBERS: Final = "select key, value from meta where key in ('store_id', 'commits')"

_COUNT: Final = (
    "insert into meta values('commits', '1')"
    " on conflict(key) do update set value = value + 1 returning cast(value as integer)"
)


@dataclass(frozen=True, slots=True)
class Held:
    """What a store held. ``boot`` names the run of the machine; empty where it has no name."""

    store: str
    commit: int
    records: int
    pages: int
    boot: str


def mark_of(database: Path) -> Path:
    """Where the mark of a store is. Its name begins as the store's does: they move together."""
    return database.with_name(f"{database.name}.mark")


class Mark:
    """Keeps the mark of an open store. Only the writer's thread uses it."""

    def __init__(self, database: Path) -> None:
        self._path = mark_of(database)
        self._file: int | None = None
        self._held = Held("", 0, 0, 0, boot())
        self._durable_at = 0.0

    def open(self, connection: sqlite3.Connection) -> None:
        """Begin to keep it. A mark that cannot be written is logged: the store works without."""
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            self._file = os.open(self._path, flags, 0o600)
        except OSError as error:
            log.warning("cannot keep %s (%s); a lost part would not be noticed", self._path, error)
            return
        self._make_durable(connection, _commit(connection))

    def count(self, connection: sqlite3.Connection, changes: int) -> int:
        """Number the commit that follows; 0 if nothing changed since ``changes``."""
        if connection.total_changes == changes:
            return 0
        (number,) = connection.execute(_COUNT).fetchone()
        return int(number)

    def committed(self, connection: sqlite3.Connection, number: int) -> None:
        """Write down the commit ``number``."""
        if not number or self._file is None:
            return
        if time.monotonic() - self._durable_at > _DURABLE_SECONDS:
            self._make_durable(connection, number)
            return
        self._held = Held(
            self._held.store, number, self._held.records, self._held.pages, self._held.boot
        )
        self._write(1)

    def close(self, connection: sqlite3.Connection | None) -> None:
        """Bring everything to the disk and write that down."""
        if self._file is None:
            return
        if connection is not None:
            try:
                self._make_durable(connection, _commit(connection))
            except sqlite3.Error as error:  # the older mark is still true
                log.warning("the store was not written to the disk in full yet: %s", error)
        os.close(self._file)
        self._file = None

    def _make_durable(self, connection: sqlite3.Connection, number: int) -> None:
        try:
            busy, length, done = connection.execute("pragma wal_checkpoint(passive)").fetchone()
        except sqlite3.OperationalError as error:
            # A full disk. The commit itself is in the log, so who made it must not be told that
            # it failed; the older line is still true.
            log.warning("the store was not written to the disk in full yet: %s", error)
            busy, length, done = 1, 0, 0
        (store,) = connection.execute("select value from meta where key = 'store_id'").fetchone()
        (records,) = connection.execute("select count(*) from records").fetchone()
        (pages,) = connection.execute("pragma page_count").fetchone()
        self._held = Held(store, number, records, pages, self._held.boot)
        self._write(1)
        if not busy and length == done:  # a reader can hold back the rest
            self._write(0)
            self._durable_at = time.monotonic()

    def _write(self, line: int) -> None:
        assert self._file is not None
        text = json.dumps(asdict(self._held), separators=(",", ":")).encode()
        whole = b"%08x %s" % (zlib.crc32(text), text)
        try:
            os.pwrite(self._file, whole.ljust(_LINE - 1) + b"\n", line * _LINE)
            if line == 0:
                os.fsync(self._file)
        except OSError as error:
            log.warning("cannot write %s: %s", self._path, error)


def check(database: Path) -> None:
    """Compare a store with its mark before it is opened; changes nothing. Raises StoreDamaged.

    Without a mark any store is believed. Only its vector index can then say that there was one.
    """
    mark = mark_of(database)
    try:
        content = mark.read_bytes() if mark.is_file() else b""
    except OSError:
        content = b""  # the first commit says so in the log; `doctor` names the file
    if not content:
        if _index_of(database).exists() and not (database.exists() and database.stat().st_size):
            raise damaged(database, "the file is missing or empty, but its vector index is here")
        return
    durable, latest = _read(content[:_LINE]), _read(content[_LINE : 2 * _LINE])
    if latest is not None and (not latest.boot or latest.boot != boot()):
        latest = None
    held = latest or durable
    said = f"it held {held.records} records" if held else "a store was here"
    if not database.exists():
        raise damaged(database, f"the file is missing, but its mark says that {said}")
    if not database.stat().st_size:
        raise damaged(database, f"the file is empty, but its mark says that {said}")
    if held is None:
        return  # only the mark is damaged
    if database.stat().st_size % _PAGE:  # SQLite would fill up the last page with zeros
        raise damaged(database, "it ends in the middle of a page")
    try:
        with closing(reading(database)) as connection:
            stored = dict(connection.execute(_NUMBERS).fetchall())
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
            return  # who opens it says that better
        raise damaged(database, str(error)) from error
    if stored.get("store_id") != held.store:
        raise damaged(database, "it is another store than its mark says")
    commits = str(stored.get("commits", 0))
    if not commits.isdecimal() or int(commits) < held.commit:
        raise damaged(
            database,
            f"it ends with change {commits}, its mark with {held.commit}:"
            " it is an older copy, or its write-ahead log was lost or damaged",
            f"; to go on with what is left: rm {quote(str(mark))}",
        )


def reading(database: Path) -> sqlite3.Connection:
    """A connection that only reads, also where there is no room to open a store as usual.

    Raises sqlite3.Error.
    """
    uri = f"{database.as_uri()}?mode=ro"
    connection = sqlite3.connect(uri, uri=True, timeout=5, isolation_level=None)
    connection.text_factory = as_read
    try:
        connection.execute("select 1 from sqlite_master limit 1").fetchone()
    except sqlite3.OperationalError as error:
        connection.close()
        if not is_full(error):
            raise
        return open_as_it_is(database)
    except sqlite3.DatabaseError:
        connection.close()
        raise
    return connection


def damaged(database: Path, problem: str, other: str = "") -> StoreDamaged:
    """The error for a damaged store: how to examine it, restore it, or begin a new one."""
    return StoreDamaged(
        f"{database} is damaged: {problem}. Nothing was changed. To examine it: mem-search doctor;"
        f" to bring back a backup: mem-search restore --replace FILE;"
        f" {fresh_start_command(database)}{other}"
    )


def fresh_start_command(database: Path) -> str:
    """The command that moves a store aside, so that the next start makes an empty one."""
    aside, files = quote(str(database.parent / "aside")), f"{quote(str(database))}*"
    if (index := _index_of(database).parents[1]).exists():
        files += f" {quote(str(index))}"
    return f"to start anew: mem-search worker stop; mkdir -p {aside} && mv {files} {aside}/"


def _index_of(database: Path) -> Path:
    """The file of Chroma that is there once a vector index was made beside this store."""
    return database.with_name("chroma") / "data" / "chroma.sqlite3"


def _commit(connection: sqlite3.Connection) -> int:
    row = connection.execute("select value from meta where key = 'commits'").fetchone()
    return int(row[0]) if row else 0


def _read(line: bytes) -> Held | None:
    """A line of the mark; None where it is not what was written."""
    crc, _, text = line.rstrip().partition(b" ")
    try:
        if int(crc, 16) != zlib.crc32(text):
            return None
        return Held(**json.loads(text))
    except (ValueError, TypeError):
        return None
