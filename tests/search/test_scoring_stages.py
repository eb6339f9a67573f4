"""The stages that add to a score, as pure functions (``stages/scoring.py``).

1. An unknown score, and a leg without spread, say nothing.
2. Both legs count the same for prose; meaning decides for code, words for foreign questions.
3. The first place of a leg says more than its distance to the second.
4. One leg alone keeps its order.
5. Boosts count only on request: recency halves with age, importance adds and takes.
6. All records from a time that the question names gain the same.
7. A turn gains from its neighbours by distance, a session from its best three.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mem_search.model import Boost, DateRange, Kind, SearchRequest
from mem_search.search.stage_data import COMPLETE_MATCHES
from mem_search.search.stages import relevance, scoring
from mem_search.search.stages.scoring import (
    IMPORTANCE_WEIGHT,
    RECENCY_HALF_LIFE_MS,
    RECENCY_WEIGHT,
    TIME_WEIGHT,
    Z_SCORE_SUM,
    z_scores,
)
from mem_search.search.state import LegScores
from ranking_states import state

scores = st.dictionaries(st.integers(1, 30), st.floats(-5, 50), min_size=2)


def test_unknown_scores_neither_help_nor_harm() -> None:
    assert z_scores(np.array([1.0, math.nan, 3.0])).tolist() == [-1.0, 0.0, 1.0]


def test_a_leg_without_spread_says_nothing() -> None:
    assert z_scores(np.array([2.0, 2.0, 2.0])).tolist() == [0.0, 0.0, 0.0]


def leg(records: list[int], scores: dict[int, float]) -> LegScores:
    """A leg that lists all it scores, seen from a union of ``records``."""
    best_first = sorted(scores, key=lambda record: (-scores[record], record))
    ranks = {record: rank for rank, record in enumerate(best_first, start=1)}
    return LegScores(
        np.array([scores.get(record, math.nan) for record in records]),
        np.array([ranks.get(record, 0) for record in records], dtype=np.int64),
    )


def fused_scores(
    code: NDArray[np.bool_], legs: dict[str, LegScores], *, foreign: bool
) -> NDArray[np.float64]:
    request = SearchRequest("слова" if foreign else "words")
    before = state(len(code), legs=legs, request=request)
    return Z_SCORE_SUM.fuse(replace(before, union=replace(before.union, code=code)))


def fused_of(
    records: list[int],
    *legs: tuple[str, dict[int, float]],
    code: bool = False,
    foreign: bool = False,
) -> dict[int, float]:
    """Record → fused score."""
    said = {name: leg(records, scores) for name, scores in legs}
    total = fused_scores(np.full(len(records), code), said, foreign=foreign)
    return dict(zip(records, total.tolist(), strict=True))


def fused(*, code: bool = False, foreign: bool = False) -> dict[int, float]:
    """Keyword prefers 1, vector prefers 2."""
    legs = (("keyword", {1: 1.0, 2: 0.0}), ("vector", {1: 0.0, 2: 1.0}))
    return fused_of([1, 2], *legs, code=code, foreign=foreign)


def test_both_legs_count_the_same_for_prose() -> None:
    assert fused()[1] == fused()[2]


def test_the_vector_leg_decides_for_code_and_words_decide_for_foreign_questions() -> None:
    assert fused(code=True)[2] > fused(code=True)[1]
    assert fused(foreign=True)[1] > fused(foreign=True)[2]


def test_each_passage_has_the_weights_of_what_it_is() -> None:
    legs = {"keyword": leg([1, 2], {1: 1.0, 2: 0.0}), "vector": leg([1, 2], {1: 0.0, 2: 1.0})}
    total = fused_scores(np.array([True, False]), legs, foreign=False)
    assert total[1] == fused()[2]
    assert total[0] == fused(code=True)[1]


def test_the_first_place_of_a_leg_says_more_than_its_distance() -> None:
    result = fused_of([1, 2, 3], ("keyword", {1: 1.0, 2: 1.0 - 1e-6, 3: 0.0}))
    assert result[1] - result[2] >= 0.5


@given(scores, scores)
def test_fusion_is_finite_and_does_not_depend_on_the_order_of_records(
    keyword: dict[int, float], vector: dict[int, float]
) -> None:
    records = sorted({*keyword, *vector})
    legs = (("keyword", keyword), ("vector", vector))
    forward = fused_of(records, *legs)
    backward = fused_of(records[::-1], *legs)
    assert all(math.isfinite(score) for score in forward.values())
    assert all(math.isclose(forward[r], backward[r], abs_tol=1e-6) for r in records)


@given(scores)
def test_one_leg_alone_keeps_its_order(keyword: dict[int, float]) -> None:
    result = fused_of(list(keyword), ("keyword", keyword))
    ranked = sorted(keyword, key=lambda record: (-keyword[record], record))
    assert all(result[better] >= result[worse] for better, worse in itertools.pairwise(ranked))


# Boosts: what the stages ``recency`` and ``importance`` add.

NOW = 100 * RECENCY_HALF_LIFE_MS


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
    assert added(
        "recency", [RECENCY_HALF_LIFE_MS * 3, RECENCY_HALF_LIFE_MS * 2, RECENCY_HALF_LIFE_MS]
    ) == pytest.approx([RECENCY_WEIGHT, RECENCY_WEIGHT / 2, RECENCY_WEIGHT / 4])


def test_a_date_in_the_future_makes_nothing_else_old() -> None:
    assert added("recency", [NOW * 50, NOW, NOW - RECENCY_HALF_LIFE_MS]) == pytest.approx(
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
        ((DateRange(20, 30),), [0, 2, 2, 0]),
        ((DateRange(start=30),), [0, 0, 1, 1]),
        ((DateRange(end=10), DateRange(40, 50)), [1, 0, 0, 2]),
    ],
)
def test_records_from_a_time_in_the_question_gain_the_same_and_twice_where_it_is_some_days(
    times: tuple[DateRange, ...], raised: list[int]
) -> None:
    before = state(4, created=np.array([10, 20, 30, 40], np.int64))
    asked = replace(before, question=replace(before.question, times=times))
    parts = scoring.named_time(asked).parts
    assert [value / TIME_WEIGHT for value in parts.get("time", ())] == raised


# Context: what the stages ``neighbours`` and ``session`` add to each record.


class Turn(NamedTuple):
    position: int
    conversation: int = 1
    kind: Kind = "user_prompt"


def from_context(scores: list[float], *turns: Turn) -> dict[str, list[float]]:
    before = state(
        len(turns),
        kinds=[turn.kind for turn in turns],
        parts={"fused": scores},
        conversations=np.array([turn.conversation for turn in turns], dtype=np.int64),
        positions=np.array([turn.position for turn in turns], dtype=np.int32),
    )
    nothing = np.zeros(len(turns))
    return {
        "neighbours": scoring.neighbours(before).parts.get("neighbours", nothing).tolist(),
        "session": scoring.session(before).parts.get("session", nothing).tolist(),
    }


def test_a_turn_gains_from_its_neighbours_by_distance() -> None:
    found = from_context([0.0, 2.0, 0.0], Turn(1), Turn(2), Turn(3))["neighbours"]
    assert found == [0.3 * 2.0, 0.0, 0.4 * 2.0]


def test_negative_neighbours_do_no_harm() -> None:
    assert from_context([1.0, -3.0], Turn(1), Turn(2))["neighbours"][0] == 0.0


def test_other_sessions_are_not_neighbours() -> None:
    assert not any(from_context([1.0, 2.0], Turn(1), Turn(2, conversation=2))["neighbours"])


def test_a_session_with_several_matches_is_raised_by_its_best_three() -> None:
    turns = [Turn(n * 10) for n in range(1, 5)]
    found = from_context([3.0, 2.0, 1.0, 1.0, 9.0], *turns, Turn(1, conversation=2))["session"]
    assert found[:4] == [pytest.approx(0.5 * (3.0 + 2.0 + 1.0) / 3)] * 4
    assert found[4] == pytest.approx(0.5 * 9.0 / 3)


def test_records_without_a_session_have_no_context() -> None:
    found = from_context([3.0, 2.0], Turn(0, conversation=0), Turn(0, conversation=0))
    assert found == {"neighbours": [0.0, 0.0], "session": [0.0, 0.0]}


def test_in_a_mixed_page_neighbours_are_left_out() -> None:
    found = from_context([1.0, 2.0, 1.0], Turn(1), Turn(2), Turn(1, kind="observation"))
    assert found["neighbours"] == [0.0, 0.0, 0.0]
    assert found["session"][0] > 0


def test_nothing_found_has_no_context() -> None:
    assert from_context([]) == {"neighbours": [], "session": []}


def test_what_has_every_word_stays_only_where_it_matches() -> None:
    before = replace(
        state(4, parts={"fused": [50.0, 0.0, 0.0, 0.0]}),
        matched=np.array([True, False, True, True]),
    )
    before = replace(
        before, stored=replace(before.stored, values={COMPLETE_MATCHES: np.array([2, 3])})
    )
    after = relevance.relevant(before)
    assert after.matched is not None
    assert after.matched.tolist() == [True, False, True, False]
    assert after.weaker == 1


@pytest.mark.parametrize("has_vector", [False, True])
def test_while_a_store_is_embedded_a_record_with_a_vector_has_no_advantage(
    has_vector: bool,
) -> None:
    """A store of which 27 % is embedded; the answer is the best by its words and by its meaning."""
    random = np.random.default_rng(40)
    places = []
    for _ in range(100):
        words_scores, cosines = random.normal(4, 1.5, 60), random.normal(0.35, 0.1, 60)
        words_scores[0], cosines[0] = words_scores.max() + 0.2, cosines.max() + 0.02
        unknown = random.random(60) > 0.27
        unknown[0] = not has_vector
        legs = {}
        for name, values in (("keyword", words_scores), ("vector", cosines)):
            known = np.where(unknown, np.nan, values) if name == "vector" else values
            order = np.argsort(np.nan_to_num(-known, nan=np.inf))
            ranks = np.zeros(60, np.int64)
            ranks[order] = np.arange(1, 61)
            legs[name] = LegScores(known, np.where(np.isnan(known), 0, ranks))
        fused = Z_SCORE_SUM.fuse(state(60, legs=legs))
        places.append(int((fused > fused[0]).sum()) + 1)
    assert np.mean(places) < 1.1
