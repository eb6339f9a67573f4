"""Search while an import is stored, embedded by the real model and indexed, against idle.

One worker, the same questions in the same order: first with nothing else to do, then while it
works. Only questions that were answered while passages still waited for the model count.
"""

from __future__ import annotations

import sqlite3
from itertools import islice
from pathlib import Path
from typing import Any

import corpus
import questions
from figures import Bar, median, percentile
from process import Worker, worker

QUESTIONS = 200
IMPORTED = 20_000
"""Records; more than the model reads while the questions are asked."""

_WARM = 40
_SEED = 2
"""Other made-up records than any store holds."""


def measure(home: Path, embedder: str) -> tuple[dict[str, Any], list[Bar]]:
    """Figures and the bar for the store in ``home``, which grows: give a copy."""
    asked = questions.draw(home, _WARM + QUESTIONS)
    file = home / "more.jsonl"
    corpus.write(file, islice(corpus.made_up(seed=_SEED), IMPORTED))
    with worker(home, embedder) as running:
        running.until_answering("/api/readiness")
        running.until_indexed()
        for text in asked[:_WARM]:
            questions.ask(running, text)
        idle = [questions.ask(running, text) for text in asked[_WARM:]]
        storing, embedding, embedded = _while_importing(running, file, asked[_WARM:])
    busy = storing + embedding
    if not busy:
        raise RuntimeError("the import was over before the first question")
    ratio = percentile(busy, 0.95) / percentile(idle, 0.95)
    figures = {
        "idle p50 ms": median(idle),
        "idle p95 ms": percentile(idle, 0.95),
        "while importing p50 ms": median(busy),
        "while importing p95 ms": percentile(busy, 0.95),
        "of these while storing": {"questions": len(storing), "p95 ms": percentile(storing, 0.95)},
        "of these while only embedding": {
            "questions": len(embedding),
            "p95 ms": percentile(embedding, 0.95),
        },
        "passages embedded meanwhile": embedded,
        "ratio of p50": median(busy) / median(idle),
        "ratio of p95": ratio,
    }
    return figures, [Bar("search while importing / idle, p95", ratio, 3.0)]


def _while_importing(
    running: Worker, file: Path, asked: list[str]
) -> tuple[list[float], list[float], int]:
    """Milliseconds while the import stores, and while only the model works; passages embedded."""
    store = sqlite3.connect(running.home / "mem-search.db", isolation_level=None)
    before = _embedded(store)
    job = running.json("POST", "/api/import", {"source": "jsonl", "path": str(file)})["job"]
    while not _waiting(store):
        _state(running, job)
    storing: list[float] = []
    embedding: list[float] = []
    for text in asked:
        is_storing = _state(running, job) != "done"
        # The trailing space is read by no model, but makes it another question.
        ms = questions.ask(running, text + " ")
        if not _waiting(store):
            break
        (storing if is_storing else embedding).append(ms)
    embedded = _embedded(store) - before
    store.close()
    return storing, embedding, embedded


def _state(running: Worker, job: str) -> str:
    state = running.json("GET", f"/api/jobs/{job}")
    if state["state"] == "failed":
        raise RuntimeError(state["message"])
    return str(state["state"])


def _waiting(store: sqlite3.Connection) -> bool:
    statement = "select exists (select 1 from outbox where step = 'embed')"
    return bool(store.execute(statement).fetchone()[0])


def _embedded(store: sqlite3.Connection) -> int:
    (count,) = store.execute("select count(*) from vectors").fetchone()
    return int(count)
