"""The columns of ``rules.passage_map``, read from SQLite."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mem_search.model.rankings import PassageMap
from mem_search.storage.rules.passage_map import empty, extended
from mem_search.storage.sqlite import column_blocks
from mem_search.storage.sqlite.column_blocks import BLOCK, Block, kinds_by_code, kinds_by_name

LAYOUT: Final = np.dtype(
    [("records", np.int64), ("kinds", np.uint8), ("code", np.bool_), ("lengths", np.int32)]
)
"""A row of a stored block."""


def after(connection: sqlite3.Connection, first: int) -> Sequence[Sequence[Any]]:
    """Columns id, record, kind, is it code, length of the passages from ``first`` on."""
    return _read(connection, "id >= ?", (first,))


def stored(connection: sqlite3.Connection) -> PassageMap:
    """The map as far as blocks of it are stored; those between that are not are read."""
    blocks = column_blocks.load(connection, "passages", LAYOUT)
    known = empty(max((block.span.stop for block in blocks.values()), default=0))
    for first in range(0, len(known.records), BLOCK):
        block = blocks.get(first // BLOCK)
        end = min(first + BLOCK, len(known.records))
        if block is None or block.span.stop < end:
            known = extended(known, _read(connection, "id >= ? and id < ?", (first, end)))
        else:
            known.records[block.span] = block.rows["records"]
            known.kinds[block.span] = kinds_by_code(block.names["kinds"], block.rows["kinds"])
            known.code[block.span] = block.rows["code"]
            known.lengths[block.span] = block.rows["lengths"]
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
