"""``scripts/evaluate answerable --fit``: the constants of ``relevance.py``, fitted.

Both are logistic regressions with a small ridge, on the half of the questions that is not held
out. ``relevance`` is fitted on the judged results, ``confidence`` on one row for each question: the
surest of its five best. Which that is depends on the constants, so it is chosen again until they
stay. The optimum is flat: constants that differ by a third have the same figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mem_search.search.stage_data import NAMED_RECORDS, TERM_COVERAGE
from mem_search.search.stages import relevance
from mem_search.search.state import RankingState

RIDGE: Final = 0.1
_ROUNDS: Final = 50
_STEPS: Final = 100
_SMALL: Final = 1e-6

Rows = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Features:
    """What a question and its results give to a fit. ``best`` has a row for each of the five best:
    covered, cosine, unknown, named; ``judged`` one for each judged result: covered, cosine, truth.
    """

    best: Rows
    judged: Rows


def features(state: RankingState, judged: Sequence[tuple[int, bool]]) -> Features | None:
    """Those of a ranking after ``certainty``; None where a name or a demand decides the answer."""
    covered, cosines = state.stored.of(TERM_COVERAGE), relevance.calibrated_cosines(state)
    demanded = state.question.filters.demand is not None and not state.question.is_for_document
    if covered is None or cosines is None or demanded or state.stored.of(NAMED_RECORDS).held:
        return None
    row_of = {number: row for row, number in enumerate(state.union.records.tolist())}
    rows = state.rows
    best = rows[np.argsort(-state.total[rows], kind="stable")][: relevance.ANSWER_DEPTH]
    best = best[~np.isnan(cosines[best])]
    if not len(best):
        return None
    same = np.ones(len(best))
    named = float(state.question.is_for_document)
    return Features(
        np.stack([covered.shares[best], cosines[best], covered.unknown * same, named * same], 1),
        np.array(
            [
                (covered.shares[row], cosines[row], true)
                for number, true in judged
                if (row := row_of.get(number)) is not None and not np.isnan(cosines[row])
            ],
            float,
        ).reshape(-1, 3),
    )


def logistic(rows: Rows, true: Rows) -> Rows:
    """The weights of the columns of ``rows``, and the bias, by Newton's method."""
    rows = np.c_[rows, np.ones(len(rows))]
    weights = np.zeros(rows.shape[1])
    for _ in range(_STEPS):
        sure = 1 / (1 + np.exp(-rows @ weights))
        slope = rows.T @ (true - sure) - RIDGE * weights
        bend = (rows * (sure * (1 - sure))[:, None]).T @ rows + RIDGE * np.eye(len(weights))
        step = np.linalg.solve(bend, slope)
        weights = weights + step
        if np.abs(step).max() < _SMALL:
            break
    return np.asarray(weights)


def surest(weights: Rows, best: Rows) -> tuple[int, float]:
    """The row of ``best`` with the highest probability, and its log-odds."""
    odds = np.c_[best, np.ones(len(best))] @ weights
    return int(odds.argmax()), float(odds.max())


def fit(asked: Sequence[tuple[Features, bool]]) -> tuple[Rows, Rows]:
    """The constants of ``relevance`` and ``confidence`` from questions and whether they have an
    answer.
    """
    judged = np.concatenate([each.judged for each, _ in asked])
    true = np.array([has_answer for _, has_answer in asked], float)
    weights = np.array([*relevance.CONFIDENCE.values()])
    for _ in range(_ROUNDS):
        rows = np.stack([each.best[surest(weights, each.best)[0]] for each, _ in asked])
        before, weights = weights, logistic(rows, true)
        if np.abs(weights - before).max() < _SMALL:
            break
    return logistic(judged[:, :2], judged[:, 2]), weights


def show(asked: Sequence[tuple[Features, bool, bool]]) -> None:
    """Print the fitted constants beside those in use, and how both halves are told by each.

    ``asked`` has for each question whether it has an answer, and whether it is held out. The border
    of the fitted ones says wrongly of one question in a hundred that it has no answer, or of fewer.
    """
    chosen = [(each, has_answer) for each, has_answer, held in asked if not held]
    found, sure = fit(chosen)
    for name, used, fitted in (
        ("RELEVANCE", relevance.RELEVANCE, found),
        ("CONFIDENCE", relevance.CONFIDENCE, sure),
    ):
        print(f"{name:10} in use {used}")
        print(f"{name:10} fitted {dict(zip(used, fitted.round(2).tolist(), strict=True))}")
    in_use = np.array([*relevance.CONFIDENCE.values()])
    border = relevance.MIN_CONFIDENCE
    answered = [surest(sure, each.best)[1] for each, has_answer in chosen if has_answer]
    for name, weights, least in (
        ("in use", in_use, float(np.log(border / (1 - border)))),
        ("fitted", sure, float(np.quantile(answered, 0.01))),
    ):
        for half in (False, True):
            told = [
                (has_answer, surest(weights, each.best)[1] < least)
                for each, has_answer, held in asked
                if held == half
            ]
            said = np.mean([low for has_answer, low in told if not has_answer])
            wrong = np.mean([low for has_answer, low in told if has_answer])
            of = "held out" if half else "chosen on"
            print(f"{name}  {of:9}  said so {said:.3f}  wrongly {wrong:.3f}")
