"""Counts of the store, and the corpus statistics that searches cache."""

from __future__ import annotations

from typing import Final

from mem_search.model.statistics import Corpus, Searchable, StoreSize, StoreTotals
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.sql.connection import Repository, reads
from mem_search.text.passages import LONG

_WAITING: Final = (
    "select p.record_id from outbox o join passages p on p.id = o.passage_id"
    " where o.step in ('embed', 'index')"
)
_PASSAGES: Final = (
    "select (select count(*) from passages),"
    " (select count(*) from outbox where step in ('embed', 'index'))"
)
_LAST_INDEXED: Final = (
    f"select max(stored_at) from records where not exists ({_WAITING} and p.record_id = records.id)"
)


def corpus(connection: Connection) -> Corpus:
    """The corpus statistics, in one pass over the passages."""
    rows = connection.execute(
        "select kind, count(*), avg(span_end - span_start)::float8,"
        " count(*) filter (where span_end - span_start > %s) from passages"
        " where ordinal >= 0 group by kind",
        (LONG,),
    ).fetchall()
    entries, waiting = connection.one(_PASSAGES)
    records = connection.count("select count(*) from records")
    halved = sum(long for *_, long in rows)
    passages = {kind: count for kind, count, *_ in rows}
    # Passages are numbered as they are stored: the smallest number of each step is the oldest.
    (since,) = connection.one(
        "select min(r.stored_at) from passages p join records r on r.id = p.record_id"
        " where p.id in (select min(passage_id) from outbox where step = 'embed'"
        "  union all select min(passage_id) from outbox where step = 'index')"
    )
    return Corpus(
        passages=passages,
        lengths={kind: max(1.0, length) for kind, _, length, _ in rows},
        waiting=waiting,
        waiting_since=since if waiting else None,
        summaries=entries - sum(passages.values()),
        entries_per_record=max(1.0, (entries + halved) / max(1, records)),
    )


class PostgresStatistics(Repository):
    """``ports.StatisticsStore``."""

    @reads
    def store_id(self, connection: Connection) -> str:
        return str(connection.one("select store_id from stores")[0])

    @reads
    def totals(self, connection: Connection) -> StoreTotals:
        passages, waiting = connection.one(_PASSAGES)
        indexing = connection.count("select count(*) from outbox where step = 'index'")
        first, last = connection.one("select min(created_at), max(created_at) from records")
        return StoreTotals(
            records=_records(connection),
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
        records = _records(connection)
        incomplete = connection.count(f"select count(distinct record_id) from ({_WAITING}) w")
        relationships = connection.count("select count(*) from edges where to_id is not null")
        return Searchable(
            records,
            sum(records.values()) - incomplete,
            relationships,
            connection.one(_LAST_INDEXED)[0],
        )

    @reads
    def last_indexed(self, connection: Connection) -> int | None:
        (last,) = connection.one(_LAST_INDEXED)
        return None if last is None else int(last)

    @reads
    def has_due_work(self, connection: Connection) -> bool:
        (planned,) = connection.one(
            "select exists (select 1 from jobs where state in ('queued', 'running'))"
            " or exists (select 1 from search_jobs where status in ('pending', 'running'))"
            " or exists (select 1 from webhook_deliveries where state = 'pending')"
            " or exists (select 1 from saved_searches where next_at is not null)"
        )
        return bool(planned)

    @reads
    def size(self, connection: Connection) -> StoreSize:
        """Of all users: the tables are theirs together."""
        stored = connection.count(
            "select sum(pg_total_relation_size(c.oid)) from pg_class c"
            " where c.relnamespace = to_regnamespace('mem_search') and c.relkind = 'r'"
        )
        return StoreSize(stored)


def _records(connection: Connection) -> dict[str, int]:
    return dict(connection.execute("select kind, count(*) from records group by kind").fetchall())
