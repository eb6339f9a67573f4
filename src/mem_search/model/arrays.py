"""Functions of columns of numbers that numpy has not, or has slower."""

from __future__ import annotations

from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

Integer = TypeVar("Integer", bound=np.integer)

_DENSE: Final = 8
"""With up to so many possible values for each number, a table of them is quicker than a search."""


def matvec(rows: NDArray[np.float32], vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """The dot product of each row, shape (n, d), with ``vector``, shape (d,).

    A row has the same product among any rows, so a search asked again has the same scores. In
    ``rows @ vector`` BLAS adds a row up in another order at another place: that differs in the
    eighth digit.
    """
    return np.asarray(np.einsum("ij,j->i", rows, vector), np.float32)


def places_of(values: NDArray[np.integer], among: NDArray[np.integer]) -> NDArray[np.intp]:
    """The place of each of ``values`` in ``among``, which has all of them, in any order."""
    order = np.argsort(among)
    return order[np.searchsorted(among, values, sorter=order)]


def are_among(numbers: NDArray[np.integer], ordered: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Whether each of ``numbers``, which mostly are in order, is in ``ordered``."""
    if not len(ordered):
        return np.zeros(len(numbers), np.bool_)
    common = np.result_type(numbers, ordered, np.uint32)
    numbers, ordered = numbers.astype(common, copy=False), ordered.astype(common, copy=False)
    size = int(ordered[-1]) - int(ordered[0]) + 1
    if size < _DENSE * len(numbers):
        # What is below the first becomes a very large offset, so one comparison checks both ends.
        unsigned = np.dtype(f"u{common.itemsize}")
        offsets = (numbers - ordered[0]).view(unsigned)
        have = np.zeros(size + 1, np.bool_)
        have[ordered - ordered[0]] = True
        return np.asarray(have[np.minimum(offsets, unsigned.type(size))])
    places = np.searchsorted(ordered, numbers).clip(max=len(ordered) - 1)
    return np.asarray(ordered[places] == numbers)


def distinct(numbers: NDArray[Integer]) -> NDArray[Integer]:
    """``numbers`` in order, each once.

    ``np.unique`` uses a hash table: numpy 2.4 takes 0.8 s for a million numbers in order, and
    sorting them takes 1 ms (``python -m timeit -s "import numpy as np; a = np.arange(1_000_000)"
    "np.unique(a)"``).
    """
    ordered = np.sort(numbers, kind="stable")
    return ordered[run_starts(ordered)]


def run_starts(ordered: NDArray[np.integer]) -> NDArray[np.intp]:
    """Where each value begins in a column that is in order."""
    is_first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return np.flatnonzero(is_first)
