"""Forgetting in a file (``storage.sql.forgetting``): also the bytes that deletions leave."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from typing import Final

from mem_search.errors import StorageError
from mem_search.storage.rules.quotes import MIN_TELLING_LETTERS, noted
from mem_search.storage.sql.connection import Connection
from mem_search.storage.sql.forgetting import StoredForgetting
from mem_search.storage.sql.quotes import FACETS, Quotes
from mem_search.storage.sqlite import odd_rows, words
from mem_search.storage.sqlite.database import Connection as FileConnection
from mem_search.storage.sqlite.filters import FILTERS
from mem_search.storage.sqlite.record_writer import RecordWriter

_PAGES: Final = 500
"""Pages of the full-text index that one step merges: about 30 ms."""

_IN_MEMORY: Final = 64 << 20
"""Bytes of a database that is written anew in memory; a larger one in an unnamed temporary file."""

_PATIENCE: Final = 10.0


class SqliteQuotes(Quotes):
    """The full-text index says which records have a word."""

    word = "term"

    def only_in(self, wanted: set[str], chosen: Sequence[int]) -> Iterator[str]:
        numbers = set(chosen)
        unknown = set()
        for word in wanted:
            if len(word) < MIN_TELLING_LETTERS:
                continue
            holders = self._connection.execute(
                "select rowid from words_fts where words_fts match ?", (f'"{word}"',)
            )
            first = next(holders, None)
            if first is None:
                unknown.add(word)  # it may be in a tag, a source id or metadata
            elif first[0] in numbers and all(number in numbers for (number,) in holders):
                yield word
        if unknown:
            beside = f"select r.data, r.source_id, r.url, {FACETS} from records r where r.id = %s"
            for number in numbers:
                data, *texts = self._connection.maybe(beside, (number,)) or ("{}",)
                yield from unknown & noted(texts, data)

    def as_text(self, column: str) -> str:
        return f"cast({column} as text)"


class SqliteForgetting(StoredForgetting):
    """Forgetting in a file, which is written anew."""

    writer = RecordWriter
    quotes = SqliteQuotes
    where = staticmethod(FILTERS.where)

    def _open(self, connection: Connection, *, purge: bool) -> str:
        # Rows that were set aside may quote what is forgotten, in no form that can be looked
        # through.
        connection.execute("delete from meta where key = ?", (odd_rows.KEY,))
        return super()._open(connection, purge=purge)

    async def merge_words(self) -> None:
        # A first negative number takes all segments into one merge, the following continue it
        # until they change nothing (https://sqlite.org/fts5.html#the_merge_command).
        for table in words.FILLED_BY:
            pages = -_PAGES
            while await self._database.write(_merged, table, pages):
                pages = _PAGES

    async def rewrite_file(self) -> None:
        await self._database.alone(_vacuumed)


def _merged(connection: FileConnection, table: str, pages: int) -> bool:
    """Merge some pages of the full-text index; whether there was anything to merge."""
    before = connection.total_changes
    connection.execute(f"insert into {table}({table}, rank) values('merge', ?)", (pages,))
    return connection.total_changes - before >= 2


def _vacuumed(connection: sqlite3.Connection) -> None:
    """Write the file anew and empty its log.

    ``secure_delete`` zeroes what is deleted, but copies that a balanced page leaves behind go only
    with the page. Raises StorageError when another process reads for too long.
    """
    (pages,) = connection.execute("pragma page_count").fetchone()
    (size,) = connection.execute("pragma page_size").fetchone()
    # SQLite makes the new file in the place of temporary tables, and then copies it.
    connection.execute(f"pragma temp_store = {'file' if pages * size > _IN_MEMORY else 'memory'}")
    try:
        connection.execute("vacuum")
    finally:
        connection.execute("pragma temp_store = memory")
    deadline = time.monotonic() + _PATIENCE
    while True:
        (busy, *_) = connection.execute("pragma wal_checkpoint(truncate)").fetchone()
        if not busy:
            return
        if time.monotonic() > deadline:
            raise StorageError("the database's log is in use by another process")
        time.sleep(0.01)
