"""Columns of passages while they are put together, and the neighbours of a passage."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mem_search.model.rankings import Numbers, PassageColumns, PassageContext


def columns_for(passages: Numbers) -> PassageColumns:
    """Columns that say of none of ``passages`` that it exists; to be filled."""
    size = len(passages)
    return PassageColumns(
        passages,
        np.zeros(size, np.int64),
        np.zeros(size, np.uint8),
        np.zeros(size, np.bool_),
        np.zeros(size, np.int32),
    )


def put(
    into: PassageColumns,
    rows: slice | NDArray[np.intp],
    columns: PassageColumns,
    taken: slice | NDArray[np.intp] = slice(None),
) -> None:
    """Set the columns at ``rows`` to those that ``columns`` has at ``taken``."""
    into.records[rows] = columns.records[taken]
    into.kinds[rows] = columns.kinds[taken]
    into.code[rows] = columns.code[taken]
    into.lengths[rows] = columns.lengths[taken]


def with_neighbours(
    rows: list[tuple[int, int, int]], passage: int | None, reach: int
) -> PassageContext:
    """The ``passage`` among the (passage, start, end) of its record, or else the first one."""
    place = next((at for at, row in enumerate(rows) if row[0] == passage), 0)
    near = rows[max(0, place - reach) : place + reach + 1]
    return PassageContext(
        ordinal=place,
        count=len(rows),
        start=min(start for _, start, _ in near),
        end=max(end for _, _, end in near),
    )
