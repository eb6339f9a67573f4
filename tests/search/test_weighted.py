"""The search with given weights: missing legs, and filters."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import pytest

from mem_search.contracts import Question, Ranking, Retriever
from mem_search.errors import IndexUnavailable, StorageError, Unavailable
from mem_search.model import (
    Draft,
    Filters,
    GraphOptions,
    Link,
    RrfOptions,
    SearchRequest,
)
from mem_search.records.registry import installed_kinds
from mem_search.retrievers import graph
from mem_search.retrievers.graph import Expansion
from mem_search.search.pipeline import SearchPipeline
from mem_search.search.state import Expand
from mem_search.wiring import Runtime, open_runtime
from runtimes import fill, small

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

    def __init__(self, name: str) -> None:
        self.name = name

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
