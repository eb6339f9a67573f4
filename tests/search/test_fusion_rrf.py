"""Weighted reciprocal rank fusion: properties for any ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_search.search import fusion_rrf

LEGS = ("keyword", "vector", "graph")
RANKING = st.lists(st.integers(1, 40), unique=True, max_size=25)
RANKINGS = st.fixed_dictionaries(dict.fromkeys(LEGS, RANKING))
WEIGHTS = st.fixed_dictionaries(
    {leg: st.one_of(st.just(0.0), st.floats(0.001, 1.0)) for leg in LEGS}
)
K = st.integers(1, 100)
RECORDS = np.arange(1, 41)


def fuse(
    rankings: Mapping[str, Sequence[int]], weights: Mapping[str, float], k: int = 60
) -> dict[int, float]:
    """Record → score, for records that have one."""
    ranks = {
        leg: np.array([1 + [*found].index(n) if n in found else 0 for n in RECORDS])
        for leg, found in rankings.items()
    }
    scores = fusion_rrf.fuse(ranks, weights, k).tolist()
    return {n: score for n, score in zip(RECORDS.tolist(), scores, strict=True) if score}


def test_a_rank_counts_by_its_reciprocal_and_the_weight_of_its_leg() -> None:
    fused = fuse({"keyword": [7, 8], "vector": [8]}, {"keyword": 0.4, "vector": 0.6}, k=60)
    best = 1.0 / 61
    assert fused[7] == pytest.approx(0.4 / 61 / best)
    assert fused[8] == pytest.approx((0.4 / 62 + 0.6 / 61) / best)


def test_the_first_place_of_every_leg_is_worth_one() -> None:
    fused = fuse({"keyword": [3, 1], "vector": [3]}, {"keyword": 0.3, "vector": 0.7})
    assert fused[3] == pytest.approx(1.0)


def test_a_leg_that_did_not_answer_is_left_out_of_the_weights() -> None:
    weights = {"keyword": 0.4, "vector": 0.4, "graph": 0.2}
    assert fuse({"keyword": [1], "vector": [1]}, weights)[1] == pytest.approx(1.0)
    assert fuse({"keyword": [1], "vector": [1], "graph": []}, weights)[1] == pytest.approx(0.8)


def test_a_small_k_favours_the_first_place_of_one_leg_over_a_middling_place_in_two() -> None:
    rankings = {"keyword": [1, 5, 2], "vector": [4, 6, 2]}
    even = {"keyword": 0.5, "vector": 0.5}
    sharp, flat = fuse(rankings, even, k=1), fuse(rankings, even, k=100)
    assert sharp[1] == pytest.approx(sharp[2])
    assert flat[1] < flat[2]


@given(RANKINGS, WEIGHTS, K)
def test_scores_lie_above_zero_and_at_most_at_one(
    rankings: dict[str, list[int]], weights: dict[str, float], k: int
) -> None:
    assert all(0 < score <= 1 for score in fuse(rankings, weights, k).values())


@given(RANKINGS, WEIGHTS, K, st.sampled_from(LEGS))
def test_a_weight_of_zero_is_as_good_as_no_leg(
    rankings: dict[str, list[int]], weights: dict[str, float], k: int, leg: str
) -> None:
    without = {name: ranks for name, ranks in rankings.items() if name != leg}
    assert fuse(rankings, {**weights, leg: 0.0}, k) == fuse(without, weights, k)


@given(RANKINGS, WEIGHTS, K)
def test_every_record_of_a_leg_that_counts_has_a_score_and_no_other(
    rankings: dict[str, list[int]], weights: dict[str, float], k: int
) -> None:
    listed = {record for leg in LEGS if weights[leg] > 0 for record in rankings[leg]}
    assert set(fuse(rankings, weights, k)) == listed


@given(RANKINGS, WEIGHTS, K, st.sampled_from(LEGS), st.data())
def test_moving_up_in_a_leg_never_costs(
    rankings: dict[str, list[int]],
    weights: dict[str, float],
    k: int,
    leg: str,
    data: st.DataObject,
) -> None:
    ranks = rankings[leg]
    if len(ranks) < 2 or not weights[leg]:
        return
    place = data.draw(st.integers(1, len(ranks) - 1))
    record, above = ranks[place], ranks[place - 1]
    swapped = [*ranks[: place - 1], record, above, *ranks[place + 1 :]]
    before = fuse(rankings, weights, k)
    after = fuse({**rankings, leg: swapped}, weights, k)
    assert after[record] > before[record] or before[record] == 1.0
    assert after[above] < before[above] or after[above] == 1.0
    others = set(before) - {record, above}
    assert {r: after[r] for r in others} == {r: before[r] for r in others}


@given(RANKINGS, WEIGHTS, K, st.floats(0.1, 10))
def test_only_the_ratio_of_weights_matters(
    rankings: dict[str, list[int]], weights: dict[str, float], k: int, factor: float
) -> None:
    scaled = {leg: weight * factor for leg, weight in weights.items()}
    assert fuse(rankings, scaled, k) == pytest.approx(fuse(rankings, weights, k))
