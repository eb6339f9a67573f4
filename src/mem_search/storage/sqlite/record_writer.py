"""Storing and removing records in a file (``storage.sql.record_writer``): FTS5 has the words."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from mem_search.model.ingest import PreparedDraft
from mem_search.storage.sql.connection import writes
from mem_search.storage.sql.ingest import Ingest
from mem_search.storage.sql.passage_rows import Text
from mem_search.storage.sql.record_writer import Conversation, Writer
from mem_search.storage.sqlite.database import Connection
from mem_search.storage.sqlite.tombstones import SqliteTombstones

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
        for number in numbers:
            # The text is read once: SQLite reads all of a long one for each passage cut from it.
            row = self._connection.execute(
                "select title, body from records where id = ?", (number,)
            ).fetchone()
            if row is None:
                continue
            title, body = row
            # An external-content FTS5 table needs the old values to delete a row
            # (https://sqlite.org/fts5.html#the_delete_command).
            self._connection.executemany(
                "insert into passages_fts(passages_fts, rowid, title, text, parts, people)"
                " values('delete', ?, ?, ?, ?, ?)",
                [
                    (passage, title, body[start:end], parts, people)
                    for passage, start, end, parts, people in self._connection.execute(
                        "select id, span_start, span_end, parts, people from passages"
                        " where record_id = ? and ordinal >= 0",
                        (number,),
                    )
                ],
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
        row = connection.execute("select value from meta where key = ?", (key,)).fetchone()
        then, before = json.loads(row[0]) if row else (day, 0)
        used = tokens + (int(before) if then == day else 0)
        if tokens:
            connection.execute(
                "insert or replace into meta(key, value) values(?, ?)",
                (key, json.dumps([day, used])),
            )
        return used
