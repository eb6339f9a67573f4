"""The weighted search with filters equals the search of a store with only those records."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from filtering_afterwards import Restricted

import chosen_store
from drafts import draft
from mem_search.model import (
    DateRange,
    Draft,
    Filters,
    GraphOptions,
    Link,
    RrfOptions,
    SearchPage,
    SearchRequest,
)
from mem_search.records.registry import installed_kinds
from mem_search.search.pipeline import SearchPipeline
from mem_search.storage.sql import records
from mem_search.text.query.parse import read
from mem_search.wiring import Runtime, open_runtime
from runtimes import fill, small

NOW = datetime(2025, 11, 20, 12, tzinfo=UTC)

WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa".split()
TEXTS = (
    "alpha gamma is:superseded",
    "alpha gamma -is:superseded",
    "beta is:current kind:note",
    "alpha (is:superseded OR tag:x)",
    "gamma kind:note,email",
    "delta -kind:email NOT tag:x",
    "alpha +beta",
    "epsilon since:2025-11-16",
)
FILTERS = (
    Filters(),
    Filters(tags=("x",), created=DateRange(int(NOW.timestamp() * 1000) - 5 * 86_400_000)),
)


def made(count: int) -> list[Draft]:
    """Records with links among them; every fifth supersedes the one two before it."""
    return [
        draft(
            f"r{n}",
            " ".join(WORDS[(n * 7 + i * i) % 10] for i in range(2 + n % 9)),
            kind=("note", "email", "observation")[n % 3],
            tags=("x",) if n % 4 == 0 else (),
            created_at=int(NOW.timestamp() * 1000) - (n % 9) * 86_400_000 - n,
            links=(
                *((Link(f"r{n - 2}", "supersedes"),) if n % 5 == 2 else ()),
                *((Link(f"r{n + 3}", "cites"),) if n % 3 else ()),
            ),
        )
        for n in range(count)
    ]


STORED = made(90)


async def passing(runtime: Runtime, query: SearchRequest) -> tuple[set[str], str]:
    """Source ids within the query's filters, and what of its text is left to look for."""
    reading = read(query.text, now=NOW, kinds=installed_kinds())
    filters = replace(query.filters, demand=reading.demand)
    numbers = await runtime.store.database.read(
        lambda c: records.browse(c, chosen_store.filters().where(c, filters), "date_asc", 999, 0)
    )
    stored = await runtime.store.database.read(records.fetch, numbers)
    return {record.source_id for record in stored.values()}, reading.text


def ranked(page: SearchPage) -> dict[str, float]:
    return {result.record.source_id: result.score for result in page.results}


@pytest.mark.parametrize(
    "weights", [{"vector": 1.0}, {"keyword": 0.0, "vector": 0.6, "graph": 0.4}], ids=str
)
async def test_by_meaning_and_links_it_is_the_search_of_the_filtered_store(
    filled: Runtime, tmp_path: Path, weights: Mapping[str, float]
) -> None:
    """Words are left out: how rare one is, is a matter of the whole store."""
    graph = GraphOptions(depth=3) if weights.get("graph") else None
    fusion = RrfOptions(weights, graph=graph)
    for place, (text, filters) in enumerate(itertools.product(TEXTS, FILTERS)):
        query = SearchRequest(text, filters, fusion=fusion, limit=100)
        names, left = await passing(filled, query)
        async with open_runtime(small(tmp_path / f"{place}")) as other:
            await fill(other, *(each for each in STORED if each.source_id in names))
            alone = await other.search.pipeline.search(replace(query, text=left, filters=Filters()))
        assert ranked(await filled.search.pipeline.search(query)) == pytest.approx(ranked(alone)), (
            text
        )


async def test_by_words_it_is_the_search_restricted_afterwards(filled: Runtime) -> None:
    legs = tuple(Restricted(leg, filled.store.database) for leg in filled.search.pipeline._legs)
    restricted = SearchPipeline(filled.search.store, legs, installed_kinds())
    fusion = RrfOptions({"keyword": 0.4, "vector": 0.4, "graph": 0.2}, graph=GraphOptions())
    for text in TEXTS:
        query = SearchRequest(text, fusion=fusion, limit=100)
        page, after = await filled.search.pipeline.search(query), await restricted.search(query)
        # Two of one similarity may change places: the last digits of a sum depend on its order.
        assert ranked(page) == pytest.approx(ranked(after), abs=0.01), text
        assert page.results, text
