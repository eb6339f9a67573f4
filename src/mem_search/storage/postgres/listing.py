"""Which records pass filters, in which order, and how many: browsing, sorting, counting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mem_search.model import Filters, Order
from mem_search.model.rankings import Numbers, RecordColumns, are_among
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.postgres.filters import where

_MAX_FEW_DATED: Final = 2000
"""Of so few records the dates are read by their keys at once; also the first part by date."""

_CHEAPER: Final = 8
"""Dates in order are read so much faster than dates by key: 200,000 in .2 s, 20,000 in 1.5 s where
neither was in memory."""


def matching(connection: Connection, filters: Filters) -> Numbers:
    """The numbers of all records within ``filters``, in order."""
    condition, values = where(connection, filters)
    return np.sort(connection.numbers(f"select r.id from records r where {condition}", values))


def first_by_date(
    connection: Connection, records: Numbers, order: Order, limit: int
) -> tuple[Numbers, Numbers]:
    """See ``SearchSnapshot``. ``records`` are in order, each once.

    The first of many records are mostly among the first of the store, so the store is looked
    through by date, in parts that grow. Where that would cost more, all are read by their keys.
    """
    found, dates, looked = np.zeros(0, np.int64), np.zeros(0, np.int64), 0
    sign, last = (1 if order == "date_asc" else -1), None
    while looked < _CHEAPER * len(records) and len(records) > _MAX_FEW_DATED and len(found) < limit:
        size = max(_MAX_FEW_DATED, looked)
        numbers, created = _from(connection, sign, last, size)
        inside = are_among(numbers, records)
        found = np.concatenate([found, numbers[inside]])
        dates = np.concatenate([dates, created[inside]])
        looked += size
        if len(numbers) < size:
            return found[:limit], dates[:limit]
        last = int(created[-1]), int(numbers[-1])
    if len(found) < limit:
        found, dates = _dates(
            connection, "select id, created_at from records where id = any(%s)", (records.tolist(),)
        )
        rows = np.lexsort((sign * found, sign * dates))
        found, dates = found[rows], dates[rows]
    return found[:limit], dates[:limit]


def _from(
    connection: Connection, sign: int, last: tuple[int, int] | None, size: int
) -> tuple[Numbers, Numbers]:
    """The next ``size`` records of the store after ``last``, by date, and their dates."""
    direction, after = ("asc", ">") if sign > 0 else ("desc", "<")
    condition = "" if last is None else f"where (created_at, id) {after} (%s, %s)"
    numbers, dates = _dates(
        connection,
        f"select id, created_at from records {condition}"
        f" order by created_at {direction}, id {direction} limit %s",
        (*(last or ()), size),
    )
    rows = np.lexsort((sign * numbers, sign * dates))
    return numbers[rows], dates[rows]


def _dates(
    connection: Connection, statement: str, values: Sequence[Any]
) -> tuple[Numbers, Numbers]:
    """The rows (number, date) of ``statement``, in no order."""
    numbers, dates = connection.execute(
        "select string_agg(int8send(n), ''::bytea), string_agg(int8send(d), ''::bytea)"
        f" from ({statement}) f(n, d)",
        values,
        binary=True,
    ).fetchall()[0]
    return (
        np.frombuffer(numbers or b"", ">i8").astype(np.int64),
        np.frombuffer(dates or b"", ">i8").astype(np.int64),
    )


def columns(connection: Connection, records: Numbers) -> RecordColumns:
    """The ranking columns of ``records``, one row each."""
    rows = connection.execute(
        "select id, case when session = '' then 0 else"
        # The same for one conversation in every snapshot, and positive.
        " 1 + abs(hashtextextended(session || chr(10) || project, 0) / 2) end,"
        " position, created_at, coalesce(importance, 'NaN') from records where id = any(%s)",
        (records.tolist(),),
        binary=True,
    ).fetchall()
    known = {row[0]: row[1:] for row in rows}
    absent = (0, 0, 0, float("nan"))
    found = [known.get(number, absent) for number in records.tolist()]
    conversations, positions, created, importance = zip(*found, strict=True) if found else [()] * 4
    exist: NDArray[np.bool_] = np.array([n in known for n in records.tolist()], np.bool_)
    return RecordColumns(
        exist,
        np.array(conversations, np.int64),
        np.array(positions, np.int32),
        np.array(created, np.int64),
        np.array(importance, np.float64),
    )
