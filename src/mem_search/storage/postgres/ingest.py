"""Storing what sources read: batches with their cursor, followed locations, the ledger."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from mem_search.storage.postgres import tombstones
from mem_search.storage.postgres.connection import Connection, Jsonb
from mem_search.storage.postgres.record_writer import (
    RecordWriter,
    remove_by_source_id,
    remove_released,
)
from mem_search.storage.rules.own_ids import Known, with_own_ids
from mem_search.storage.sql.connection import writes
from mem_search.storage.sql.ingest import Ingest, note, result_of, save_cursor, strike

_LEDGER: Final = "select source, location, item, outcome, reason, records, at from ledger"

_HOME: Final = "current_setting('mem_search.home')"
"""The home that reads a location: its files may be nowhere else."""


class PostgresIngest(Ingest):
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
        writer = RecordWriter(connection)
        offered = with_own_ids(prepared.drafts, _known(connection, prepared.drafts))
        tombstones.add(connection, batch.tombstones)
        if batch.even_forgotten:
            for item in offered:
                tombstones.lift(connection, item.draft)
        stored = writer.store(offered)
        back = [
            item.draft.source_id
            for item, done in zip(offered, stored, strict=True)
            if done.outcome == "new"
        ]
        deleted = remove_by_source_id(connection, writer, location.source, batch.deletions)
        deleted += remove_released(connection, writer, location.source, batch.released)
        strike(connection, location, [*batch.outdated, *back])
        note(connection, location, prepared.ledger(stored))
        save_cursor(connection, location, batch.cursor, followed=followed)
        counts = prepared.counts(stored, deleted)
        if job:
            result = with_counted(result_of(connection, job), location, counts)
            connection.execute("update jobs set result = %s where id = %s", (Jsonb(result), job))
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
        writer = RecordWriter(connection)
        (offered,) = with_own_ids([prepared], _known(connection, [prepared]))
        draft = offered.draft
        if even_forgotten:
            tombstones.lift(connection, draft)
        (stored,) = writer.store([offered])
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
        if not tokens:
            row = connection.maybe(
                "select tokens from model_tokens where task = %s and day = %s", (task, day)
            )
            return int(row[0]) if row else 0
        return connection.count(
            "insert into model_tokens(task, day, tokens) values(%s, %s, %s)"
            " on conflict(owner, task) do update set day = excluded.day, tokens = excluded.tokens"
            " + case when model_tokens.day = excluded.day then model_tokens.tokens else 0 end"
            " returning tokens",
            (task, day, tokens),
        )


def _known(
    connection: Connection, items: Sequence[PreparedDraft]
) -> Callable[[str, str, str], list[Known]]:
    """What ``with_own_ids`` asks about ``items``, read by one statement."""
    drafts = [item.draft for item in items]
    names = {
        (draft.source, name)
        for draft in drafts
        for name in (draft.source_id, f"{draft.source_id}#{draft.kind}")
    }
    rows = connection.execute(
        f"select r.source, r.source_id, r.kind, r.data ->> '{CONTENT_ID}'"
        " from unnest(%s::text[], %s::text[]) d(source, source_id) join records r"
        " on r.source = d.source and r.source_id = d.source_id",
        ([source for source, _ in names], [name for _, name in names]),
    )
    found = {(source, row[0]): Known(*row) for source, *row in rows}
    return lambda source, *ids: [found[source, each] for each in ids if (source, each) in found]
