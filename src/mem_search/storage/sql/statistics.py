"""Counts of the store, the statistics of its corpus, and how often each value of a facet stands in
some records: stored values, and months and days.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from datetime import datetime, tzinfo
from typing import ClassVar, Final, Literal

import numpy as np
from numpy.typing import NDArray

from mem_search.model import FacetCounts, FacetName
from mem_search.model.rankings import Numbers
from mem_search.model.statistics import Corpus, Searchable, StoreSize, StoreTotals
from mem_search.storage.sql.connection import Connection, Repository, folded_name, from_json, reads
from mem_search.text.dates import stored_time
from mem_search.text.passages import MIN_HALVED_CHARS

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
        (MIN_HALVED_CHARS,),
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


STORED_FACETS: Final[dict[FacetName, tuple[str, ...]]] = {
    "type": ("type",),
    "tag": ("tag",),
    "author": ("author", "from"),
    "domain": ("domain",),
    "folder": ("folder",),
}
"""Facet → its names in the table ``facets``. Who sends a mail is its author."""

_DAY: Final = np.timedelta64(1, "D")
_FIRST, _LAST = np.datetime64("0001-01-01"), np.datetime64("9999-12-31")
_STORED_VALUES: Final = """
    with counted as materialized (
        select min(x.value) as value, count(distinct x.record_id) as n from facets x
        where x.name = any(%s::text[]) and x.record_id = any(%s::bigint[])
        and not (x.name = 'from' and strpos(x.value, '@') > 0 and exists (select 1 from facets y
            where y.record_id = x.record_id and y.name = 'from' and strpos(y.value, '@') = 0))
        group by x.value_lower)
    select (select count(*) from counted), (select jsonb_agg(jsonb_build_array(value, n))
        from (select value, n from counted order by n desc, value limit %s) largest)
"""
"""A mail's address counts only where it has no name: the two are one person. One row, because
Python waits for its lock at each.
"""

CALENDAR_FACETS: Final[dict[FacetName, Literal["M", "D"]]] = {"month": "M", "day": "D"}
"""Facet → what its values are cut to."""


def stored_facet(
    connection: Connection, name: FacetName, records: Numbers, most: int
) -> FacetCounts:
    """The ``most`` frequent values of a facet of ``STORED_FACETS`` among ``records``."""
    count, values = connection.one(
        _STORED_VALUES, (list(STORED_FACETS[name]), records.tolist(), most)
    )
    return FacetCounts(tuple((value, n) for value, n in from_json(values) or ()), count)


def most_frequent(pairs: Iterable[tuple[str, int]], most: int) -> FacetCounts:
    """The values with the most records, ties by name; a record without a value does not count.

    Values that are one name for a filter are one.
    """
    merged: dict[str, tuple[str, int]] = {}
    for value, times in pairs:
        if value:
            spelled, before = merged.get(folded_name(value), (value, 0))
            merged[folded_name(value)] = min(spelled, value), before + times
    ordered = sorted(merged.values(), key=lambda pair: (-pair[1], pair[0]))
    return FacetCounts(tuple(ordered[:most]), len(ordered))


def by_calendar(created: Numbers, unit: Literal["M", "D"], zone: tzinfo) -> list[tuple[str, int]]:
    """``2026-11`` or ``2026-11-23`` → records. Each begins at its first midnight in ``zone``."""
    # Only what occurs, and its neighbours: an offset moves a time by up to a day.
    days = np.unique(created.astype("datetime64[ms]").astype("datetime64[D]"))
    near: NDArray[np.datetime64] = np.concatenate([days - _DAY, days, days + _DAY])
    labels = [
        str(each) for each in np.unique(near.clip(_FIRST, _LAST).astype(f"datetime64[{unit}]"))
    ]
    starts = np.array([_start(label, zone) for label in labels], np.int64)
    places = np.searchsorted(starts, created, side="right") - 1
    times = np.bincount(places.clip(0), minlength=len(labels)).tolist()
    return [(label, count) for label, count in zip(labels, times, strict=True) if count]


def _start(label: str, zone: tzinfo) -> int:
    """Milliseconds since 1970 at which ``2026-11`` or ``2026-11-23`` begins."""
    year, month, day = map(int, f"{label}-1".split("-")[:3])
    return round(datetime(year, month, day, tzinfo=zone).timestamp() * 1000)
