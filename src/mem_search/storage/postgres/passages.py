"""Passages as searches read them: their columns, and how near their vectors are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mem_search.model.rankings import (
    KIND_CODES,
    Numbers,
    PassageColumns,
    Values,
    Vectors,
)
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.postgres.indexing import entries_of, unpacked

_COSINE: Final = "-(v.vector::vector <#> %(vector)s::vector)"
"""Rows have unit length. The question is not rounded to float16, so the product is of float32."""


def columns(connection: Connection, condition: str, values: Sequence[Any]) -> PassageColumns:
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
