"""How many of some records have each value of a facet, for the counts beside a page of results.

Values that differ only in the case of ASCII letters are one value, as they are for a filter.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo

from mem_search.model import FacetCounts, FacetName
from mem_search.model.rankings import Numbers
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.rules.facet_counts import STORED, UNITS, by_calendar, largest


def counted(
    connection: Connection, records: Numbers, names: Sequence[FacetName], most: int, zone: tzinfo
) -> dict[FacetName, FacetCounts]:
    """Facet → its ``most`` frequent values among ``records``. Months and days are of ``zone``."""
    wanted = records.tolist()
    found: dict[FacetName, FacetCounts] = {}
    for name in names:
        if name in STORED:
            found[name] = _stored(connection, STORED[name], wanted, most)
        elif name in UNITS:
            created = connection.numbers(
                "select created_at from records where id = any(%s)", (wanted,)
            )
            found[name] = largest(by_calendar(created, UNITS[name], zone), most)
        else:
            rows = connection.execute(
                f"select {name}, count(*) from records where id = any(%s) group by 1", (wanted,)
            )
            found[name] = largest(((value, times) for value, times in rows), most)
    return found


def _stored(
    connection: Connection, names: Sequence[str], records: list[int], most: int
) -> FacetCounts:
    """A mail's address counts only where it has no name: the two are one person."""
    rows = connection.execute(
        "with counted as (select min(x.value) as value, count(distinct x.record_id) as n"
        " from facets x where x.name = any(%s::text[]) and x.record_id = any(%s)"
        " and not (x.name = 'from' and strpos(x.value, '@') > 0 and exists (select 1 from facets y"
        " where y.record_id = x.record_id and y.name = 'from' and strpos(y.value, '@') = 0))"
        " group by x.value_lower)"
        " select value, n, count(*) over () from counted order by n desc, value limit %s",
        (list(names), records, most),
    ).fetchall()
    return FacetCounts(tuple((value, n) for value, n, _ in rows), rows[0][2] if rows else 0)
