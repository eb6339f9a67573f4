"""Columns of passages while they are put together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mem_search.model.rankings import Numbers, PassageColumns


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
