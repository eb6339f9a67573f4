"""Ask every system every question, in turns: its results, their means, and their file."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dataset import METRICS, Dataset
from systems import System


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


Asked = Mapping[str, Sequence[Run]]
"""system → its answers, one a question"""


async def ask_all(systems: Mapping[str, System], data: Dataset) -> dict[str, Asked]:
    """scope → runs. ``own`` searches the project of the query, ``pooled`` searches everything."""
    scopes = ["own", "pooled"] if all(query.project for query in data.queries) else ["pooled"]
    return {scope: await _ask_scope(systems, data, scope) for scope in scopes}


async def _ask_scope(systems: Mapping[str, System], data: Dataset, scope: str) -> Asked:
    asked: dict[str, list[Run]] = {name: [] for name in systems}
    names = list(systems)
    for turn, query in enumerate(data.queries):
        project = query.project if scope == "own" else ""
        # In turns, so that whatever else the machine does slows down all of them alike.
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            started = time.perf_counter()
            ranked = await systems[name].search(query.text, project)
            ms = (time.perf_counter() - started) * 1000
            asked[name].append(Run(query.id, tuple(ranked), ms, data.judge(ranked, query)))
    return asked
