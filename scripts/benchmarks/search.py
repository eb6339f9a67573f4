"""Warm unified search over HTTP against its floor, query by query in turns."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import compress
from pathlib import Path
from typing import Any

import store
from figures import Bar, median, spread
from floor import Floor, Parts, chroma
from process import Worker, worker

import questions

QUESTIONS = 200
_WARM = 40


def measure(home: Path, embedder: str) -> tuple[dict[str, Any], list[Bar]]:
    """Figures and bars for the store in ``home``."""
    asked = questions.draw(home, _WARM + QUESTIONS)
    with (
        store.copied(home, home.parent) as copy,
        chroma(copy / "chroma" / "data") as port,
        worker(home, embedder) as running,
    ):
        floor = Floor(home, embedder, port)
        try:
            for text in asked[:_WARM]:
                questions.ask(running, text)
                floor.measure(text)
            product, parts = _in_turns(running, floor, asked[_WARM:])
            moved = [questions.moved(running, text) for text in asked[_WARM:]]
        finally:
            floor.close()
    bare = [each.floor for each in parts]
    ratio = _ratio(product, bare)
    figures = {
        **spread(product, "product"),
        **spread(bare, "floor"),
        "ratio of p50": ratio,
        "median of ratios": median([a / b for a, b in zip(product, bare, strict=True)]),
        "parts p50 ms": {
            name: median([getattr(each, name) for each in parts])
            for name in ("embed", "fulltext", "chroma", "hydrate")
        },
        "questions moved by feedback": {
            "share": sum(moved) / len(moved),
            "ratio of p50": _ratio(compress(product, moved), compress(bare, moved)),
        },
    }
    return figures, [Bar("search: product / floor, p50", ratio, 1.3)]


def _ratio(product: Iterable[float], floor: Iterable[float]) -> float:
    """The ratio of the medians; 0 for no values."""
    bare = median([*floor])
    return median([*product]) / bare if bare else 0.0


def _in_turns(running: Worker, floor: Floor, asked: list[str]) -> tuple[list[float], list[Parts]]:
    product: list[float] = []
    parts: list[Parts] = []
    for turn, text in enumerate(asked):
        # Whoever comes second finds the pages of the file warm, so they take turns at that too.
        if turn % 2:
            product.append(questions.ask(running, text))
            parts.append(floor.measure(text))
        else:
            parts.append(floor.measure(text))
            product.append(questions.ask(running, text))
    return product, parts
