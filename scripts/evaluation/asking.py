"""Run every query on every system, in turns, and judge the results."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from dataset import Dataset
from runs import Run
from systems import System

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
