"""Redacting again what an older version stored, with the rules of today."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final

from mem_search.model import Record
from mem_search.model.ingest import PreparedDraft
from mem_search.storage.sql.connection import Connection, Json, Repository, reads, writes
from mem_search.storage.sql.record_writer import Writer

TEXTS: Final[Mapping[str, tuple[str, ...]]] = {
    "archives": ("name", "research", "pages", "statistics"),
    "cursors": ("location", "label", "options", "cursor", "error"),
    "ledger": ("location", "item", "reason"),
    "jobs": ("params", "message", "result"),
    "search_log": ("query", "filters"),
    "clicks": ("query",),
    "search_operations": ("session_id", "query", "request", "report"),
    "search_jobs": ("request", "result", "error"),
    "saved_searches": ("name", "request", "error"),
    "scopes": ("name", "filter"),
    "webhook_deliveries": ("body", "error"),
}
"""Table → its columns with text from outside, beside the records and what is derived from them."""

_SEALED: Final = (
    ("search_jobs", "webhook_url"), ("saved_searches", "webhook_url"),
    ("webhook_deliveries", "url"),
)  # fmt: skip
"""Columns with the URLs of webhooks, which are sealed."""

_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "archives": ("name",),
    "cursors": ("source", "location"),
    "ledger": ("source", "location", "item"),
    "saved_searches": ("name",),
    "scopes": ("name",),
}
"""Table → the columns that no two rows have alike, where texts of ``TEXTS`` are among these."""

_WITHOUT_CASE: Final = ("saved_searches", "scopes")
"""Tables whose names are alike without regard to case."""


class StoredRedacting(Repository):
    """Redacting again what other rules redacted."""

    writer: ClassVar[type[Writer]]
    """What stores and removes records in a transaction."""
    noted_rules: ClassVar = "select redacted_by from stores"
    keep_rules: ClassVar = "update stores set redacted_by = %s"

    @reads
    def rules(self, connection: Connection) -> str:
        """By which rules the texts were redacted; empty for those of an older version."""
        noted = connection.maybe(self.noted_rules)
        return noted[0] if noted else ""

    @writes
    def note_rules(self, connection: Connection, rules: str) -> None:
        """All texts are redacted by these rules."""
        connection.execute(self.keep_rules, (rules,))

    @writes
    def replace(self, connection: Connection, items: Sequence[tuple[Record, PreparedDraft]]) -> int:
        """Give records, as they were read, another content and identity; returns how many.

        Each keeps its number. One that changed since it was read stays as it is.
        """
        writer = self.writer(connection)
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
        """Give records, as they were read, the edges, names and phrases of today; returns how many.

        Their content stays, so nothing is embedded again. One that changed since stays as it is.
        """
        writer = self.writer(connection)
        same = [each for each in items if not _changed_since(connection, each[0])]
        writer.relate([(r.number, r.created_at, item) for r, item in same])
        return len(same)

    async def redact_texts(self, clean: Callable[[str], str], seal: Callable[[str], str]) -> int:
        """Apply ``clean`` to every text beside the records, ``seal`` to the URLs of webhooks.

        Returns how many rows changed.
        """
        places = [(table, column, clean) for table, names in TEXTS.items() for column in names]
        places += [(table, column, seal) for table, column in _SEALED]
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


def _values(connection: Connection, table: str, column: str) -> list[Any]:
    return connection.column(f"select distinct {column} from {table} where {column} is not null")


def _changed(values: Sequence[Any], change: Callable[[str], str]) -> list[tuple[Any, Any]]:
    """Each value that ``change`` makes another one, and that; both as they are stored."""
    changed: list[tuple[Any, Any]] = []
    for value in values:
        match value:
            case str():
                if (new := change(value)) != value:
                    changed.append((value, new))
            case bytes():  # as it is sent
                text = value.decode("utf-8", "replace")
                if (new := change(text)) != text:
                    changed.append((value, new.encode()))
            case _:  # rules look for secrets in the JSON that a person wrote
                text = json.dumps(value)
                if (new := change(text)) != text:
                    changed.append((Json(value), Json(json.loads(new))))
    return changed


def _put(connection: Connection, table: str, column: str, values: Sequence[tuple[Any, Any]]) -> int:
    """Write the better texts. Where that makes the key of another row, the other row goes."""
    changed = 0
    for old, new in values:
        if column in _KEYS.get(table, ()):
            others = "".join(
                f" and t.{each} = {table}.{each}" for each in _KEYS[table] if each != column
            )
            same = "lower({}) = lower(%s)" if table in _WITHOUT_CASE else "{} = %s"
            connection.execute(
                f"delete from {table} where {same.format(f'{table}.{column}')} and {column} != %s"
                f" and exists (select 1 from {table} t where t.{column} = %s{others})",
                (new, old, old),
            )
        changed += connection.execute(
            f"update {table} set {column} = %s where {column} = %s", (new, old)
        ).rowcount
    return changed
