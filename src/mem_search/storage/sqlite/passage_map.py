"""The columns of ``rules.passage_map``, read from SQLite."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mem_search.storage.rules.passage_map import PassageMap, empty, fill
from mem_search.storage.sqlite import column_blocks
from mem_search.storage.sqlite.column_blocks import Block, kinds_by_code, kinds_by_name

LAYOUT: Final = np.dtype(
    [("records", np.int64), ("kinds", np.uint8), ("code", np.bool_), ("lengths", np.int32)]
)
"""A row of a stored block."""


def after(connection: sqlite3.Connection, first: int) -> Sequence[Sequence[Any]]:
    """Columns id, record, kind, is it code, length of the passages from ``first`` on."""
    return _read(connection, "id >= ?", (first,))


def whole(connection: sqlite3.Connection) -> PassageMap:
    """The map of all passages, from stored blocks where there are any."""
    (last,) = connection.execute("select coalesce(max(id), -1) from passages").fetchone()
    known = empty(last + 1)
    for part in column_blocks.parts(connection, "passages", LAYOUT, last + 1):
        if isinstance(part, Block):
            known.records[part.span] = part.rows["records"]
            known.kinds[part.span] = kinds_by_code(part.names["kinds"], part.rows["kinds"])
            known.code[part.span] = part.rows["code"]
            known.lengths[part.span] = part.rows["lengths"]
        else:
            fill(known, _read(connection, "id >= ? and id < ?", (part.start, part.stop)))
    return known


def block_of(known: PassageMap, owned: NDArray[np.bool_], span: slice) -> Block:
    """The rows of ``span`` to be stored: those that are ``owned``, by a record that exists."""
    rows = np.zeros(span.stop - span.start, LAYOUT)
    for column in ("records", "kinds", "code", "lengths"):
        rows[column][owned] = getattr(known, column)[span][owned]
    names, rows["kinds"] = kinds_by_name(rows["kinds"])
    return Block(span.start, rows, {"kinds": names})


def _read(
    connection: sqlite3.Connection, condition: str, values: Sequence[int]
) -> Sequence[Sequence[Any]]:
    row = connection.execute(
        "select json_group_array(id), json_group_array(record_id), json_group_array(kind),"
        " json_group_array(field = 'code'), json_group_array(end - start)"
        f" from passages where {condition}",
        values,
    ).fetchone()
    return [json.loads(column) for column in row]
