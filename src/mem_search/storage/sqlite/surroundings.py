"""Where a passage stands in its record, and the span of it with its neighbours."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The ``ordinal``-th of ``count`` passages; ``start`` and ``end`` span its neighbours too.

    Offsets are into the record's text, so overlapping passages are not repeated.
    """

    ordinal: int
    count: int
    start: int
    end: int


def around(
    connection: sqlite3.Connection, passages: Mapping[int, int | None], reach: int
) -> dict[int, Surroundings]:
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
    return {record: _around(rows, passages[record], reach) for record, rows in spans.items()}


def _around(rows: list[tuple[int, int, int]], passage: int | None, reach: int) -> Surroundings:
    place = next((at for at, row in enumerate(rows) if row[0] == passage), 0)
    near = rows[max(0, place - reach) : place + reach + 1]
    return Surroundings(
        ordinal=place,
        count=len(rows),
        start=min(start for _, start, _ in near),
        end=max(end for _, _, end in near),
    )
