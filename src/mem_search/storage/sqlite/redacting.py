"""Redacting again what an older version stored, with the rules of today."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from mem_search.model import Record
from mem_search.model.ingest import PreparedDraft
from mem_search.storage.rules.redacted_texts import SEALED, TEXTS
from mem_search.storage.sql.connection import Repository, reads, writes
from mem_search.storage.sqlite.database import Connection
from mem_search.storage.sqlite.record_writer import RecordWriter

_KEY: Final = "redacted_by"


class SqliteRedacting(Repository):
    """``ports.RedactingStore``."""

    @reads
    def rules(self, connection: Connection) -> str:
        row = connection.execute("select value from meta where key = ?", (_KEY,)).fetchone()
        return row[0] if row else ""

    @writes
    def note_rules(self, connection: Connection, rules: str) -> None:
        connection.execute("insert or replace into meta(key, value) values(?, ?)", (_KEY, rules))

    @writes
    def replace(self, connection: Connection, items: Sequence[tuple[Record, PreparedDraft]]) -> int:
        replaced = 0
        for record, prepared in items:
            draft = prepared.draft
            if _changed_since(connection, record):
                continue
            if not connection.execute(
                "update or ignore records set source = ?, source_id = ? where id = ?",
                (draft.source, draft.source_id, record.number),
            ).rowcount:  # it was imported again under its redacted name
                RecordWriter(connection).remove([record.number], forget=False)
            else:
                RecordWriter(connection).store([prepared])
            replaced += 1
        return replaced

    @writes
    def relate(self, connection: Connection, items: Sequence[tuple[Record, PreparedDraft]]) -> int:
        same = [each for each in items if not _changed_since(connection, each[0])]
        RecordWriter(connection).relate([(r.number, r.created_at, item) for r, item in same])
        return len(same)

    async def redact_texts(self, clean: Callable[[str], str], seal: Callable[[str], str]) -> int:
        places = [(table, column, clean) for table, names in TEXTS.items() for column in names]
        places += [(table, column, seal) for table, column in SEALED]
        changed = 0
        for table, column, change in places:
            values = await self._database.read(_values, table, column)
            better = await asyncio.to_thread(_changed, values, change)
            if better:
                changed += await self._database.write(_put, table, column, better)
        return changed


def _changed_since(connection: Connection, record: Record) -> bool:
    """Whether a record was imported again or forgotten since it was read."""
    row = connection.execute(
        "select title, body from records where id = ?", (record.number,)
    ).fetchone()
    return bool(row != (record.title, record.text))


def _values(connection: Connection, table: str, column: str) -> list[str]:
    return [
        text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        for (text,) in connection.execute(
            f"select distinct {column} from {table} where {column} is not null"
        )
    ]


def _changed(values: Sequence[str], change: Callable[[str], str]) -> list[tuple[str, str]]:
    return [(new, old) for old in values if (new := change(old)) != old]


def _put(connection: Connection, table: str, column: str, values: Sequence[tuple[str, str]]) -> int:
    if column == "body":  # bytes, as they are sent
        pairs: Sequence[tuple[object, object]] = [(n.encode(), o.encode()) for n, o in values]
    else:
        pairs = values
    return connection.executemany(
        f"update or replace {table} set {column} = ? where {column} = ?", pairs
    ).rowcount
