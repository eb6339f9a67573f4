"""Where a passage stands in its record, and the span of it with its neighbours."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from mem_search.model import Filters, Kind
from mem_search.model.passages import PassageContext, PassageSpan
from mem_search.model.rankings import Numbers
from mem_search.storage.sqlite import filters as sql_filters


def spans(connection: sqlite3.Connection, passages: Sequence[int]) -> dict[int, PassageSpan]:
    """passage → (start, end, page)."""
    return {
        passage: (start, end, page)
        for passage, start, end, page in connection.execute(
            "select id, start, end, page from passages"
            " where id in (select value from json_each(?))",
            (json.dumps(list(passages)),),
        )
    }


def of_records(connection: sqlite3.Connection, records: Numbers) -> tuple[Numbers, Numbers]:
    """(record, passage) of all passages of ``records``, as columns."""
    owners, passages = connection.execute(
        "select json_group_array(record_id), json_group_array(id) from passages"
        " where record_id in (select value from json_each(?))",
        (json.dumps(records.tolist()),),
    ).fetchone()
    return (
        np.array(json.loads(owners), dtype=np.int64),
        np.array(json.loads(passages), dtype=np.int64),
    )


def first_passages(
    connection: sqlite3.Connection, records: Sequence[int]
) -> dict[int, tuple[int, Kind, str]]:
    """record → (first passage, kind, field)."""
    rows = connection.execute(
        "select record_id, id, kind, field from passages"
        " where ordinal = 0 and record_id in (select value from json_each(?))",
        (json.dumps(list(records)),),
    )
    return {record: (passage, kind, field) for record, passage, kind, field in rows}


def passing(connection: sqlite3.Connection, records: Collection[int], filters: Filters) -> set[int]:
    """Those of ``records`` that are within ``filters``."""
    condition, values = sql_filters.where(filters)
    if condition == "1":
        return set(records)
    rows = connection.execute(
        "select r.id from records r where r.id in (select value from json_each(?))"
        f" and {condition}",
        (json.dumps(list(records)), *values),
    )
    return {number for (number,) in rows}


def passages_of(
    connection: sqlite3.Connection, records: Sequence[int]
) -> dict[int, list[PassageSpan]]:
    """record → its passages in order."""
    found: dict[int, list[PassageSpan]] = {}
    for record, start, end, page in connection.execute(
        "select record_id, start, end, page from passages"
        " where record_id in (select value from json_each(?)) order by record_id, ordinal",
        (json.dumps(list(records)),),
    ):
        found.setdefault(record, []).append((start, end, page))
    return found


def passage_context(
    connection: sqlite3.Connection, passages: Mapping[int, int | None], reach: int
) -> dict[int, PassageContext]:
    """Record → the surroundings of its passage, with ``reach`` neighbours on either side.

    ``passages`` is record → passage; the first one of the record where that is None or gone.
    """
    spans: dict[int, list[tuple[int, int, int]]] = {}
    for record, passage, start, end in connection.execute(
        "select record_id, id, start, end from passages"
        " where record_id in (select value from json_each(?)) order by record_id, ordinal",
        (json.dumps(list(passages)),),
    ):
        spans.setdefault(record, []).append((passage, start, end))
    return {
        record: _passage_context(rows, passages[record], reach) for record, rows in spans.items()
    }


def _passage_context(
    rows: list[tuple[int, int, int]], passage: int | None, reach: int
) -> PassageContext:
    place = next((at for at, row in enumerate(rows) if row[0] == passage), 0)
    near = rows[max(0, place - reach) : place + reach + 1]
    return PassageContext(
        ordinal=place,
        count=len(rows),
        start=min(start for _, start, _ in near),
        end=max(end for _, _, end in near),
    )
