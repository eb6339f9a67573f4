"""Storing what sources read: batches with their cursor, followed locations, the ledger."""

from __future__ import annotations

import json
from functools import partial
from typing import Final

from mem_search.errors import Conflict
from mem_search.model import Location
from mem_search.model.ingest import (
    IngestCounts,
    PreparedBatch,
    PreparedDraft,
    Stored,
    with_counted,
)
from mem_search.model.records import CONTENT_ID
from mem_search.storage.rules.own_ids import Known, with_own_ids
from mem_search.storage.sql.connection import writes
from mem_search.storage.sql.ingest import Ingest, note, result_of, save_cursor, strike
from mem_search.storage.sqlite import record_writer, tombstones
from mem_search.storage.sqlite.database import Connection

TOKENS: Final = "tokens "
"""The key of a task's tokens in ``meta`` begins so; the value is [day, count] as JSON."""


class SqliteIngest(Ingest):
    """``ports.IngestStore``: stores what sources read."""

    @writes
    def store_batch(
        self,
        connection: Connection,
        location: Location,
        prepared: PreparedBatch,
        *,
        followed: bool,
        job: str = "",
    ) -> IngestCounts:
        batch = prepared.batch
        offered = with_own_ids(prepared.drafts, partial(_known, connection))
        tombstones.add(connection, batch.tombstones)
        if batch.even_forgotten:
            for item in offered:
                tombstones.lift(connection, item.draft)
        stored = record_writer.store(connection, offered)
        back = [
            item.draft.source_id
            for item, done in zip(offered, stored, strict=True)
            if done.outcome == "new"
        ]
        deleted = record_writer.remove_by_source_id(connection, location.source, batch.deletions)
        deleted += record_writer.remove_released(connection, location.source, batch.released)
        strike(connection, location, [*batch.outdated, *back])
        note(connection, location, prepared.ledger(stored))
        save_cursor(connection, location, batch.cursor, followed=followed)
        counts = prepared.counts(stored, deleted)
        if job:
            result = with_counted(result_of(connection, job), location, counts)
            connection.execute("update jobs set result = ? where id = ?", (json.dumps(result), job))
        return counts

    @writes
    def store_one(
        self,
        connection: Connection,
        prepared: PreparedDraft,
        *,
        replace: bool,
        even_forgotten: bool,
    ) -> Stored:
        (offered,) = with_own_ids([prepared], partial(_known, connection))
        draft = offered.draft
        if even_forgotten:
            tombstones.lift(connection, draft)
        (stored,) = record_writer.store(connection, [offered])
        if stored.outcome == "changed" and not replace:
            raise Conflict(  # which takes the change back
                f"{draft.kind}:{stored.number} has this source_id and says something else;"
                " to replace it: replace=true",
                field="source_id",
            )
        if stored.outcome == "forgotten":
            raise Conflict(
                "this record was forgotten; to store it again: even_forgotten=true",
                field="source_id",
            )
        return stored

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


def _known(connection: Connection, source: str, source_id: str, other: str) -> list[Known]:
    rows = connection.execute(
        f"select source_id, kind, json_extract(data, '$.{CONTENT_ID}') from records"
        " where source = ? and source_id in (?, ?)",
        (source, source_id, other),
    )
    return [Known(*row) for row in rows]
