"""Weighted reciprocal rank fusion, and the search that uses it.

1. A rank counts by its reciprocal and its leg's weight; the first place of every leg is worth 1.
2. A leg that did not answer is left out of the weights; a weight of 0 is as good as no leg.
3. Scores lie above 0 and at most at 1; only what a counting leg lists has one.
4. Moving up in a leg never costs; only the ratio of weights matters.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_search.contracts import Question, Ranking, Retriever
from mem_search.errors import IndexUnavailable, StorageError, Unavailable
from mem_search.model import Draft, Filters, GraphOptions, Link, RrfOptions, SearchRequest
from mem_search.records.registry import installed_kinds
from mem_search.retrievers import graph
from mem_search.retrievers.graph import Expansion
from mem_search.search import fusion_rrf
from mem_search.search.pipeline import SearchPipeline
from mem_search.search.state import Expand
from mem_search.wiring import Runtime, open_runtime
from ranking_states import state
from runtimes import fill, small

# Weighted reciprocal rank fusion: properties for any ranks.

LEGS = ("keyword", "vector", "graph")
RANKING = st.lists(st.integers(1, 40), unique=True, max_size=25)
RANKINGS = st.fixed_dictionaries(dict.fromkeys(LEGS, RANKING))
ANY_WEIGHTS = st.fixed_dictionaries(
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


@given(RANKINGS, ANY_WEIGHTS, K)
def test_scores_lie_above_zero_and_at_most_at_one(
    rankings: dict[str, list[int]], weights: dict[str, float], k: int
) -> None:
    assert all(0 < score <= 1 for score in fuse(rankings, weights, k).values())


@given(RANKINGS, ANY_WEIGHTS, K, st.sampled_from(LEGS))
def test_a_weight_of_zero_is_as_good_as_no_leg(
    rankings: dict[str, list[int]], weights: dict[str, float], k: int, leg: str
) -> None:
    without = {name: ranks for name, ranks in rankings.items() if name != leg}
    assert fuse(rankings, {**weights, leg: 0.0}, k) == fuse(without, weights, k)


@given(RANKINGS, ANY_WEIGHTS, K)
def test_every_record_of_a_leg_that_counts_has_a_score_and_no_other(
    rankings: dict[str, list[int]], weights: dict[str, float], k: int
) -> None:
    listed = {record for leg in LEGS if weights[leg] > 0 for record in rankings[leg]}
    assert set(fuse(rankings, weights, k)) == listed


@given(RANKINGS, ANY_WEIGHTS, K, st.sampled_from(LEGS), st.data())
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


@given(RANKINGS, ANY_WEIGHTS, K, st.floats(0.1, 10))
def test_only_the_ratio_of_weights_matters(
    rankings: dict[str, list[int]], weights: dict[str, float], k: int, factor: float
) -> None:
    scaled = {leg: weight * factor for leg, weight in weights.items()}
    assert fuse(rankings, scaled, k) == pytest.approx(fuse(rankings, weights, k))


@pytest.mark.parametrize(
    ("least", "kept"), [(0.0, [True, True, True, False]), (0.5, [True, True, False, False])]
)
def test_a_score_as_high_as_the_least_is_kept_and_none_at_all_is_not(
    least: float, kept: list[bool]
) -> None:
    request = SearchRequest("words", fusion=RrfOptions({}, min_score=least))
    before = state(4, request=request, parts={"fused": [0.6, 0.5, 0.4, 0.0]})
    matched = fusion_rrf.least_score(before).matched
    assert matched is not None
    assert matched.tolist() == kept


# The search with given weights: missing legs, and filters.

WEIGHTS = {"keyword": 0.4, "vector": 0.4, "graph": 0.2}
REQUEST = SearchRequest("apples", fusion=RrfOptions(WEIGHTS, graph=GraphOptions()))

DRAFTS = (
    Draft("note", "test", "a", "Apples and pears.", tags=("fruit",)),
    Draft("note", "test", "b", "Apples grow on trees.", links=(Link("c"),)),
    Draft("note", "test", "c", "Tied to it, of another tag.", tags=("other",), links=(Link("d"),)),
    Draft("note", "test", "d", "Two steps away.", tags=("fruit",)),
)


class Away:
    """A leg that cannot answer."""

    scores_early = False
    space = ""

    def __init__(self, name: str) -> None:
        self.name = name

    async def reading(self, question: Question, depth: int) -> None:
        """Not by one read."""

    async def rank(self, question: Question, depth: int) -> Ranking:
        raise IndexUnavailable("the index is away")

    async def score(
        self, question: Question, ranking: Ranking, records: Sequence[int]
    ) -> Mapping[int, float]:
        return {}


def graph_away(*args: object, **kwargs: object) -> Expansion:
    """A graph that cannot be read."""
    raise StorageError("the disk is gone")


@pytest.fixture
async def runtime(tmp_path: Path) -> AsyncIterator[Runtime]:
    async with open_runtime(small(tmp_path)) as runtime:
        await fill(runtime, *DRAFTS)
        yield runtime


def search(runtime: Runtime, *legs: Retriever, expand: Expand = graph.expand) -> SearchPipeline:
    return SearchPipeline(runtime.search.store, legs, installed_kinds(), expand=expand)


async def test_a_leg_that_failed_is_reported_and_its_weight_shared(runtime: Runtime) -> None:
    words = runtime.search.pipeline._legs[0]
    page = await search(runtime, words, Away("vector")).search(REQUEST)
    assert [(leg.name, leg.state) for leg in page.report.legs] == [
        ("keyword", "ok"),
        ("vector", "failed"),
        ("graph", "ok"),
    ]
    assert "the index is away" in page.report.notices[0]
    assert page.results[0].score > 0.6
    assert all(0 < result.score <= 1 for result in page.results)


async def test_a_graph_that_is_away_leaves_the_other_legs(runtime: Runtime) -> None:
    words = runtime.search.pipeline._legs[0]
    page = await search(runtime, words, expand=graph_away).search(REQUEST)
    assert {result.record.source_id for result in page.results} == {"a", "b"}
    assert page.graph is None
    assert any("the disk is gone" in notice for notice in page.report.notices)


async def test_without_any_leg_there_is_no_answer(runtime: Runtime) -> None:
    with pytest.raises(Unavailable, match="the index is away"):
        await search(runtime, Away("keyword"), Away("vector")).search(REQUEST)


async def test_a_filtered_walk_does_not_pass_through_what_is_filtered_out(
    runtime: Runtime,
) -> None:
    async def found(filters: Filters) -> set[str]:
        fusion = RrfOptions(WEIGHTS, graph=GraphOptions(depth=3))
        request = SearchRequest("trees", filters, fusion=fusion)
        page = await runtime.search.service.search(request, "test")
        return {result.record.source_id for result in page.results}

    assert await found(Filters()) >= {"b", "c", "d"}
    assert await found(Filters(tags=("fruit",))) == set()


async def test_a_page_of_filters_alone_respects_the_least_score(runtime: Runtime) -> None:
    request = SearchRequest("tag:fruit", fusion=RrfOptions(WEIGHTS, min_score=0.1))
    assert (await runtime.search.service.search(request, "test")).results == ()


@pytest.mark.parametrize("legs", [{"keyword": 1.0}, {"vector": 1.0}, WEIGHTS])
async def test_the_other_side_of_an_or_needs_no_words(
    runtime: Runtime, legs: Mapping[str, float]
) -> None:
    await fill(runtime, *DRAFTS)
    request = SearchRequest("tag:other OR pears", fusion=RrfOptions(legs))
    page = await runtime.search.service.search(request, "test")
    assert {result.record.source_id for result in page.results} == {"a", "c"}
