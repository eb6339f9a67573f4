"""How often each value of a facet stands in some records: stored values, and months and days."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, tzinfo
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from mem_search.model import FacetCounts, FacetName
from mem_search.model.rankings import Numbers
from mem_search.storage.sql.connection import Connection, folded_name, from_json

STORED: Final[dict[FacetName, tuple[str, ...]]] = {
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

CALENDAR: Final[dict[FacetName, Literal["M", "D"]]] = {"month": "M", "day": "D"}
"""Facet → what its values are cut to."""


def stored(connection: Connection, name: FacetName, records: Numbers, most: int) -> FacetCounts:
    """The ``most`` frequent values of a facet of ``STORED`` among ``records``."""
    count, values = connection.one(_STORED_VALUES, (list(STORED[name]), records.tolist(), most))
    return FacetCounts(tuple((value, n) for value, n in from_json(values) or ()), count)


def largest(pairs: Iterable[tuple[str, int]], most: int) -> FacetCounts:
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
