"""Fits the weights of the stage ``learned`` to what was opened after searches, on this machine.

Each question that led to an opening is searched again, without that stage. What was opened should
come before what was shown with it: a logistic regression of pairs, with few weights that are held
near 0. A third of the questions, chosen by a digest of their words, takes no part in the fit. The
weights are kept only if what was opened stands higher there than in the ranking in force.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from math import comb
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mem_search.errors import MemSearchError
from mem_search.model import SearchRequest
from mem_search.model.rankings import Values
from mem_search.model.statistics import Click
from mem_search.regular_file import replace_file
from mem_search.search.pipeline import SearchPipeline
from mem_search.search.stage_data import COMPLETE_MATCHES
from mem_search.search.stages.learned import (
    FEATURES,
    LEARNED,
    MAX_WEIGHT,
    features,
    file_of,
    read_file,
)
from mem_search.search.state import RankingState, Stage
from mem_search.text.dates import now_ms

MAX_QUESTIONS: Final = 300
"""The newest; each is searched once, which takes some 20 ms."""
MIN_TRAINING: Final = 20
MIN_HELD_OUT: Final = 10
"""Questions; with fewer a win is chance."""
COMPARED_RECORDS: Final = 30
"""Of the ranking, so many records are compared: about what a person sees."""
HELD_OUT_OF: Final = 3
"""One of so many questions is held out."""
MIN_GAIN: Final = 0.01
"""Of the mean reciprocal rank."""
MAX_CHANCE: Final = 0.1
"""Of the sign test: that as many questions gain by chance."""
PENALTY: Final = 1.0
_STEPS: Final = 25
"""Of Newton; it converges in about six."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question as it ranks now: scores without what was learned, features, what was opened."""

    base: Values
    features: Values
    opened: NDArray[np.bool_]

    def rank(self, weights: Values) -> float:
        """The place of the best record that was opened, from 1."""
        total = self.base + self.features @ weights
        return 1.0 + float((total > total[self.opened].max()).sum())


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it. ``before`` and ``after`` are mean reciprocal ranks of what was opened, on
    the ``held_out`` questions; ``better`` and ``worse`` count those that moved.
    """

    kept: bool
    reason: str
    training: int
    held_out: int
    before: float | None = None
    after: float | None = None
    better: int = 0
    worse: int = 0
    weights: Mapping[str, float] | None = None


class Collector:
    """A stage that only looks at the ranking."""

    def __init__(self) -> None:
        self.state: RankingState | None = None
        self.stage = Stage("collected", self._apply, reads=(COMPLETE_MATCHES,))

    def _apply(self, state: RankingState) -> RankingState:
        """Keep what the ranking has so far."""
        self.state = state
        return state

    def question(self, opened: Iterable[int]) -> Question | None:
        """The best ``COMPARED_RECORDS``, with what was opened; None where that is gone."""
        state = self.state
        if state is None or not len(state.union):
            return None
        base = state.total - state.parts.get(LEARNED, 0.0)
        best = state.rows[np.argsort(-base[state.rows], kind="stable")][:COMPARED_RECORDS]
        is_opened = np.isin(state.union.records[best], [*opened])
        if not is_opened.any() or is_opened.all():
            return None
        return Question(base[best], features(state)[best], is_opened)


async def learn(
    opened_with: Callable[[Stage], SearchPipeline], clicks: Sequence[Click], home: Path
) -> Outcome:
    """Fit weights to ``clicks``, newest first, and keep them in ``home`` where they win.

    ``opened_with`` gives a pipeline with one more stage, the last that sees the scores.
    """
    opened: dict[str, set[int]] = defaultdict(set)
    asked_at: dict[str, int] = {}
    for click in clicks:
        opened[click.query].add(click.number)
        asked_at.setdefault(click.query, click.at)
    collector = Collector()
    looking = opened_with(collector.stage)
    training: list[Question] = []
    held_out: list[Question] = []
    for query in list(opened)[:MAX_QUESTIONS]:
        collector.state = None
        at = datetime.fromtimestamp(asked_at[query] / 1000, UTC)
        try:
            await looking.search(SearchRequest(query, asked_at=at))
        except MemSearchError:  # it is no question any more, such as a filter of a kind that left
            continue
        if (question := collector.question(opened[query])) is not None:
            (held_out if is_held_out(query) else training).append(question)
    kept = read_file(home)
    force = np.asarray(kept["weights"] if kept else np.zeros(len(FEATURES)), np.float64)
    outcome, weights = judged(training, held_out, force)
    if outcome.kept:
        before = kept and {name: kept[name] for name in ("weights", "learned_at", "outcome")}
        now = {"weights": weights.tolist(), "learned_at": now_ms(), "outcome": asdict(outcome)}
        write(home, {**now, "before": before})
    return outcome


def is_held_out(query: str) -> bool:
    """Whether a question takes no part in the fit: always the same for the same words."""
    digest = hashlib.blake2b(query.casefold().encode("utf-8", "replace"), digest_size=4).digest()
    return int.from_bytes(digest) % HELD_OUT_OF == 0


def judged(
    training: Sequence[Question], held_out: Sequence[Question], force: Values
) -> tuple[Outcome, Values]:
    """Weights from ``training``, and whether they beat those in ``force`` on ``held_out``."""
    counts = len(training), len(held_out)
    if counts[0] < MIN_TRAINING or counts[1] < MIN_HELD_OUT:
        why = f"too few: {MIN_TRAINING} questions to learn from and {MIN_HELD_OUT} to judge by"
        return Outcome(False, why, *counts), force
    weights = fit_weights(training)
    before = np.array([each.rank(force) for each in held_out])
    after = np.array([each.rank(weights) for each in held_out])
    better, worse = int((after < before).sum()), int((after > before).sum())
    mean = float((1 / before).mean()), float((1 / after).mean())
    wins = mean[1] - mean[0] >= MIN_GAIN and sign_test_p_value(better, worse) <= MAX_CHANCE
    reason = "it wins on what was held out" if wins else "it does not win on what was held out"
    named = dict(zip(FEATURES, np.round(weights, 3).tolist(), strict=True))
    return Outcome(wins, reason, *counts, *mean, better, worse, named), weights


def fit_weights(questions: Sequence[Question]) -> Values:
    """The weights by which what was opened comes before the rest, each question counting once."""
    base, apart, share = [], [], []
    for each in questions:
        rest = ~each.opened
        for row in np.flatnonzero(each.opened):
            base.append(each.base[row] - each.base[rest])
            apart.append(each.features[row] - each.features[rest])
            share.append(np.full(rest.sum(), 1 / (rest.sum() * each.opened.sum())))
    ahead, pairs, counts = np.concatenate(base), np.concatenate(apart), np.concatenate(share)
    weights = np.zeros(len(FEATURES))
    for _ in range(_STEPS):
        wrong = 1 / (1 + np.exp(np.clip(ahead + pairs @ weights, -30, 30)))
        slope = pairs.T @ (counts * wrong) - PENALTY * weights
        bend = (pairs * (counts * wrong * (1 - wrong))[:, None]).T @ pairs
        weights = weights + np.linalg.solve(bend + PENALTY * np.eye(len(weights)), slope)
        weights = weights.clip(-MAX_WEIGHT, MAX_WEIGHT)
    return np.asarray(weights, np.float64)


def sign_test_p_value(better: int, worse: int) -> float:
    """How likely at least ``better`` of all that moved are better, if each is by chance."""
    moved = better + worse
    return float(sum(comb(moved, each) for each in range(better, moved + 1)) / 2**moved)


def undo(home: Path) -> Mapping[str, Any] | None:
    """Take back what was learned last; what is in force then, None for the plain ranking."""
    kept = read_file(home)
    if kept is None or not kept.get("before"):
        file_of(home).unlink(missing_ok=True)
        return None
    write(home, {**kept["before"], "before": None})
    return read_file(home)


def write(home: Path, kept: Mapping[str, Any]) -> None:
    """Replace what was learned."""
    replace_file(file_of(home), json.dumps(kept).encode())
