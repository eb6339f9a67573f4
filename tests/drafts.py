"""Make drafts, and a store of them, in one line each."""

from __future__ import annotations

import sqlite3
from typing import Any

from mem_search.ingest.prepare import prepare
from mem_search.model import Batch, Draft
from mem_search.model.ingest import PreparedBatch, Stored
from mem_search.storage.rules.bm25 import CorpusCache
from mem_search.storage.sql.statistics import corpus
from mem_search.storage.sqlite.connection import SqliteConnection
from mem_search.storage.sqlite.database import Database
from mem_search.storage.sqlite.postings import Postings
from mem_search.storage.sqlite.records import RecordWriter
from mem_search.storage.sqlite.snapshot import SqliteSearchStore
from mem_search.storage.sqlite.vectors import VectorRows
from mem_search.storage.store import Store
from new_stores import migrate_by_copy


def draft(source_id: str, text: str = "some words", **fields: Any) -> Draft:
    """A note of the source ``test``, unless ``fields`` say otherwise."""
    return Draft(**{"kind": "note", "source": "test", **fields}, source_id=source_id, text=text)


def prepared(*drafts: Draft, **batch: Any) -> PreparedBatch:
    """A batch of these drafts as it reaches a store."""
    ready = tuple(prepare(each) for each in drafts)
    names = tuple(each.source_id for each in drafts)
    return PreparedBatch(Batch(drafts=drafts, **batch), ready, names)


def in_memory() -> sqlite3.Connection:
    """A new store in memory, for a test that needs several; the caller closes it."""
    connection = sqlite3.connect(":memory:", isolation_level=None, factory=SqliteConnection)
    connection.execute("pragma foreign_keys = on")
    migrate_by_copy(connection)
    return connection


def store(connection: sqlite3.Connection, *drafts: Draft) -> list[Stored]:
    """Prepare and store, as an import does."""
    return RecordWriter(connection).store([prepare(each) for each in drafts])


async def forget(store: Store, *numbers: int) -> int:
    """Forget these records; returns how many existed."""
    receipt = await store.forgetting.begin(numbers)
    while await store.forgetting.remove_some(receipt):
        pass
    await store.forgetting.remove_quotes()
    done = await store.forgetting.receipt(receipt)
    assert done is not None
    return done.removed.get("records", 0)


def search_store(database: Database) -> SqliteSearchStore:
    """The searches of a store without vectors."""
    vectors = VectorRows(database.path.parent, 1, 8)
    postings = Postings(database)
    return SqliteSearchStore(database, CorpusCache(database, corpus), vectors, (), postings)


def contents(connection: sqlite3.Connection) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table, the shadow tables of the full-text index included."""
    statement = "select name from sqlite_master where type = 'table' and sql not like '%virtual%'"
    tables = [name for (name,) in connection.execute(statement).fetchall()]
    return {table: connection.execute(f"select * from {table}").fetchall() for table in tables}
