"""The fit of the constants of relevance, on made-up questions whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest
from fit import Features, fit, logistic, show

RANDOM = np.random.default_rng(7)


def made(count: int) -> list[tuple[Features, bool, bool]]:
    """Questions whose best record is near, or which lack words: two thirds have an answer."""
    found = []
    for place in range(count):
        has_answer = bool(place % 3)
        best = np.stack(
            [
                RANDOM.uniform(0.2, 0.5, 5),
                RANDOM.uniform(0.1, 0.4, 5) + np.array([0.3 * has_answer, 0, 0, 0, 0]),
                np.full(5, RANDOM.uniform(0.0, 0.3) + 0.3 * (not has_answer)),
                np.zeros(5),
            ],
            1,
        )
        judged = np.c_[best[:, :2], (best[:, 1] > 0.4).astype(float)]
        found.append((Features(best, judged), has_answer, place % 2 == 1))
    return found


def test_the_weights_are_those_that_made_the_data() -> None:
    rows = RANDOM.uniform(-1, 1, (20_000, 2))
    sure = 1 / (1 + np.exp(-(rows @ np.array([2.0, -1.0]) + 0.5)))
    weights = logistic(rows, (RANDOM.uniform(size=len(rows)) < sure).astype(float))
    assert weights == pytest.approx([2.0, -1.0, 0.5], abs=0.15)


def test_nearness_speaks_for_an_answer_and_missing_words_against_it() -> None:
    relevance, confidence = fit([(features, answer) for features, answer, _ in made(300)])
    assert relevance[1] > 0
    assert confidence[1] > 0 > confidence[2]


def test_both_halves_are_shown_with_the_constants_in_use(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show(made(300))
    said = capsys.readouterr().out
    assert said.count("in use") == said.count("fitted") == 4
    assert "held out" in said
