"""Counts of the store, and the statistics of its corpus."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Final

from mem_search.model.statistics import Corpus, Searchable, StoreSize, StoreTotals
from mem_search.storage.sql.connection import Connection, Repository, reads
from mem_search.text.dates import stored_time
from mem_search.text.passages import LONG

WAITING: Final = (
    "select p.record_id from outbox o join passages p on p.id = o.passage_id"
    " where o.step in ('embed', 'index')"
)
"""The records that are not searchable by meaning yet."""

_PASSAGES: Final = (
    "select (select count(*) from passages),"
    " (select count(*) from outbox where step in ('embed', 'index'))"
)
"""All passages, and those not in the vector index yet."""


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


class Statistics(Repository, ABC):
    """Statistics of the store."""

    complete: ClassVar[str]
    """The condition of ``records`` that wait for nothing (``WAITING``)."""
    id_of_store: ClassVar[str]
    """The statement that reads it."""

    @abstractmethod
    async def size(self) -> StoreSize:
        """The size of the stored data, and what is made smaller now."""

    @reads
    def store_id(self, connection: Connection) -> str:
        """The identity of the store, made when it was created."""
        return str(connection.one(self.id_of_store)[0])

    @reads
    def totals(self, connection: Connection) -> StoreTotals:
        """Exact counts of records and passages."""
        passages, waiting = connection.one(_PASSAGES)
        indexing = connection.count("select count(*) from outbox where step = 'index'")
        first, last = connection.one("select min(created_at), max(created_at) from records")
        return StoreTotals(
            records=_records(connection),
            passages=passages,
            embedded=passages - waiting + indexing,
            indexed=passages - waiting,
            first_at=None if first is None else stored_time(first),
            last_at=None if last is None else stored_time(last),
        )

    @reads
    def corpus(self, connection: Connection) -> Corpus:
        """Corpus statistics for ranking, in one pass over all passages: cache them for seconds."""
        return corpus(connection)

    @reads
    def searchable(self, connection: Connection) -> Searchable:
        """Exact counts of what can be searched."""
        records = _records(connection)
        incomplete = connection.count(f"select count(distinct record_id) from ({WAITING}) w")
        relationships = connection.count("select count(*) from edges where to_id is not null")
        return Searchable(
            records,
            sum(records.values()) - incomplete,
            relationships,
            self._last_indexed(connection),
        )

    @reads
    def last_indexed(self, connection: Connection) -> int | None:
        """When the newest complete record was stored; None while there is none."""
        return self._last_indexed(connection)

    @reads
    def has_due_work(self, connection: Connection) -> bool:
        """Whether a job, a background search or a message waits, or a search has a schedule."""
        (planned,) = connection.one(
            "select exists (select 1 from jobs where state in ('queued', 'running'))"
            " or exists (select 1 from search_jobs where status in ('pending', 'running'))"
            " or exists (select 1 from webhook_deliveries where state = 'pending')"
            " or exists (select 1 from saved_searches where next_at is not null)"
        )
        return bool(planned)

    def _last_indexed(self, connection: Connection) -> int | None:
        """When the newest of the complete records was stored; None while there is none."""
        (last,) = connection.one(f"select max(stored_at) from records where {self.complete}")
        return None if last is None else int(last)


def _records(connection: Connection) -> dict[str, int]:
    rows = connection.execute("select kind, count(*) from records group by kind")
    return dict(rows.fetchall())
