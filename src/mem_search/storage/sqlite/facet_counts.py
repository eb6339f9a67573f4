"""How many of some records have each value of a facet, for the counts beside a page of results.

Kind, project, source and month are counted over the columns in memory, the others by a statement
over the table ``facets``. Values that differ only in the case of ASCII letters are one value, as
they are for a filter.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from datetime import datetime, tzinfo
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from mem_search.model import FacetCounts, FacetName
from mem_search.model.rankings import KIND_CODES, Numbers
from mem_search.storage.sqlite.record_columns import Columns, ascii_folded

_STORED: Final[dict[FacetName, tuple[str, ...]]] = {
    "type": ("type",),
    "tag": ("tag",),
    "author": ("author", "from"),
    "domain": ("domain",),
    "folder": ("folder",),
}
"""Facet → its names in the table ``facets``. Who sends a mail is its author."""

_DAY: Final = np.timedelta64(1, "D")
_FIRST, _LAST = np.datetime64("0001-01-01"), np.datetime64("9999-12-31")
_UNITS: Final[dict[FacetName, Literal["M", "D"]]] = {"month": "M", "day": "D"}


def counted(
    connection: sqlite3.Connection,
    columns: Columns,
    records: Numbers,
    names: Sequence[FacetName],
    most: int,
    zone: tzinfo,
) -> dict[FacetName, FacetCounts]:
    """Facet → its ``most`` frequent values among ``records``. Months and days are those of
    ``zone``."""
    records = records[columns.exist(records)]  # some may have been deleted since they were found
    listed = json.dumps(records.tolist()) if not _STORED.keys().isdisjoint(names) else ""
    found: dict[FacetName, FacetCounts] = {}
    for name in names:
        match name:
            case "kind":
                codes, times = np.unique(columns.kinds[records], return_counts=True)
                found[name] = _largest(
                    zip(KIND_CODES.names(codes), times.tolist(), strict=True), most
                )
            case "project" | "source":
                numbers = columns.projects if name == "project" else columns.sources
                texts = columns.names[name].texts
                values, times = np.unique(numbers[records], return_counts=True)
                pairs = zip(texts(values.tolist()), times.tolist(), strict=True)
                found[name] = _largest(pairs, most)
            case "month" | "day":
                counts = _by_calendar(columns.created[records], _UNITS[name], zone)
                found[name] = _largest(counts, most)
            case _:
                found[name] = _stored(connection, _STORED[name], listed, most)
    return found


def _largest(pairs: Iterable[tuple[str, int]], most: int) -> FacetCounts:
    """The values with the most records, ties by name; a record without a value does not count."""
    merged: dict[str, tuple[str, int]] = {}
    for value, times in pairs:
        if value:
            spelled, before = merged.get(ascii_folded(value), (value, 0))
            merged[ascii_folded(value)] = min(spelled, value), before + times
    ordered = sorted(merged.values(), key=lambda pair: (-pair[1], pair[0]))
    return FacetCounts(tuple(ordered[:most]), len(ordered))


def _by_calendar(created: Numbers, unit: Literal["M", "D"], zone: tzinfo) -> list[tuple[str, int]]:
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


def _stored(
    connection: sqlite3.Connection, names: Sequence[str], records: str, most: int
) -> FacetCounts:
    """A mail's address counts only where it has no name: the two are one person."""
    marks = ", ".join("?" * len(names))
    row = connection.execute(
        "with found as materialized (select value as id from json_each(?)),"
        " counted as materialized (select min(x.value) as value, count(distinct x.record_id) as n"
        f" from facets x where x.name in ({marks}) and x.record_id in (select id from found)"
        " and not (x.name = 'from' and instr(x.value, '@') and exists (select 1 from facets y"
        " where y.record_id = x.record_id and y.name = 'from' and not instr(y.value, '@')))"
        " group by x.value collate nocase)"
        " select (select count(*) from counted), json_group_array(json_array(value, n))"
        " from (select value, n from counted order by n desc, value limit ?)",
        (records, *names, most),
    ).fetchone()
    return FacetCounts(tuple((value, n) for value, n in json.loads(row[1])), row[0])
