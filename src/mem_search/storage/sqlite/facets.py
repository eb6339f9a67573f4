"""Facets by themselves: which records have one."""

from __future__ import annotations

import sqlite3

from mem_search.model import Kind


def records_with(
    connection: sqlite3.Connection, kind: Kind, name: str, value: str
) -> tuple[int, ...]:
    """Numbers of the records of ``kind`` with this facet, its value in whatever case."""
    rows = connection.execute(
        "select x.record_id from facets x join records r on r.id = x.record_id"
        " where x.name = ? and x.value = ? collate nocase and r.kind = ? order by x.record_id",
        (name, value, kind),
    )
    return tuple(number for (number,) in rows)
