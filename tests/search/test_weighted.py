"""The search with given weights: missing legs, and filters."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import pytest

from mem_search.contracts import Question, Ranking, Retriever
from mem_search.errors import IndexUnavailable, StorageError, Unavailable
from mem_search.model import Draft, Filters, Link
from mem_search.records.registry import installed_kinds
from mem_search.retrievers.graph import Expansion, GraphExpansion
from mem_search.retrievers.keyword import KeywordRetriever
from mem_search.search.weighted import WeightedSearch
from mem_search.search.weights import Walk, WeightedQuery
from mem_search.wiring import Runtime, open_runtime
from runtimes import fill, small

WEIGHTS = {"keyword": 0.4, "vector": 0.4, "graph": 0.2}
QUERY = WeightedQuery("apples", Filters(), WEIGHTS, walk=Walk())

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


class GraphAway(GraphExpansion):
    """A graph that cannot be read."""

    async def expand(self, *args: object, **kwargs: object) -> Expansion:
        raise StorageError("the disk is gone")


@pytest.fixture
async def runtime(tmp_path: Path) -> AsyncIterator[Runtime]:
    async with open_runtime(small(tmp_path)) as runtime:
        await fill(runtime, *DRAFTS)
        yield runtime


def search(
    runtime: Runtime, *legs: Retriever, graph: GraphExpansion | None = None
) -> WeightedSearch:
    graph = graph or GraphExpansion(runtime.search.store)
    return WeightedSearch(runtime.search.store, legs, graph, installed_kinds())


async def test_a_leg_that_is_away_is_told_and_its_weight_shared(runtime: Runtime) -> None:
    words = KeywordRetriever(runtime.search.store)
    page = await search(runtime, words, Away("vector")).search(QUERY)
    assert [(leg.name, leg.state) for leg in page.legs] == [
        ("keyword", "ok"),
        ("vector", "failed"),
        ("graph", "ok"),
    ]
    assert "the index is away" in page.notices[0]
    assert page.found[0].result.score > 0.6
    assert all(0 < found.result.score <= 1 for found in page.found)


async def test_a_graph_that_is_away_leaves_the_other_legs(runtime: Runtime) -> None:
    words = KeywordRetriever(runtime.search.store)
    page = await search(runtime, words, graph=GraphAway(runtime.search.store)).search(QUERY)
    assert {found.result.record.source_id for found in page.found} == {"a", "b"}
    assert page.graph is None
    assert any("the disk is gone" in notice for notice in page.notices)


async def test_without_any_leg_there_is_no_answer(runtime: Runtime) -> None:
    with pytest.raises(Unavailable, match="the index is away"):
        await search(runtime, Away("keyword"), Away("vector")).search(QUERY)


async def test_a_filtered_walk_does_not_pass_through_what_is_filtered_out(
    runtime: Runtime,
) -> None:
    async def found(filters: Filters) -> set[str]:
        query = WeightedQuery("trees", filters, WEIGHTS, walk=Walk(depth=3))
        page = await runtime.search.weighted.search(query)
        return {item.result.record.source_id for item in page.found}

    assert await found(Filters()) >= {"b", "c", "d"}
    assert await found(Filters(tags=("fruit",))) == set()


async def test_a_page_of_filters_alone_respects_the_least_score(runtime: Runtime) -> None:
    query = WeightedQuery("tag:fruit", Filters(), WEIGHTS, least=0.1)
    assert (await runtime.search.weighted.search(query)).found == ()


@pytest.mark.parametrize("legs", [{"keyword": 1.0}, {"vector": 1.0}, WEIGHTS])
async def test_the_other_side_of_an_or_needs_no_words(
    runtime: Runtime, legs: Mapping[str, float]
) -> None:
    await fill(runtime, *DRAFTS)
    query = WeightedQuery("tag:other OR pears", Filters(), legs)
    page = await runtime.search.weighted.search(query)
    assert {found.result.record.source_id for found in page.found} == {"a", "c"}
