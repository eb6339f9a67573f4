"""The vector leg with a real Chroma, and the exact scan where Chroma would lose matches."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

import drafts
from chosen_store import in_a_file
from mem_search.contracts import Question
from mem_search.errors import IndexUnavailable
from mem_search.model import Filters, SearchRequest
from mem_search.model.rankings import Ranking
from mem_search.retrievers import vector as vector_leg
from mem_search.storage.sql import statistics
from mem_search.text import words
from mem_search.wiring import Runtime, open_runtime
from patience import PATIENCE
from runtimes import fill, pages, small

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def full(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Runtime]:
    home: Path = tmp_path_factory.mktemp("home")
    async with open_runtime(small(home, chroma_url="")) as runtime:
        await runtime.index.ready(PATIENCE)
        many = [
            drafts.draft(f"o{n}", f"login form fixed, take {n}", kind="observation", project="p")
            for n in range(900)
        ]
        await fill(runtime, *many, drafts.draft("note", "a login form of paper, and much more"))
        yield runtime


@pytest.fixture(autouse=True)
def is_large(full: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any store is large enough for its index to be asked (``test_small_store`` has the others)."""
    monkeypatch.setattr(type(full.index), "min_passages", 0)


async def rank(
    runtime: Runtime,
    depth: int,
    filters: Filters = Filters(),  # noqa: B008
    *,
    exact: bool = False,
) -> Ranking:
    leg = runtime.search.pipeline._legs[1]
    return await leg.rank(Question("login form", words.read("login form"), filters, exact), depth)


async def test_the_index_answers_as_the_scan_would(full: Runtime) -> None:
    by_index = await rank(full, 50)
    exact = await rank(full, 50, Filters(kinds=("observation", "note")))
    assert (by_index.state, by_index.detail, exact.detail) == ("ok", "", "exact")
    # The index is approximate: among 900 near-equal passages it may miss the very best.
    within = {candidate.record: candidate.score for candidate in exact.candidates}
    shared = [c for c in by_index.candidates if c.record in within]
    assert shared
    assert all(abs(c.score - within[c.record]) < 1e-3 for c in shared)
    assert by_index.candidates[0].score <= exact.candidates[0].score + 1e-3
    assert "note" in {candidate.kind for candidate in by_index.candidates}
    assert "note" in {candidate.kind for candidate in exact.candidates}


async def test_an_exact_search_does_not_use_the_index(full: Runtime) -> None:
    exact = await rank(full, 50, exact=True)
    scanned = await rank(full, 50, Filters(kinds=("observation", "note")))
    assert (exact.state, exact.detail) == ("ok", "exact")
    assert exact.candidates.records.tolist() == scanned.candidates.records.tolist()
    assert exact.candidates.scores.tolist() == scanned.candidates.scores.tolist()


async def test_an_index_that_is_filling_hides_nothing(full: Runtime) -> None:
    """What has a vector and is not in the index yet is scored beside what the index returns."""
    (passage,) = await full.store.database.read(
        lambda c: c.execute("select id from passages where kind = 'note'").fetchone()
    )
    wait = "insert into outbox(passage_id, step) values(%s, 'index')"
    await full.index.delete([2 * passage, 2 * passage + 1])
    await full.store.database.write(lambda c: c.execute(wait, (passage,)))
    full.search.store.changed()
    ranking = await rank(full, 50)
    assert ranking.state == "ok"
    assert passage in {candidate.passage for candidate in ranking.candidates}
    await full.store.database.write(lambda c: c.execute("delete from outbox"))
    full.search.store.changed()


@in_a_file("an index of rows on a server lacks none of them")
async def test_an_index_that_lacks_too_much_is_left_for_the_scan(
    full: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_leg, "MAX_UNINDEXED", 0)
    wait = "insert into outbox(passage_id, step) values(900, 'index')"
    await full.store.database.write(lambda c: c.execute(wait))
    full.search.store.changed()
    monkeypatch.setattr(vector_leg, "MAX_CHEAP_SCAN", 10)
    for filters in (Filters(), Filters(project="p")):
        ranking = await rank(full, 50, filters)
        assert (ranking.state, ranking.detail) == (
            "degraded",
            "the index is down or incomplete; all vectors are compared instead",
        )
    await full.store.database.write(lambda c: c.execute("delete from outbox"))
    full.search.store.changed()
    assert (await rank(full, 50)).state == "ok"


@pytest.fixture
def waits(full: Runtime, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The index says that it is starting; how long it is waited for."""
    found: list[float] = []

    async def ready(timeout: float) -> None:  # noqa: ASYNC109  as of the contract
        found.append(timeout)

    monkeypatch.setattr(type(full.index), "state", "starting")
    monkeypatch.setattr(full.index, "ready", ready)
    monkeypatch.setattr(vector_leg, "MAX_SCAN", 100)
    return found


async def test_a_large_store_waits_for_an_index_that_starts(
    full: Runtime, waits: list[float]
) -> None:
    for filters in (Filters(), Filters(project="p")):
        assert (await rank(full, 50, filters)).state == "ok"
    assert len(waits) == 2
    assert (await rank(full, 50, Filters(kinds=("note",)))).detail == "exact"
    assert len(waits) == 2  # so few are compared at once


async def test_an_index_that_is_late_at_a_start_is_no_fault(
    full: Runtime, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def late(*_: object) -> None:
        raise IndexUnavailable("the index is starting")

    monkeypatch.setattr(full.index, "query", late)
    for filters in (Filters(), Filters(project="p")):
        ranking = await rank(full, 50, filters)
        assert (ranking.state, ranking.detail) == ("ok", "exact")


async def test_a_very_large_store_is_not_compared_while_the_index_starts(
    full: Runtime, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_leg, "MAX_AT_START", 200)
    for filters in (Filters(), Filters(project="p")):
        with pytest.raises(IndexUnavailable, match="starting"):
            await rank(full, 50, filters)
    assert not waits
    assert (await rank(full, 50, Filters(kinds=("note",)))).detail == "exact"


async def test_pages_over_a_real_index_fit_together(full: Runtime) -> None:
    for mode in ("hybrid", "vector"):
        found = await pages(full.search.pipeline, SearchRequest("login form", mode=mode, limit=100))
        together = [result.record.number for page in found for result in page.results]
        assert len(set(together)) == len(together) == found[0].total
        assert {page.total for page in found} == {found[0].total}


@pytest.fixture
def asked(full: Runtime, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many entries the index is asked for, question by question."""
    numbers: list[int] = []
    query = full.index.query

    async def noting(vector: Any, k: int) -> list[tuple[int, float]]:
        numbers.append(k)
        return await query(vector, k)

    monkeypatch.setattr(full.index, "query", noting)
    return numbers


async def test_the_index_is_asked_for_as_many_entries_as_the_records_have(
    full: Runtime, asked: list[int]
) -> None:
    ranking = await rank(full, 100)
    assert asked == [115]  # each record of this store has one
    assert len(ranking.candidates) >= 100


async def test_it_is_asked_for_more_when_long_records_crowd_others_out(
    full: Runtime, asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_leg, "SPARE", 0.5)
    ranking = await rank(full, 100)
    assert asked == [50, 200]
    assert len(ranking.candidates) >= 100


async def test_a_store_of_long_passages_is_asked_for_two_entries_a_record(
    full: Runtime, asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statistics, "MIN_HALVED_CHARS", 1)
    full.search.store.changed()
    await rank(full, 100)
    monkeypatch.undo()
    full.search.store.changed()
    assert asked == [200]


@pytest.mark.parametrize(("most", "expected"), [(100, [100]), (99, [])])
async def test_a_filter_that_needs_more_entries_than_the_index_returns_quickly_is_scanned(
    full: Runtime, asked: list[int], monkeypatch: pytest.MonkeyPatch, most: int, expected: list[int]
) -> None:
    monkeypatch.setattr(vector_leg, "MAX_CHEAP_SCAN", 10)
    monkeypatch.setattr(type(full.index), "most", most)
    ranking = await rank(full, 50, Filters(project="p"))
    assert asked == expected
    assert ranking.detail == ("" if expected else "exact")
    assert len(ranking.candidates) == 50
