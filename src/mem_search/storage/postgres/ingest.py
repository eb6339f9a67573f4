"""Storing what sources read on a server (``storage.sql.ingest``)."""

from __future__ import annotations

from mem_search.storage.postgres import tombstones
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.postgres.record_writer import RecordWriter
from mem_search.storage.sql.connection import writes
from mem_search.storage.sql.ingest import Ingest


class PostgresIngest(Ingest):
    """``ports.IngestStore``: stores what sources read."""

    writer = RecordWriter
    add_tombstones = staticmethod(tombstones.add)
    lift_tombstone = staticmethod(tombstones.lift)

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
