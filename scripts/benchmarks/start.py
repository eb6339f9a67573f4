"""The time from spawning a worker to its first reply, its first search, and the ready index."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from figures import Bar, median
from process import spawned

SPAWNS = 5


def measure(home: Path, embedder: str) -> tuple[dict[str, Any], list[Bar]]:
    """Medians over ``SPAWNS`` workers of the store in ``home``, one after the other."""
    health: list[float] = []
    search: list[float] = []
    indexed: list[float] = []
    for spawn in range(SPAWNS):
        with spawned(home, embedder) as running:
            health.append(running.until_answering())
            search.append(
                running.until_answering("/api/search/unified", query=f"first question {spawn}")
            )
            indexed.append(running.until_indexed())
    figures = {
        "first /health ms": median(health) * 1000,
        "first search ms": median(search) * 1000,
        "slowest first search ms": max(search) * 1000,
        "index ready ms": median(indexed) * 1000,
    }
    return figures, [
        Bar("start: seconds to the first answer", median(health), 1.0),
        Bar("start: seconds to the first search", median(search), 2.0),
    ]
