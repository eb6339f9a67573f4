import itertools
import math
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mem_search.model import SearchRequest
from mem_search.search.fusion_zscore import Z_SCORE_SUM, z_scores
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
