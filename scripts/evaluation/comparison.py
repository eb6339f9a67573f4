"""Compare systems: an interval for each, and for our difference to each other system, as a table.

Intervals are those of the percentile bootstrap: queries are drawn with replacement, as many as
there are, and the mean of every column is taken over the same draw (Efron 1979; for retrieval
measures Sakai, SIGIR 2006). So the difference of two systems is a column like any other, and it is
paired: queries that are hard for both cancel out.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from runs import Run

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


OURS = "hybrid"
METRICS = ("ndcg@10", "recall@10", "mrr@10")

Figures = Mapping[str, Interval]
"""metric → interval"""


@dataclass(frozen=True)
class Comparison:
    """``systems``: the mean of each. ``differences``: ours − other, query by query."""

    systems: Mapping[str, Figures]
    differences: Mapping[str, Figures]

    def as_json(self) -> dict[str, object]:
        return {
            "systems": {name: _rounded(figures) for name, figures in self.systems.items()},
            f"{OURS} - other": {
                name: _rounded(figures, verdict=True) for name, figures in self.differences.items()
            },
        }


def compare(runs: Mapping[str, Sequence[Run]]) -> Comparison:
    """Compare the runs of each system over the same queries in the same order.

    Raises ValueError when ours is not among them or the queries differ.
    """
    if OURS not in runs:
        raise ValueError(f"nothing to compare with: {OURS} was not asked")
    if len({tuple(run.query for run in each) for each in runs.values()}) > 1:
        raise ValueError("every system must be asked the same questions in the same order")
    columns: dict[tuple[str, str, bool], list[float]] = {}
    for metric in METRICS:
        ours = [run.metrics[metric] for run in runs[OURS]]
        for name, each in runs.items():
            values = [run.metrics[metric] for run in each]
            columns[name, metric, False] = values
            if name != OURS:
                columns[name, metric, True] = [a - b for a, b in zip(ours, values, strict=True)]
    found = intervals(columns)
    return Comparison(
        systems={n: {m: found[n, m, False] for m in METRICS} for n in runs},
        differences={n: {m: found[n, m, True] for m in METRICS} for n in runs if n != OURS},
    )


def _rounded(figures: Figures, *, verdict: bool = False) -> dict[str, dict[str, object]]:
    return {
        metric: {
            "mean": round(interval.mean, 4),
            "low": round(interval.low, 4),
            "high": round(interval.high, 4),
            **({"verdict": interval.verdict} if verdict else {}),
        }
        for metric, interval in figures.items()
    }


COLUMNS = ("recall@5", "recall@10", "ndcg@10", "mrr@10", "p50_ms", "p95_ms")
_SAID = {"above": "better", "below": "WORSE", "open": "not told apart"}


def show(report: Mapping[str, Any], compared: Mapping[str, Comparison]) -> None:
    """One row a system and scope; below it, on request, the interval of each figure."""
    print(f"\n{report['dataset']} {report['qrels']} ({report['documents']} documents)")
    width = max(map(len, ["keyword", *report["modes"]])) + 1
    for scope, modes in ((report["scope"], report["modes"]), ("pooled", report.get("pooled", {}))):
        for mode, figures in modes.items():
            cells = "  ".join(f"{name} {figures[name]:>7.3f}" for name in COLUMNS)
            print(f"  {scope:7} {mode:{width}} {cells}")
        if modes and scope in compared:
            _show_intervals(compared[scope])


def _show_intervals(comparison: Comparison) -> None:
    width = len(f"{OURS} - ") + max(map(len, comparison.systems))
    for name, figures in comparison.systems.items():
        cells = "  ".join(
            f"{m} {i.mean:.3f} [{i.low:.3f}, {i.high:.3f}]" for m, i in figures.items()
        )
        print(f"    {name:{width}} {cells}")
    for name, figures in comparison.differences.items():
        cells = "  ".join(
            f"{metric} {i.mean:+.3f} [{i.low:+.3f}, {i.high:+.3f}] {_SAID[i.verdict]:14}"
            for metric, i in figures.items()
        )
        print(f"    {OURS + ' - ' + name:{width}} {cells.rstrip()}")
