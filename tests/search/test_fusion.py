import itertools
import math

from hypothesis import given
from hypothesis import strategies as st

from mem_search.search.fusion import LegScores, fuse, z_scores

scores = st.dictionaries(st.integers(1, 30), st.floats(-5, 50), min_size=2)


def test_unknown_scores_neither_help_nor_harm() -> None:
    assert z_scores([1.0, math.nan, 3.0]).tolist() == [-1.0, 0.0, 1.0]


def test_a_leg_without_spread_says_nothing() -> None:
    assert z_scores([2.0, 2.0, 2.0]).tolist() == [0.0, 0.0, 0.0]


def leg(scores: dict[int, float]) -> LegScores:
    return LegScores(scores, sorted(scores, key=lambda record: (-scores[record], record)))


def fused(field: str, *, foreign: bool = False) -> dict[int, float]:
    """Keyword prefers 1, vector prefers 2."""
    legs = {"keyword": leg({1: 1.0, 2: 0.0}), "vector": leg({1: 0.0, 2: 1.0})}
    return fuse({1: field, 2: field}, legs, foreign=foreign)


def test_both_legs_count_the_same_for_prose() -> None:
    assert fused("content")[1] == fused("content")[2]


def test_the_vector_leg_decides_for_code_and_words_decide_for_foreign_questions() -> None:
    assert fused("code")[2] > fused("code")[1]
    assert fused("content", foreign=True)[1] > fused("content", foreign=True)[2]


def test_the_first_place_of_a_leg_says_more_than_its_distance() -> None:
    legs = {"keyword": leg({1: 1.0, 2: 1.0 - 1e-6, 3: 0.0})}
    result = fuse(dict.fromkeys([1, 2, 3], "content"), legs, foreign=False)
    assert result[1] - result[2] >= 0.5


@given(scores, scores)
def test_fusion_is_finite_and_does_not_depend_on_the_order_of_records(
    keyword: dict[int, float], vector: dict[int, float]
) -> None:
    records = sorted({*keyword, *vector})
    legs = {"keyword": leg(keyword), "vector": leg(vector)}
    forward = fuse(dict.fromkeys(records, "content"), legs, foreign=False)
    backward = fuse(dict.fromkeys(records[::-1], "content"), legs, foreign=False)
    assert all(math.isfinite(score) for score in forward.values())
    assert all(math.isclose(forward[r], backward[r], abs_tol=1e-6) for r in records)


@given(scores)
def test_one_leg_alone_keeps_its_order(keyword: dict[int, float]) -> None:
    result = fuse(dict.fromkeys(keyword, "content"), {"keyword": leg(keyword)}, foreign=False)
    ranked = leg(keyword).ranked
    assert all(result[better] >= result[worse] for better, worse in itertools.pairwise(ranked))
