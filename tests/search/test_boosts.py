"""Boosts: what the stages ``recency`` and ``importance`` add."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from mem_search.model import Boost, DateRange, SearchRequest
from mem_search.search.stages import scoring
from mem_search.search.stages.scoring import (
    HALF_LIFE,
    IMPORTANCE_WEIGHT,
    RECENCY_WEIGHT,
    TIME_WEIGHT,
)
from ranking_states import state

NOW = 100 * HALF_LIFE


def parts(
    boosts: tuple[Boost, ...], dates: Sequence[float], importance: Sequence[float]
) -> dict[str, list[float]]:
    asked_at = datetime.fromtimestamp(NOW / 1000, UTC)
    before = state(
        len(dates),
        request=SearchRequest("words", boosts=boosts, asked_at=asked_at),
        created=np.array(dates, np.int64),
        importance=np.array(importance, np.float64),
    )
    after = scoring.importance(scoring.recency(before))
    return {name: values.tolist() for name, values in after.parts.items()}


def added(boost: Boost, values: Sequence[float]) -> list[float]:
    """What a boost adds for these dates, or this importance."""
    dates = values if boost == "recency" else [0] * len(values)
    importance = values if boost == "importance" else [np.nan] * len(values)
    found = parts((boost,), dates, importance)
    assert set(found) == {boost}
    return found[boost]


def test_boosts_add_nothing_without_a_request() -> None:
    assert parts((), [5], [1.0]) == {}


@pytest.mark.parametrize("boost", ["recency", "importance"])
def test_no_candidates_gain_nothing(boost: Boost) -> None:
    assert added(boost, []) == []


def test_recency_halves_from_the_newest_candidate_on() -> None:
    assert added("recency", [HALF_LIFE * 3, HALF_LIFE * 2, HALF_LIFE]) == pytest.approx(
        [RECENCY_WEIGHT, RECENCY_WEIGHT / 2, RECENCY_WEIGHT / 4]
    )


def test_a_date_in_the_future_makes_nothing_else_old() -> None:
    assert added("recency", [NOW * 50, NOW, NOW - HALF_LIFE]) == pytest.approx(
        [RECENCY_WEIGHT, RECENCY_WEIGHT, RECENCY_WEIGHT / 2]
    )


def test_records_of_one_date_gain_alike() -> None:
    assert len(set(added("recency", [7, 7, 7]))) == 1


def test_importance_adds_and_takes_and_leaves_alone_what_has_none() -> None:
    half = IMPORTANCE_WEIGHT / 2
    assert added("importance", [1.0, np.nan, 0.0, 0.5, 7.0]) == [half, 0.0, -half, 0.0, half]


@pytest.mark.parametrize(
    ("times", "raised"),
    [
        ((), []),
        ((DateRange(20, 30),), [0, 1, 1, 0]),
        ((DateRange(start=30),), [0, 0, 1, 1]),
        ((DateRange(end=10), DateRange(40, 50)), [1, 0, 0, 1]),
    ],
)
def test_records_from_a_time_in_the_question_gain_the_same(
    times: tuple[DateRange, ...], raised: list[int]
) -> None:
    before = state(4, created=np.array([10, 20, 30, 40], np.int64))
    asked = replace(before, question=replace(before.question, times=times))
    parts = scoring.intent_boost(asked).parts
    assert [value / TIME_WEIGHT for value in parts.get("time", ())] == raised
