"""How many of some records have each value of a facet, for the counts beside a page of results.

Kind, project, source and month are counted over the columns in memory, the others by a statement
over the table ``facets``. Values that differ only in the case of ASCII letters are one value, as
they are for a filter.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from datetime import tzinfo

import numpy as np

from mem_search.model import FacetCounts, FacetName
from mem_search.model.rankings import KIND_CODES, Numbers
from mem_search.storage.rules.facet_counts import STORED, UNITS, by_calendar, largest
from mem_search.storage.sqlite.record_columns import Columns


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
    listed = json.dumps(records.tolist()) if not STORED.keys().isdisjoint(names) else ""
    found: dict[FacetName, FacetCounts] = {}
    for name in names:
        match name:
            case "kind":
                codes, times = np.unique(columns.kinds[records], return_counts=True)
                found[name] = largest(
                    zip(KIND_CODES.names(codes), times.tolist(), strict=True), most
                )
            case "project" | "source":
                numbers = columns.projects if name == "project" else columns.sources
                texts = columns.names[name].texts
                values, times = np.unique(numbers[records], return_counts=True)
                pairs = zip(texts(values.tolist()), times.tolist(), strict=True)
                found[name] = largest(pairs, most)
            case "month" | "day":
                counts = by_calendar(columns.created[records], UNITS[name], zone)
                found[name] = largest(counts, most)
            case _:
                found[name] = _stored(connection, STORED[name], listed, most)
    return found


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
