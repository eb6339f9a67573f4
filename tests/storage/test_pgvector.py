"""The vector index over PostgreSQL: what it finds, for whom, and when it is built."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest

from drafts import draft, prepared
from mem_search.contracts import Vectors
from mem_search.errors import IndexUnavailable
from mem_search.model import Location, SearchRequest
from mem_search.settings import Settings
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.postgres.store import PostgresStore
from mem_search.storage.postgres.vector_index import PgvectorIndex
from mem_search.wiring import open_runtime
from postgres_server import address, server
from runtimes import fill
from unit_vectors import unit_vectors

DIMENSIONS = 16
MANY = 400
vectors = partial(unit_vectors, dimensions=DIMENSIONS)


async def filled(owner: str, rows: Vectors) -> PostgresStore:
    """A store of ``owner`` with a passage for each of ``rows``, and one to spare."""
    store = await PostgresStore.open(address(), owner)
    names = tuple(f"{n:04}" for n in range(len(rows)))
    batch = prepared(*map(draft, names))
    await store.ingest.store_batch(Location("test", "/there"), batch, followed=False)
    model = await store.indexing.model_number("space", "a model", DIMENSIONS)
    passages = [each.passage for each in reversed(await store.indexing.to_embed(len(rows)))]
    await store.indexing.store_vectors(model, passages, [2 * p for p in passages], rows)
    return store


@pytest.fixture
async def store() -> AsyncIterator[PostgresStore]:
    store = await filled(uuid4().hex, vectors(MANY))
    yield store
    await store.close()


def plan(connection: Connection, index: PgvectorIndex) -> str:
    """How the server looks for the ten nearest."""
    connection.execute("set local enable_seqscan = off")
    connection.execute("set local enable_bitmapscan = off")
    rows = connection.column(
        f"explain select entry_id {index._rows(connection)}"
        f" order by vector::halfvec({DIMENSIONS}) <=> %s::halfvec({DIMENSIONS}) limit 10",
        (str([1.0] * DIMENSIONS),),
    )
    return " ".join(rows)


async def test_the_nearest_come_first_with_their_cosine_built_or_not(store: PostgresStore) -> None:
    rows, index = vectors(MANY), store.open_index("space", DIMENSIONS)
    numbers = await store.records.content_hashes(range(1, MANY + 1))
    assert len(numbers) == MANY
    for built in (False, True):
        if built:
            assert await index.build(MANY)
        for at in (7, 250):
            found = await index.query(rows[at : at + 1], 5)
            assert found[0] == (2 * (at + 1), pytest.approx(1.0, abs=1e-3))
            expected = np.sort(rows @ rows[at])[::-1][:5]
            assert [score for _, score in found] == pytest.approx(list(expected), abs=1e-3)
    assert index.index in await store.database.read(plan, index)
    assert not await index.build(MANY)  # it is there
    assert len(await index.query(lambda: rows[:1], MANY)) == MANY
    assert await index.query(rows[:1], 0) == []
    assert await index.entries() == set(range(2, 2 * MANY + 2, 2))
    held = await index.vectors([2, 999_999])
    assert held[2] == pytest.approx(list(rows[0]), abs=1e-3)
    await index.clear()
    assert index.index not in await store.database.read(plan, index)
    await index.close()
    with pytest.raises(IndexUnavailable):
        await index.query(rows[:1], 1)


async def test_an_index_is_of_one_owner_and_one_space(store: PostgresStore) -> None:
    other = await filled(f"it's {uuid4().hex} 100%", vectors(30, seed=5))
    index, theirs = (each.open_index("space", DIMENSIONS) for each in (store, other))
    assert await index.build(MANY)
    assert not await theirs.build(MANY)  # it has few, which are compared exactly
    rows = vectors(MANY)
    assert len(await theirs.query(rows[:1], MANY)) == 30
    assert await theirs.build(30)
    assert len(await theirs.query(rows[:1], MANY)) == 30
    assert await store.open_index("another", DIMENSIONS).query(rows[:1], 5) == []
    replaced = await theirs.replaced_by(theirs.beside("next", DIMENSIONS))
    assert await replaced.query(rows[:1], 5) == []
    await other.close()


async def test_of_owners_that_build_at_once_one_does_and_the_others_after_it() -> None:
    stores = [await filled(uuid4().hex, vectors(MANY, seed=n)) for n in range(3)]
    indexes = [each.open_index("space", DIMENSIONS) for each in stores]
    built = await asyncio.gather(*(index.build(MANY) for index in indexes))
    assert True in built  # a second one too, if it came after the first
    for done, index in zip(built, indexes, strict=True):
        assert await index.build(MANY) is not done
    for each in stores:
        await each.close()


async def test_of_several_workers_one_builds_and_what_a_dead_one_left_is_built_again(
    store: PostgresStore,
) -> None:
    index = store.open_index("space", DIMENSIONS)
    built = await asyncio.gather(*(index.build(MANY) for _ in range(3)))
    assert sorted(built) == [False, False, True]
    name = f"mem_search.{index.index}"
    await store.database.apart(
        lambda c: c.execute(f"drop index {name}").connection.execute(
            f"create index {index.index} on vectors using hnsw"
            f" ((vector::halfvec({DIMENSIONS})) halfvec_l2_ops) where model_id = 0"
        )
    )
    server().query(
        f"update pg_index set indisvalid = false where indexrelid = '{name}'::regclass",
        "mem_search",
    )
    assert await index.build(MANY)
    assert index.index in await store.database.read(plan, index)


async def test_what_another_built_since_the_first_look_is_not_built_again(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    index, late = (store.open_index("space", DIMENSIONS) for _ in range(2))
    others: list[bool] = []

    def rows(connection: Connection) -> str:  # called between the look and the lock
        if not others:
            with store.database._connect() as own:
                store.database._writer(own)
                own.administer()
                others.append(index._built(own, MANY))
        return index._rows(connection)

    monkeypatch.setattr(late, "_rows", rows)
    assert not await late.build(MANY)
    assert others == [True]


async def test_a_runtime_on_a_server_searches_the_stored_vectors(tmp_path: Path) -> None:
    settings = Settings(
        home=tmp_path, port=0, embedder="hashing", follow=0,
        store=address(), store_owner=uuid4().hex,
    )  # fmt: skip
    async with open_runtime(settings) as runtime:
        await fill(runtime, draft("a", "a lighthouse by the sea"), draft("b", "a cup of tea"))
        page = await runtime.search.service.search(
            SearchRequest(text="lighthouse sea", mode="vector"), "test"
        )
        assert [each.record.source_id for each in page.results][:1] == ["a"]
        assert runtime.index.name == "pgvector"
