"""Redacting again what an older version stored, with the rules of today."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence

from mem_search.model import Record
from mem_search.model.ingest import PreparedDraft
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.postgres.migrations import KEYS
from mem_search.storage.postgres.record_writer import RecordWriter
from mem_search.storage.rules.redacted_texts import SEALED, TEXTS
from mem_search.storage.sql.connection import Repository, reads, writes


class PostgresRedacting(Repository):
    """``ports.RedactingStore``."""

    @reads
    def rules(self, connection: Connection) -> str:
        return str(connection.one("select redacted_by from stores")[0])

    @writes
    def note_rules(self, connection: Connection, rules: str) -> None:
        connection.execute("update stores set redacted_by = %s", (rules,))

    @writes
    def replace(self, connection: Connection, items: Sequence[tuple[Record, PreparedDraft]]) -> int:
        writer = RecordWriter(connection)
        replaced = 0
        for record, prepared in items:
            draft = prepared.draft
            if _changed_since(connection, record):
                continue
            taken = connection.maybe(
                "select 1 from records where source = %s and source_id = %s and id != %s",
                (draft.source, draft.source_id, record.number),
            )
            if taken:  # it was imported again under its redacted name
                writer.remove([record.number], forget=False)
            else:
                connection.execute(
                    "update records set source = %s, source_id = %s where id = %s",
                    (draft.source, draft.source_id, record.number),
                )
                writer.store([prepared])
            replaced += 1
        return replaced

    @writes
    def relate(self, connection: Connection, items: Sequence[tuple[Record, PreparedDraft]]) -> int:
        writer = RecordWriter(connection)
        same = [each for each in items if not _changed_since(connection, each[0])]
        writer.relate([(r.number, r.created_at, item) for r, item in same])
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
    row = connection.maybe("select title, body from records where id = %s", (record.number,))
    return row != (record.title, record.text)


def _as_text(connection: Connection, table: str, column: str) -> tuple[str, str]:
    """How the column is read as text, and the type of it."""
    (sort,) = connection.one(
        "select format_type(atttypid, atttypmod) from pg_attribute"
        " where attrelid = %s::regclass and attname = %s",
        (table, column),
    )
    return (f"convert_from({column}, 'UTF8')" if sort == "bytea" else f"{column}::text"), sort


def _values(connection: Connection, table: str, column: str) -> list[str]:
    text, sort = _as_text(connection, table, column)
    found = connection.column(f"select distinct {text} from {table} where {column} is not null")
    # As it was written: rules look for secrets in the JSON that a person wrote.
    return [json.dumps(json.loads(each)) for each in found] if sort == "jsonb" else found


def _changed(values: Sequence[str], change: Callable[[str], str]) -> list[tuple[str, str]]:
    return [(new, old) for old in values if (new := change(old)) != old]


def _put(connection: Connection, table: str, column: str, values: Sequence[tuple[str, str]]) -> int:
    """Write the better texts. Where that makes the key of another row, the other row goes."""
    text, sort = _as_text(connection, table, column)
    new = "convert_to(%(new)s, 'UTF8')" if sort == "bytea" else f"%(new)s::{sort}"
    old = "%(old)s::jsonb" if sort == "jsonb" else "%(old)s::text"
    here = column if sort == "jsonb" else text
    key = [name for name in KEYS[table].split(", ") if name]
    changed = 0
    for better, worse in values:
        value = {"new": better, "old": worse}
        if column in key or column == "name":
            others = "".join(
                f" and o.{each} = t.{each}" for each in key if each not in (column, "id")
            )
            connection.execute(
                f"delete from {table} o using {table} t where o.{column} = {new}"
                f" and t.{column} = {old}{others}",
                value,
            )
        changed += connection.execute(
            f"update {table} set {column} = {new} where {here} = {old}", value
        ).rowcount
    return changed
