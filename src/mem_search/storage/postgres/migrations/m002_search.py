"""The step ``m002_search``."""

from __future__ import annotations

from typing import Final

from mem_search.storage.postgres.connection import Connection
from mem_search.storage.postgres.migrations import owned_tables

TABLES: Final = """
    -- A part of the index of words: what was written together. Parts are merged as they grow in
    -- number. All its passages have numbers from "first" to "last".
    create table segments(
        id bigint not null,
        level integer not null default 0,
        passages integer not null,
        first bigint not null,
        last bigint not null
    );
    -- Which passages of a segment have a term, how often, and where (see postings.py).
    create table postings(
        segment bigint not null,
        term text not null,
        entries bytea not null,
        places bytea not null
    );
"""

KEYS: Final = {"segments": "id", "postings": "segment, term"}

INDEXES: Final = ("index on records(owner, lower(left(title, 100)))",)


def m002_search(connection: Connection) -> None:
    """The index of words. Rows of a segment lie together: writing one is in one place.

    It is no GIN index, because ``@@`` is not leakproof: under row-level security the planner would
    read all rows. Terms are found by equality and by ranges of a key, which are.
    """
    owned_tables.create(connection, TABLES, KEYS)
    connection.execute(
        "alter table stores add column indexed_passages bigint not null default 0,"
        " add column indexed_terms bigint not null default 0"
    )
    for index in INDEXES:
        connection.execute(f"create {index}")
