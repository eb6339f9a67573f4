"""The index in memory: what it reads from the store, and when it says that it is too small."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_search.contracts import VectorEntry, Vectors
from mem_search.errors import IndexUnavailable
from mem_search.storage import exact
from mem_search.storage.exact import ExactIndex
from mem_search.storage.sqlite import vectors as stored
from mem_search.storage.sqlite.database import Connection, Database

SIZE = 8
STEPS = st.lists(st.tuples(st.sampled_from(["upsert", "delete"]), st.integers(0, 9)), max_size=40)


def rows(count: int, seed: int = 0) -> Vectors:
    drawn = np.random.default_rng(seed).normal(size=(count, SIZE)).astype(np.float32)
    unit: Vectors = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return unit


def entry(number: int) -> VectorEntry:
    return VectorEntry(number, number, "note", "", 0)


async def keep(database: Database, entries: list[int], vectors: Vectors) -> int:
    """Store vectors as the indexer does, without the records they are of."""

    def write(connection: Connection) -> int:
        model = stored.model_id(connection, "space", "test", SIZE)
        connection.executemany(
            "insert into vectors(entry_id, model_id, vector) values(?, ?, ?)",
            [(n, model, blob) for n, blob in zip(entries, stored.pack(vectors), strict=True)],
        )
        return model

    return await database.write(write)


async def test_what_is_stored_is_found_without_being_told(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exact, "_PAGE", 3)
    kept = rows(10)
    model = await keep(database, list(range(0, 20, 2)), kept)
    index = ExactIndex(database, model, SIZE)
    found = await index.query(kept[4:5], 3)
    assert found[0] == (8, pytest.approx(1.0, abs=1e-3))
    assert found == sorted(found, key=lambda pair: -pair[1])
    assert await index.entries() == set(range(0, 20, 2))
    other = ExactIndex(database, model + 1, SIZE)
    assert await other.query(kept[:1], 3) == []


async def test_what_is_told_before_it_was_asked_is_not_lost(database: Database) -> None:
    kept = rows(3)
    model = await keep(database, [0, 2, 4], kept)
    index = ExactIndex(database, model, SIZE)
    await index.upsert([entry(0)], kept[:1])
    await index.delete([4])
    assert await index.entries() == {0, 2, 4}  # the store still has it
    await index.delete([4])
    assert await index.entries() == {0, 2}


async def test_questions_and_changes_at_once_are_one_after_the_other(database: Database) -> None:
    kept = rows(40)
    model = await keep(database, list(range(20)), kept[:20])
    index = ExactIndex(database, model, SIZE)
    await asyncio.gather(
        *(index.query(kept[n : n + 1], 5) for n in range(10)),
        *(index.upsert([entry(n)], kept[n : n + 1]) for n in range(20, 40)),
        index.delete([0, 1]),
    )
    assert await index.entries() == set(range(2, 40))


async def test_a_store_that_outgrows_it_is_said(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exact, "MOST", 4)
    index = ExactIndex(database, await keep(database, [], rows(0)), SIZE)
    assert await index.query(rows(1), 1) == []
    assert index.state == "ready"
    await index.upsert([entry(n) for n in range(6)], rows(6))
    assert index.state == "down"
    for call in (index.query(rows(1), 1), index.ready()):
        with pytest.raises(IndexUnavailable, match="more than 4 vectors"):
            await call


@given(STEPS)
def test_it_holds_what_a_dictionary_holds(steps: list[tuple[str, int]]) -> None:
    async def run() -> None:
        # A store with nothing in it: all comes by being told.
        index = ExactIndex(None, 1, SIZE)  # type: ignore[arg-type]
        await index.clear()
        model: dict[int, Vectors] = {}
        for place, (step, number) in enumerate(steps):
            if step == "upsert":
                model[number] = rows(1, seed=place)
                await index.upsert([entry(number)], model[number])
            else:
                model.pop(number, None)
                await index.delete([number])
        assert await index.entries() == set(model)
        for number, vector in model.items():
            (nearest, *_) = await index.query(vector, 1)
            assert nearest == (number, pytest.approx(1.0, abs=1e-5))

    asyncio.run(run())
