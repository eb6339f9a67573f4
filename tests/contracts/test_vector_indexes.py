"""The contract of every vector index, with an own or a remote server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from mem_search.errors import IndexUnavailable
from mem_search.model.ingest import VectorEntry
from mem_search.storage.chroma.connection import Connect
from mem_search.storage.chroma.index import ChromaIndex, OffIndex
from mem_search.storage.chroma.process import ChromaProcess
from mem_search.storage.chroma.server import RemoteChroma
from mem_search.storage.vector_index import VectorIndex
from patience import PATIENCE
from unit_vectors import unit_vectors

DIMENSIONS = 16
vectors = partial(unit_vectors, dimensions=DIMENSIONS)


def entries(count: int) -> list[VectorEntry]:
    return [VectorEntry(2 * n, n, "note", 1_700_000_000_000) for n in range(count)]


async def accept(connect: Connect) -> None:
    """Take any server."""


@pytest.fixture(params=["isolated", "owned", "remote"])
async def index(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[VectorIndex]:
    isolated = request.param == "isolated"
    process = ChromaProcess(tmp_path / "chroma", tmp_path / "log", isolated=isolated)
    if request.param != "remote":
        index = ChromaIndex(process, "space", DIMENSIONS)
        index.start()
        await index.ready(PATIENCE)
        yield index
        await index.close()
    else:
        process.start(accept)
        await process.wait_ready(PATIENCE)
        assert process.address is not None
        host, port = process.address
        index = ChromaIndex(RemoteChroma(f"http://{host}:{port}"), "space", DIMENSIONS)
        index.start()
        await index.ready(PATIENCE)
        yield index
        await index.close()
        await process.stop()


async def test_an_index_goes_through_its_life(index: VectorIndex) -> None:
    """One long test, because each of its parts would start a server."""
    rows = vectors(1200)

    # an empty index answers with nothing
    assert await index.query(rows[:1], 10) == []
    assert await index.entries() == set()

    # the nearest come first, with their cosine
    await index.upsert(entries(1200), rows)
    found = await index.query(rows[7:8], 5)
    assert found[0][0] == 14
    assert found[0][1] == pytest.approx(1.0, abs=1e-5)
    expected = np.sort(rows @ rows[7])[::-1][:5]
    assert [score for _, score in found] == pytest.approx(list(expected), abs=1e-4)

    # asking for none or for more than there are is no error
    assert await index.query(rows[:1], 0) == []
    assert len(await index.query(rows[:1], 5000)) <= 1200

    # every entry is told
    assert await index.entries() == set(range(0, 2400, 2))

    # upserting again replaces, and the last of several with one number counts
    replacement = vectors(2, seed=9)
    one = entries(1)[0]
    await index.upsert([one, one], replacement)
    assert await index.query(replacement[1:2], 1) == [(0, pytest.approx(1.0, abs=1e-5))]
    assert len(await index.entries()) == 1200

    # deleting ignores what is not there
    await index.delete([14, 14, 999_999])
    await index.delete([])
    assert (await index.query(rows[7:8], 1))[0][0] != 14
    assert len(await index.entries()) == 1199

    # storing nothing is nothing
    await index.upsert([], np.zeros((0, DIMENSIONS), np.float32))

    # calls may come at once
    await asyncio.gather(
        *(index.query(rows[n : n + 1], 3) for n in range(20)),
        index.upsert(entries(60), rows[:60]),
        index.delete([2000]),
    )

    # cleared, it starts afresh
    await index.clear()
    assert await index.query(rows[:1], 10) == []
    await index.upsert(entries(2), rows[:2])
    assert await index.entries() == {0, 2}

    # closed, every call says that it is down
    await index.close()
    for call in (
        index.upsert(entries(1), rows[:1]),
        index.delete([1]),
        index.query(rows[:1], 1),
        index.entries(),
        index.clear(),
    ):
        with pytest.raises(IndexUnavailable):
            await call


async def test_an_index_that_is_off_keeps_nothing_and_answers_no_question() -> None:
    index: VectorIndex = OffIndex()
    await index.upsert(entries(1), vectors(1))
    await index.delete([1])
    await index.clear()
    for question in (index.query(vectors(1), 1), index.entries()):
        with pytest.raises(IndexUnavailable, match="turned off"):
            await question
    await index.close()
