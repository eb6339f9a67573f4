"""Counts of the store, and the corpus statistics that searches cache."""

from __future__ import annotations

import sqlite3
from typing import Final

from mem_search.model.statistics import Corpus, Searchable, StoreSize, StoreTotals
from mem_search.storage.sql.connection import Repository, reads
from mem_search.storage.sqlite import vectors_move
from mem_search.storage.sqlite.database import Connection
from mem_search.text.passages import LONG


def _progress(connection: sqlite3.Connection) -> tuple[int, int]:
    """(passages, those not in the vector index yet)."""
    (passages,) = connection.execute("select count(*) from passages").fetchone()
    (waiting,) = connection.execute(
        "select count(*) from outbox where step in ('embed', 'index')"
    ).fetchone()
    return passages, waiting


def corpus(connection: sqlite3.Connection) -> Corpus:
    """The corpus statistics, in one pass over the passages."""
    rows = connection.execute(
        "select kind, count(*), avg(end - start), sum(end - start > ?) from passages"
        " where ordinal >= 0 group by kind",
        (LONG,),
    ).fetchall()
    (records,) = connection.execute("select count(*) from records").fetchone()
    entries, waiting = _progress(connection)
    halved = sum(long for *_, long in rows)
    passages = {kind: count for kind, count, *_ in rows}
    return Corpus(
        passages=passages,
        lengths={kind: max(1.0, length) for kind, _, length, _ in rows},
        waiting=waiting,
        waiting_since=_waiting_since(connection) if waiting else None,
        summaries=entries - sum(passages.values()),
        entries_per_record=max(1.0, (entries + halved) / max(1, records)),
    )


def _waiting_since(connection: sqlite3.Connection) -> int | None:
    """Passages are numbered as they are stored: the smallest number of each step is the oldest."""
    (since,) = connection.execute(
        "select min(r.stored_at) from passages p join records r on r.id = p.record_id"
        " where p.id in (select min(passage_id) from outbox where step = 'embed'"
        "  union all select min(passage_id) from outbox where step = 'index')"
    ).fetchone()
    return None if since is None else int(since)


_WAITING: Final = (
    "select p.record_id from outbox o join passages p on p.id = o.passage_id"
    " where o.step in ('embed', 'index')"
)


def _last_indexed(connection: sqlite3.Connection) -> int | None:
    """When the newest of the complete records was stored; None while there is none."""
    (last,) = connection.execute(
        f"select max(stored_at) from records where id not in ({_WAITING})"
    ).fetchone()
    return None if last is None else int(last)


class SqliteStatistics(Repository):
    """``ports.StatisticsStore``."""

    @reads
    def store_id(self, connection: Connection) -> str:
        (value,) = connection.execute("select value from meta where key = 'store_id'").fetchone()
        return str(value)

    @reads
    def totals(self, connection: Connection) -> StoreTotals:
        records = dict(
            connection.execute("select kind, count(*) from records group by kind").fetchall()
        )
        passages, waiting = _progress(connection)
        (indexing,) = connection.execute(
            "select count(*) from outbox where step = 'index'"
        ).fetchone()
        first, last = connection.execute(
            "select min(created_at), max(created_at) from records"
        ).fetchone()
        return StoreTotals(
            records=records,
            passages=passages,
            embedded=passages - waiting + indexing,
            indexed=passages - waiting,
            first_at=first,
            last_at=last,
        )

    @reads
    def corpus(self, connection: Connection) -> Corpus:
        return corpus(connection)

    @reads
    def searchable(self, connection: Connection) -> Searchable:
        records = dict(
            connection.execute("select kind, count(*) from records group by kind").fetchall()
        )
        (incomplete,) = connection.execute(
            f"select count(*) from (select distinct record_id from ({_WAITING}))"
        ).fetchone()
        (relationships,) = connection.execute(
            "select count(*) from edges where to_id is not null"
        ).fetchone()
        return Searchable(
            records, sum(records.values()) - incomplete, relationships, _last_indexed(connection)
        )

    @reads
    def last_indexed(self, connection: Connection) -> int | None:
        return _last_indexed(connection)

    @reads
    def has_due_work(self, connection: Connection) -> bool:
        (planned,) = connection.execute(
            "select exists (select 1 from jobs where state in ('queued', 'running'))"
            " or exists (select 1 from search_jobs where status in ('pending', 'running'))"
            " or exists (select 1 from webhook_deliveries where state = 'pending')"
            " or exists (select 1 from saved_searches where next_at is not null)"
        ).fetchone()
        return bool(planned)

    @reads
    def size(self, connection: Connection) -> StoreSize:
        # Not that of the file: what is still in the log of writes counts, too.
        stored, free = connection.execute(
            "select page_count * page_size, freelist_count * page_size"
            " from pragma_page_count, pragma_freelist_count, pragma_page_size"
        ).fetchone()
        return StoreSize(stored, free, vectors_move.progress(connection))
