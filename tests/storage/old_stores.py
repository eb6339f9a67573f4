"""Stores from before a migration, to test what the migration does."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from typing import NamedTuple

from mem_search.storage.sqlite import migrations
from mem_search.storage.sqlite.connection import SqliteConnection


class Old(NamedTuple):
    """A record of one passage, whose number is its record's."""

    kind: str
    source: str
    source_id: str
    title: str
    text: str
    parts: str = ""
    data: str = "{}"


def _migrated_until(step: str, connection: sqlite3.Connection) -> None:
    """Apply the steps before ``step``, as a program from before it did."""
    connection.execute("create table mem_search_migrations(name text primary key, applied_at real)")
    for each in migrations.MIGRATIONS:
        if each.__name__ == step:
            return
        each(connection)
        connection.execute("insert into mem_search_migrations values(?, 0)", (each.__name__,))


@contextmanager
def store_before(step: str, records: Iterable[Old]) -> Iterator[sqlite3.Connection]:
    """An in-memory store with ``records``, numbered from 1; ``migrate`` applies ``step``."""
    with closing(
        sqlite3.connect(":memory:", isolation_level=None, factory=SqliteConnection)
    ) as connection:
        _migrated_until(step, connection)
        for number, old in enumerate(records, 1):
            connection.execute(
                "insert into records(id, kind, source, source_id, created_at, updated_at,"
                " stored_at, content_hash, title, body, data)"
                " values(?, ?, ?, ?, 0, 0, 0, x'00', ?, ?, ?)",
                (number, *old[:5], old.data),
            )
            connection.execute(
                "insert into passages(id, record_id, kind, ordinal, field, start, end,"
                " content_hash, parts) values(?1, ?1, ?2, 0, 'content', 0, ?3, x'00', ?4)",
                (number, old.kind, len(old.text), old.parts),
            )
        connection.execute(
            "insert into passages_fts(rowid, title, text, parts)"
            " select id, title, text, parts from passage_texts"
        )
        yield connection
