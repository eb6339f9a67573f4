"""Which records pass filters, in which order, and how many: browsing, sorting, counting."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from mem_search.model import Filters, Order
from mem_search.model.rankings import Numbers
from mem_search.storage.sql import records
from mem_search.storage.sql.connection import reads
from mem_search.storage.sql.records import SORTED, Records, fetch, with_links
from mem_search.storage.sqlite.connection import SqliteConnection
from mem_search.storage.sqlite.filters import where
from mem_search.text.record_ids import RecordId

__all__ = [
    "SqliteRecords", "around", "browse", "called", "counts", "fetch", "sort_values",
    "with_links",
]  # fmt: skip


def called(connection: SqliteConnection, called: RecordId) -> list[int]:
    """The records that an id means, in the order they were stored."""
    if called.alias:
        rows = connection.execute(
            "select record_id from names where name = ? order by record_id",
            (f"id:{called.alias}",),
        )
    else:
        rows = connection.execute(
            "select id from records where id = ?1 and ?2 in ('', kind)",
            (called.number, called.kind),
        )
    return [number for (number,) in rows]


def browse(
    connection: SqliteConnection,
    filters: Filters,
    order: Order,
    limit: int,
    offset: int,
    sort: Sequence[str] = (),
) -> list[int]:
    """See ``storage.sql.records``."""
    return records.browse(connection, where(filters), order, limit, offset, sort)


def around(
    connection: SqliteConnection,
    anchor: tuple[int, int],
    before: int,
    after: int,
    filters: Filters,
) -> tuple[list[int], list[int]]:
    """See ``storage.sql.records``."""
    return records.around(connection, anchor, before, after, where(filters))


def sort_values(
    connection: SqliteConnection, numbers: Numbers, names: Sequence[str]
) -> dict[str, Numbers]:
    """See ``SearchSnapshot``."""
    places = [
        f"iif({is_missing or 'false'}, -1, dense_rank() over (order by {value})) as {name}"
        for name, (value, is_missing) in SORTED.items()
        if name in names
    ]
    if not places or not len(numbers):
        return {name: numbers for name in SORTED if name in names}
    columns = [f"json_group_array({name})" for name in SORTED if name in names]
    # One row, because Python waits for its lock at each row.
    row = connection.execute(
        f"select json_group_array(id), {', '.join(columns)} from"
        f" (select r.id as id, {', '.join(places)} from records r"
        " where r.id in (select value from json_each(?)))",
        (json.dumps(numbers.tolist()),),
    ).fetchone()
    known, *found = [np.array(json.loads(column), np.int64) for column in row]
    rows = np.argsort(known)
    at = rows[np.searchsorted(known, numbers, sorter=rows).clip(max=len(known) - 1)]
    named = [name for name in SORTED if name in names]
    return {
        name: np.where(known[at] == numbers, values[at], -1)
        for name, values in zip(named, found, strict=True)
    }


def counts(connection: SqliteConnection, filters: Filters) -> dict[str, int]:
    """How many records pass the filters, by kind."""
    condition, values = where(filters)
    return dict(
        connection.execute(
            f"select r.kind, count(*) from records r where {condition} group by r.kind",
            values,
        ).fetchall()
    )


class SqliteRecords(Records):
    """``ports.RecordStore``: changes of scopes count in a table of their own."""

    @reads
    def revision(self, connection: SqliteConnection) -> int:
        return connection.count("select value from revision")
