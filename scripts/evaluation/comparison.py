"""Compare systems: an interval for each, and for our difference to each other system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bootstrap import Interval, intervals
from runs import Run

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
