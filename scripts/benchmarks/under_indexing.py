"""Search during an import with the real model, against search on an idle worker.

One worker runs the same queries in the same order: first idle, then while records are stored,
then for as many queries while the model embeds them. Only queries that were answered while
passages still waited for the model count.
"""

from __future__ import annotations

from itertools import count, islice
from pathlib import Path
from typing import Any

import corpus
from figures import Bar, median, percentile, spread
from process import Worker, one, worker

import questions

QUESTIONS = 200
IMPORTED = 6_000
"""Records; the model reads on when all are stored, long enough for the questions."""

_WAITING = "select exists (select 1 from outbox where step = 'embed')"
_EMBEDDED = "select count(*) from vectors"
_WARM = 40
_SEED = 2
"""Other made-up records than any store holds."""


def measure(
    home: Path, embedder: str, source: Path | None = None
) -> tuple[dict[str, Any], list[Bar]]:
    """Figures and bars for the store in ``home``, which grows: pass a copy.

    ``source`` is the folder of other sources to run.
    """
    asked = questions.draw(home, _WARM + QUESTIONS)
    file = home / "more.jsonl"
    corpus.write(file, islice(corpus.made_up(seed=_SEED), IMPORTED))
    with worker(home, embedder, source) as running:
        for text in asked[:_WARM]:
            questions.ask(running, text)
        idle = [questions.ask(running, text) for text in asked[_WARM:]]
        phases, embedded = _while_importing(running, file, asked[_WARM:])
    figures: dict[str, Any] = {"idle": spread(idle)}
    bars: list[Bar] = []
    for phase, times in phases.items():
        if not times:
            raise RuntimeError(f"no question was asked while {phase}: it was over too soon")
        ratio = percentile(times, 0.95) / percentile(idle, 0.95)
        figures[f"while {phase}"] = spread(times) | {
            "questions": len(times),
            "ratio of p50": median(times) / median(idle),
            "ratio of p95": ratio,
        }
        bars.append(Bar(f"search while {phase} / idle, p95", ratio, 3.0))
    return figures | {"passages embedded meanwhile": embedded}, bars


def _while_importing(
    running: Worker, file: Path, asked: list[str]
) -> tuple[dict[str, list[float]], int]:
    """Milliseconds while the import stores, and while only the model works; embedded passages."""
    home = running.home
    before = one(home, _EMBEDDED)
    job = running.json("POST", "/api/import", {"source": "jsonl", "path": str(file)})["job"]
    while not one(home, _WAITING):
        _state(running, job)
    storing: list[float] = []
    embedding: list[float] = []
    for turn in count():
        is_storing = _state(running, job) != "done"
        # Trailing spaces are read by no model, but make it another question.
        text = asked[turn % len(asked)] + " " * (1 + turn // len(asked))
        ms = questions.ask(running, text)
        if not one(home, _WAITING):
            break
        (storing if is_storing else embedding).append(ms)
        if len(embedding) == len(asked):
            break
    return {"storing": storing, "embedding": embedding}, one(home, _EMBEDDED) - before


def _state(running: Worker, job: str) -> str:
    state = running.json("GET", f"/api/jobs/{job}")
    if state["state"] == "failed":
        raise RuntimeError(state["message"])
    return str(state["state"])
