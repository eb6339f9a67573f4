"""The results of one system for one query, the means over all queries, and their file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metrics import METRICS


@dataclass(frozen=True)
class Run:
    """The results for one query: ranked ids, best first, and their metrics."""

    query: str
    ranked: tuple[str, ...]
    ms: float
    metrics: dict[str, float]


def summarise(runs: Sequence[Run]) -> dict[str, float]:
    """Means of the metrics, and two percentiles of the milliseconds."""
    times = sorted(run.ms for run in runs)
    means = {name: sum(run.metrics[name] for run in runs) / len(runs) for name in METRICS}
    return {
        **{name: round(mean, 4) for name, mean in means.items()},
        "p50_ms": round(times[len(times) // 2], 2),
        "p95_ms": round(times[min(len(times) - 1, int(len(times) * 0.95))], 2),
        "queries": len(runs),
    }


def write(file: Path, runs: Sequence[Run]) -> None:
    """Write one line of JSON a query, in the order of the queries."""
    with file.open("w", encoding="utf-8") as lines:
        for run in runs:
            line: dict[str, Any] = {"query": run.query, "ranked": list(run.ranked)}
            line |= {name: round(value, 6) for name, value in run.metrics.items()}
            lines.write(json.dumps(line | {"ms": round(run.ms, 3)}, ensure_ascii=False) + "\n")
