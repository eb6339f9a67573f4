"""The contract of every store: it keeps one sparse vector for a passage, as long as that exists."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from contracts.test_stores_search import STORES, numbers_of
from drafts import draft, forget
from mem_search.model import Filters
from mem_search.model.rankings import Numbers
from mem_search.wiring import Runtime, open_runtime
from runtimes import fill

KINDS = (("session_summary",), ("observation",))


@pytest.fixture(params=STORES)
async def runtime(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Runtime]:
    async with open_runtime(STORES[request.param](tmp_path / "home")) as opened:
        await fill(
            opened,
            draft("one", "a stroll along the canal", kind="session_summary", title="Walk"),
            draft("two", "a crash of the consumer " * 300, kind="session_summary"),
            draft("paper", "a paper about strolling"),
            draft("commit", "stroll: fix the crash", kind="observation"),
        )
        yield opened


async def passages(runtime: Runtime) -> Numbers:
    return await runtime.search.store.read(lambda snapshot: snapshot.passages_within(Filters()))


async def vectors(runtime: Runtime, numbers: Numbers) -> dict[int, bytes]:
    return await runtime.search.store.read(lambda snapshot: snapshot.sparse_vectors(numbers))


async def test_passages_are_handed_out_until_they_have_a_vector(runtime: Runtime) -> None:
    indexing = runtime.store.indexing
    every = await passages(runtime)
    after: int | None = 0
    handed: list[int] = []
    while after is not None:
        after, lacking = await indexing.without_sparse(*KINDS, after, 2)
        assert len(lacking) <= 2
        handed += [each.passage for each in lacking]
        await indexing.add_sparse({each.passage: b"abc" for each in lacking})
    assert len(handed) == len(set(handed)) == len(every) - 2
    assert await indexing.sparse_counts(*KINDS) == (len(handed), len(handed))
    last, lacking = await indexing.without_sparse(*KINDS, 0, 2)
    assert (last, lacking) == (every.max(), [])
    assert await vectors(runtime, every) == dict.fromkeys(handed, b"abc")


async def test_an_observation_gets_one_in_a_session_only(runtime: Runtime) -> None:
    await fill(runtime, draft("seen", "the pump leaks", kind="observation", session="monday"))
    _, lacking = await runtime.store.indexing.without_sparse((), ("observation",), 0, 9)
    assert [each.text for each in lacking] == ["the pump leaks"]


async def test_a_passage_is_handed_out_with_its_title_and_text(runtime: Runtime) -> None:
    _, lacking = await runtime.store.indexing.without_sparse(*KINDS, 0, 1)
    assert [(each.title, each.text) for each in lacking] == [("Walk", "a stroll along the canal")]


async def test_a_vector_goes_with_its_passage(runtime: Runtime) -> None:
    indexing = runtime.store.indexing
    every = await passages(runtime)
    await indexing.add_sparse({passage: bytes([1, 2, 3]) for passage in every.tolist()})
    number = (await numbers_of(runtime.search.store))["two"]
    assert await forget(runtime.store, number) == 1
    left = await passages(runtime)
    assert len(left) < len(every)
    assert (await indexing.sparse_counts(*KINDS))[0] == len(left)
    assert set(await vectors(runtime, every)) == set(left.tolist())


async def test_a_passage_that_is_gone_gets_none(runtime: Runtime) -> None:
    await runtime.store.indexing.add_sparse({10**6: b"abc"})
    assert await vectors(runtime, np.array([10**6])) == {}


async def test_the_first_vector_stays(runtime: Runtime) -> None:
    (first, *_) = (await passages(runtime)).tolist()
    for vector in (b"abc", b"xyz"):
        await runtime.store.indexing.add_sparse({first: vector})
    assert await vectors(runtime, np.array([first])) == {first: b"abc"}
