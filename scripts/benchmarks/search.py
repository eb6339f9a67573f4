"""Warm unified search through HTTP against its floor, question by question in turns."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import questions
from figures import Bar, median, percentile
from floor import PAGE, Floor, Parts
from process import Worker, worker

QUESTIONS = 200
FILTERED = 48
_WARM = 40
_ROUTE = "/api/search/unified"


def measure(home: Path, embedder: str) -> tuple[dict[str, Any], list[Bar]]:
    """Figures and bars for the store in ``home``."""
    asked = questions.draw(home, _WARM + QUESTIONS + FILTERED)
    with worker(home, embedder) as running:
        running.until_answering("/api/readiness")
        running.until_indexed()
        floor = Floor(home, embedder, running.child_port())
        try:
            for text in asked[:_WARM]:
                _product(running, text)
                floor.measure(text)
            product, parts = _in_turns(running, floor, asked[_WARM : _WARM + QUESTIONS])
        finally:
            floor.close()
        filtered = _filtered(running, home, asked[_WARM + QUESTIONS :])
    bare = [each.floor for each in parts]
    ratio = median(product) / median(bare)
    figures = {
        "product p50 ms": median(product),
        "product p95 ms": percentile(product, 0.95),
        "floor p50 ms": median(bare),
        "floor p95 ms": percentile(bare, 0.95),
        "ratio of p50": ratio,
        "median of ratios": median([a / b for a, b in zip(product, bare, strict=True)]),
        "parts p50 ms": {
            name: median([getattr(each, name) for each in parts])
            for name in ("embed", "fulltext", "chroma", "hydrate")
        },
        "filtered, as ratio to unfiltered": filtered,
    }
    return figures, [Bar("search: product / floor, p50", ratio, 1.3)]


def _in_turns(running: Worker, floor: Floor, asked: list[str]) -> tuple[list[float], list[Parts]]:
    product: list[float] = []
    parts: list[Parts] = []
    for turn, text in enumerate(asked):
        # Whoever comes second finds the pages of the file warm, so they take turns at that too.
        if turn % 2:
            product.append(_product(running, text))
            parts.append(floor.measure(text))
        else:
            parts.append(floor.measure(text))
            product.append(_product(running, text))
    return product, parts


def _filtered(running: Worker, home: Path, asked: list[str]) -> dict[str, float]:
    """The same questions with and without a filter, in turns."""
    kinds = questions.shares(home, "kind")
    projects = questions.shares(home, "project")
    total = sum(count for _, count in kinds)
    variants: dict[str, dict[str, object]] = {"unfiltered": {}}
    for word, (name, count) in (
        ("project", projects[0]),
        ("project", projects[-1]),
        ("types", kinds[0]),
        ("types", kinds[-1]),
    ):
        variants[f"{word} of {count / total:.1%}"] = {word: name}
    variants["last 5 % by date"] = {"dateStart": _recent(home)}
    times: dict[str, list[float]] = {name: [] for name in variants}
    for turn, text in enumerate(asked):
        names = list(variants)
        for place in range(len(names)):
            name = names[(turn + place) % len(names)]
            # Trailing space keeps the worker from knowing the question of the last turn.
            times[name].append(_product(running, text + " " * (place + 1), **variants[name]))
    base = median(times.pop("unfiltered"))
    return {name: median(some) / base for name, some in times.items()}


def _recent(home: Path) -> int:
    import sqlite3

    store = sqlite3.connect(home / "mem-search.db")
    (count,) = store.execute("select count(*) from records").fetchone()
    (at,) = store.execute(
        "select created_at from records order by created_at desc limit 1 offset ?", (count // 20,)
    ).fetchone()
    store.close()
    return int(at)


def _product(running: Worker, text: str, **filters: object) -> float:
    started = time.perf_counter()
    running.get(_ROUTE, query=text, limit=PAGE, **filters)
    return (time.perf_counter() - started) * 1000
