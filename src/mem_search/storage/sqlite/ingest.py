"""Storing what sources read in a file (``storage.sql.ingest``)."""

from __future__ import annotations

import json
from typing import Final

from mem_search.storage.sql.connection import writes
from mem_search.storage.sql.ingest import Ingest
from mem_search.storage.sqlite import tombstones
from mem_search.storage.sqlite.database import Connection
from mem_search.storage.sqlite.record_writer import RecordWriter

TOKENS: Final = "tokens "
"""The key of a task's tokens in ``meta`` begins so; the value is [day, count] as JSON."""


class SqliteIngest(Ingest):
    """``ports.IngestStore``: stores what sources read."""

    writer = RecordWriter
    add_tombstones = staticmethod(tombstones.add)
    lift_tombstone = staticmethod(tombstones.lift)

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
