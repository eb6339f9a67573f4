"""Records in a file: stored, removed, refused and forgotten.

Beside ``storage.sql`` that is what FTS5 has of their words, tombstones whose keys have a table of
their own, and the bytes that deletions leave.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from mem_search.errors import StorageError
from mem_search.model.forgetting import Tombstone
from mem_search.model.ingest import PreparedDraft
from mem_search.storage.rules.quotes import MIN_TELLING_LETTERS, noted
from mem_search.storage.sql.connection import Connection, writes
from mem_search.storage.sql.forgetting import StoredForgetting
from mem_search.storage.sql.ingest import Ingest
from mem_search.storage.sql.passage_rows import Text
from mem_search.storage.sql.quotes import FACETS, Quotes
from mem_search.storage.sql.record_writer import Conversation, Writer
from mem_search.storage.sql.tombstones import Row, Tombstones
from mem_search.storage.sqlite import odd_rows, posting_lists, words
from mem_search.storage.sqlite.connection import SqliteConnection
from mem_search.storage.sqlite.database import Database
from mem_search.storage.sqlite.filters import FILTERS
from mem_search.storage.sqlite.postings import Postings


class SqliteTombstones(Tombstones):
    """Those of a file, in one transaction."""

    rows = (
        "(select t.digest, k.key, t.forgotten_at from tombstones t"
        " join tombstone_keys k on k.id = t.key_id)"
    )
    own_key = "select key from tombstone_keys where id = 1"
    known_keys = "select key from tombstone_keys"
    keys = f"{known_keys} where exists (select 1 from tombstones)"
    insert = (
        "insert into tombstones(digest, key_id, forgotten_at) select %(digest)s, id, %(at)s"
        " from tombstone_keys where key = %(key)s on conflict(digest, key_id)"
    )
    delete = (
        "delete from tombstones where digest = %s"
        " and key_id = (select id from tombstone_keys where key = %s)"
    )

    def _stored(self, wanted: Collection[tuple[bytes, bytes]]) -> Iterable[Row]:
        each = f"select digest, key, forgotten_at from {self.rows} where digest = ? and key = ?"
        return [row for place in wanted for row in self._connection.execute(each, place)]

    def _add_keys(self, keys: Collection[bytes]) -> None:
        self._connection.many("insert into tombstone_keys(key) values(%s)", [(k,) for k in keys])


def tombstones_of_file(database: Path) -> list[Tombstone]:
    """All of a store that nobody has open, which stays as it is. Raises StorageError."""
    address = f"{database.absolute().as_uri()}?mode=rw"
    try:
        with closing(sqlite3.connect(address, uri=True, factory=SqliteConnection)) as opened:
            return SqliteTombstones(opened).page(None, -1)
    except sqlite3.Error as error:
        raise StorageError(str(error)) from error


TOKENS: Final = "tokens "
"""The key of a task's tokens in ``meta`` begins so; the value is [day, count] as JSON."""


class RecordWriter(Writer):
    """Writes records of one transaction."""

    tombstones = SqliteTombstones

    def _last_numbers(self) -> tuple[int, int]:
        # As SQLite itself numbers a key that only grows.
        records, passages = (
            self._connection.count(
                "select max(coalesce(max(id), 0), coalesce((select seq from sqlite_sequence"
                f" where name = '{table}'), 0)) from {table}"
            )
            for table in ("records", "passages")
        )
        return records, passages

    def _finish(self) -> None:
        """Nothing: keys count themselves, and triggers the words."""

    def _json(self, metadata: Mapping[str, Any]) -> str:
        return json.dumps(metadata, ensure_ascii=False, sort_keys=True)

    def _last_positions(self, asked: Sequence[Conversation]) -> dict[Conversation, int]:
        last = (
            "select coalesce(max(position), 0) from records"
            " where session = ? and project = ? and kind = ?"
        )
        return {each: self._connection.execute(last, each).fetchone()[0] for each in asked}

    def _unindex(self, numbers: Collection[int]) -> None:
        # An external-content FTS5 table needs the old values to delete a row
        # (https://sqlite.org/fts5.html#the_delete_command).
        self._connection.executemany(
            "insert into passages_fts(passages_fts, rowid, title, text, parts, people)"
            " values('delete', ?, ?, ?, ?, ?)",
            posting_lists.texts(self._connection, numbers),
        )

    def _index(self, items: Sequence[PreparedDraft], texts: Sequence[Text]) -> None:
        self._connection.executemany(
            "insert into passages_fts(rowid, title, text, parts, people) values(?, ?, ?, ?, ?)",
            texts,
        )


class SqliteIngest(Ingest):
    """``sql.ingest.Ingest``: stores what sources read."""

    writer = RecordWriter

    @writes
    def count_tokens(self, connection: Connection, task: str, day: str, tokens: int) -> int:
        key = f"{TOKENS}{task}"
        row = connection.maybe("select value from meta where key = %s", (key,))
        then, before = json.loads(row[0]) if row else (day, 0)
        used = tokens + (int(before) if then == day else 0)
        if tokens:
            connection.execute(
                "insert or replace into meta(key, value) values(?, ?)",
                (key, json.dumps([day, used])),
            )
        return used


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

    def __init__(self, database: Database, postings: Postings) -> None:
        super().__init__(database)
        self._postings = postings

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
        await self._postings.without_deleted()

    async def rewrite_file(self) -> None:
        await self._database.alone(_vacuumed)


def _merged(connection: SqliteConnection, table: str, pages: int) -> bool:
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
