"""What searches read of many records and passages at once: numbers, dates, columns, cosines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mem_search.model import Filters, Order
from mem_search.model.kind_codes import KIND_CODES
from mem_search.model.rankings import (
    Numbers,
    PassageColumns,
    RecordColumns,
    Values,
    Vectors,
    are_among,
)
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.postgres.filters import where
from mem_search.storage.postgres.indexing import entries_of, unpacked

_COSINE: Final = "-(v.vector::vector <#> %(vector)s::vector)"
"""Rows have unit length. The question is not rounded to float16, so the product is of float32."""

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


def record_columns(connection: Connection, records: Numbers) -> RecordColumns:
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


def passage_columns(
    connection: Connection, condition: str, values: Sequence[Any]
) -> PassageColumns:
    """The ranking columns of the passages that meet ``condition``, in no order."""
    ids, records, kinds, code, lengths = connection.execute(
        "select string_agg(int8send(id), ''::bytea), string_agg(int8send(record_id), ''::bytea),"
        " string_agg(kind, chr(10)), string_agg(int4send((field = 'code')::int), ''::bytea),"
        " string_agg(int4send(span_end - span_start), ''::bytea) from passages"
        f" where {condition}",
        values,
        binary=True,
    ).fetchall()[0]
    return PassageColumns(
        np.frombuffer(ids or b"", ">i8").astype(np.int64),
        np.frombuffer(records or b"", ">i8").astype(np.int64),
        KIND_CODES.codes(kinds.split("\n") if ids else ()),
        np.frombuffer(code or b"", ">i4").astype(np.bool_),
        np.frombuffer(lengths or b"", ">i4").astype(np.int32),
    )


def record_cosines(connection: Connection, model: int, vector: Vectors, records: Numbers) -> Values:
    """For each of ``records`` the cosine of its nearest passage; NaN without a vector."""
    rows = connection.execute(
        "select record_id, id from passages where record_id = any(%s)",
        (records.tolist(),),
        binary=True,
    ).fetchall()
    owners = np.array([record for record, _ in rows], np.int64)
    passages = np.array([passage for _, passage in rows], np.int64)
    order = np.argsort(records)
    places = order[np.searchsorted(records, owners, sorter=order)]
    best = np.full(len(records), np.nan)
    np.fmax.at(best, places, passage_cosines(connection, model, vector, passages))
    return best


def passage_cosines(
    connection: Connection, model: int, vector: Vectors, passages: Numbers
) -> Values:
    """For each of ``passages`` the cosine of its nearer half; NaN without a vector."""
    return _cosines(
        connection,
        passages,
        f"select v.entry_id / 2, max({_COSINE}) from vectors v"
        " where v.model_id = %(model)s and v.entry_id = any(%(numbers)s) group by 1",
        {
            "model": model,
            "vector": str(vector[0].tolist()),
            "numbers": entries_of(passages.tolist()),
        },
    )


def passage_vectors(
    connection: Connection, model: int, dimensions: int, passages: Numbers
) -> tuple[NDArray[np.intp], Vectors]:
    """See ``SearchSnapshot``."""
    rows = connection.execute(
        "select entry_id / 2, halfvec_send(vector) from vectors"
        " where model_id = %s and entry_id = any(%s) order by entry_id",
        (model, entries_of(passages.tolist())),
        binary=True,
    ).fetchall()
    of = np.array([passage for passage, _ in rows], np.int64)
    order = np.argsort(passages)
    return order[np.searchsorted(passages, of, sorter=order)], unpacked(
        [vector for _, vector in rows], dimensions
    )


def _cosines(
    connection: Connection, numbers: Numbers, statement: str, values: Mapping[str, Any]
) -> Values:
    """The value of each of ``numbers`` among the rows (number, value); NaN where it has none."""
    (of, cosines) = connection.execute(
        "select string_agg(int8send(n), ''::bytea), string_agg(float8send(c), ''::bytea)"
        f" from ({statement}) f(n, c)",
        values,
        binary=True,
    ).fetchall()[0]
    found = np.full(len(numbers), np.nan)
    known = np.frombuffer(of or b"", ">i8").astype(np.int64)
    if len(known):
        order = np.argsort(known)
        places = order[np.searchsorted(known, numbers, sorter=order).clip(max=len(known) - 1)]
        held = known[places] == numbers
        found[held] = np.frombuffer(cosines, ">f8")[places[held]]
    return found
