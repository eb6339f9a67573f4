"""A small store: all vectors are compared, and the index is asked beside.

1. The nearest are exact, with and without filters.
2. The index is asked one of ``ASKED_BESIDE`` questions, the first one too, and no search waits.
3. Where the index finds less near ones, it is doubted; where it is away, the answer says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio

import drafts
from chosen_store import in_a_file
from mem_search.contracts import Question
from mem_search.errors import IndexUnavailable
from mem_search.model import Filters
from mem_search.model.rankings import Ranking
from mem_search.retrievers import vector as vector_leg
from mem_search.text import words
from mem_search.wiring import Runtime, open_runtime
from patience import PATIENCE, comes_true
from runtimes import fill, small

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    in_a_file("only Chroma is asked beside"),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def full(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Runtime]:
    home: Path = tmp_path_factory.mktemp("home")
    async with open_runtime(small(home, chroma_url="")) as runtime:
        await runtime.index.ready(PATIENCE)
        many = [
            drafts.draft(f"o{n}", f"login form fixed, take {n}", kind="observation")
            for n in range(300)
        ]
        await fill(runtime, *many, drafts.draft("note", "a login form of paper"))
        yield runtime


@pytest.fixture
def asked(full: Runtime, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many entries each query of the index asks for."""
    found: list[int] = []
    query = full.index.query

    async def counted(vector: object, k: int) -> list[tuple[int, float]]:
        found.append(k)
        return await query(vector, k)  # type: ignore[arg-type]

    monkeypatch.setattr(full.index, "query", counted)
    return found


def leg_of(runtime: Runtime) -> vector_leg.VectorRetriever:
    leg = runtime.search.pipeline._legs[1]
    assert isinstance(leg, vector_leg.VectorRetriever)
    leg._compared, leg._beside = 0, None
    return leg


async def rank(leg: vector_leg.VectorRetriever, text: str, filters: Filters = Filters()) -> Ranking:  # noqa: B008
    return await leg.rank(Question(text, words.read(text), filters), 50)


async def test_the_nearest_are_exact(full: Runtime) -> None:
    leg = leg_of(full)
    ranking = await rank(leg, "login form")
    passages = await full.search.store.read(lambda s: s.passages_within(Filters()))
    vector = await leg._vector("login form")
    cosines = await full.search.store.read(lambda s: s.passage_cosines(vector, passages))
    best = np.sort(cosines)[::-1][:50]
    assert np.allclose(ranking.candidates.scores[:50], best)
    assert (ranking.state, ranking.detail) == ("ok", "exact")
    notes = await rank(leg, "login form", Filters(kinds=("note",)))
    assert [each.kind for each in notes.candidates] == ["note"]


async def test_the_index_is_asked_one_question_of_sixteen(full: Runtime, asked: list[int]) -> None:
    leg = leg_of(full)
    for n in range(2 * vector_leg.ASKED_BESIDE):
        await rank(leg, f"form {n}")
        if leg._beside is not None:
            await leg._beside
    assert len(asked) == 2
    await rank(leg, "form", Filters(kinds=("note",)))
    assert len(asked) == 2
    assert not full.index.is_doubted


async def test_no_search_waits_for_the_index(
    full: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    never = asyncio.Event()

    async def query(*_: object) -> list[tuple[int, float]]:
        await never.wait()
        return []

    monkeypatch.setattr(full.index, "query", query)
    leg = leg_of(full)
    assert (await rank(leg, "login form")).detail == "exact"
    never.set()
    assert leg._beside is not None
    await leg._beside
    full.index.is_doubted = False


async def test_an_index_that_finds_less_near_ones_is_doubted(
    full: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def far(*_: object) -> list[tuple[int, float]]:
        return [(2 * n, 0.01) for n in range(50)]

    monkeypatch.setattr(full.index, "query", far)
    await rank(leg_of(full), "login form")
    await comes_true(lambda: full.index.is_doubted)
    full.index.is_doubted = False


async def test_an_index_that_is_away_degrades_the_answer(
    full: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object) -> None:
        raise IndexUnavailable("gone")

    monkeypatch.setattr(full.index, "query", away)
    monkeypatch.setattr(type(full.index), "state", "down")
    ranking = await rank(leg_of(full), "login form")
    assert (ranking.state, ranking.detail) == ("degraded", vector_leg.AWAY)
