"""Confidence intervals of means over queries: percentile bootstrap with shared resamples.

Queries are drawn with replacement, as many as there are, and the mean of every column is taken
over the same draw (Efron 1979; for retrieval measures Sakai, SIGIR 2006). So the difference of
two systems is a column like any other, and it is paired: queries that are hard for both cancel
out. Pure; knows neither systems nor measures.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.95
RESAMPLES = 10_000
SEED = 20_240_601

K = TypeVar("K", bound=Hashable)

_ROWS = 1_000
"""Resamples drawn at a time: bounds the memory, and is part of what the seed gives."""


class Interval(NamedTuple):
    """A mean and its confidence interval."""

    mean: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """``above`` or ``below`` zero, or ``open`` when zero is inside."""
        return "above" if self.low > 0 else "below" if self.high < 0 else "open"


def intervals(
    columns: Mapping[K, Sequence[float]],
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> dict[K, Interval]:
    """The interval of the mean of each column; columns have one value a query, in the same order.

    The same arguments always give the same answer. Raises ValueError for columns that are
    empty or differ in length, and for a level that is not between 0 and 1.
    """
    if not columns:
        return {}
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, not {level}")
    if len({len(column) for column in columns.values()}) > 1:
        raise ValueError("paired columns must have a value for each question")
    values = np.array(list(columns.values()), dtype=np.float64).T
    if not values.size:
        raise ValueError("there is no mean of no questions")
    means = _resampled(values, resamples, np.random.default_rng(seed))
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return {
        name: Interval(*map(float, row))
        for name, *row in zip(columns, values.mean(axis=0), low, high, strict=True)
    }


def _resampled(
    values: NDArray[np.float64], resamples: int, chance: np.random.Generator
) -> NDArray[np.float64]:
    """Means of the columns of ``values`` (queries, columns); shape (resamples, columns)."""
    questions = len(values)
    even = np.full(questions, 1 / questions)
    drawn = []
    for at in range(0, resamples, _ROWS):
        # How often each question is drawn says as much as which ones, and needs no gathering.
        times = chance.multinomial(questions, even, size=min(_ROWS, resamples - at))
        drawn.append(times @ values / questions)
    return np.concatenate(drawn)
