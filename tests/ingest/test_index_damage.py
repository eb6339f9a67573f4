"""What somebody else does to the index is noticed, declared and repaired, with a real Chroma."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import chosen_store
import drafts
from mem_search.contracts import Vectors
from mem_search.features.stats.http import _index as index_status
from mem_search.ingest.indexer import Audit
from mem_search.model import Batch, SearchPage, SearchRequest
from mem_search.model.ingest import VectorEntry
from mem_search.storage.chroma.connection import Connection
from mem_search.storage.chroma.index import ChromaIndex
from mem_search.storage.chroma.wire import SocketWire
from mem_search.wiring import Runtime, open_runtime
from patience import PATIENCE, becomes
from runtimes import THERE, small

pytestmark = chosen_store.in_a_file("a server searches its vectors itself, and no Chroma starts")

RECORDS = 500
"""So many that the index answers, with half of them, too; fewer are compared exactly."""


@pytest.fixture
async def runtime(tmp_path: Path) -> AsyncIterator[Runtime]:
    """Filled and indexed; nothing runs in the background."""
    async with open_runtime(small(tmp_path, chroma_url=""), background=False) as runtime:
        await runtime.index.ready(PATIENCE)
        made = tuple(drafts.draft(f"{n}", f"text number {n}") for n in range(RECORDS))
        await runtime.ingest.writer.take(THERE, Batch(drafts=made))
        while await runtime.ingest.indexer.embed_some():
            pass
        await repair(runtime)
        # The collection was new: from now on every write is known.
        assert await runtime.ingest.indexer.check() == Audit(0, 0, 0)
        yield runtime


async def repair(runtime: Runtime) -> None:
    while await runtime.ingest.indexer.index_some():
        pass


async def intrude(runtime: Runtime, do: Callable[[Connection], None]) -> None:
    """Do something to Chroma with a connection of its own."""
    assert isinstance(runtime.index, ChromaIndex)
    own = runtime.index._work
    assert isinstance(own, Connection)
    assert isinstance(own._wire, SocketWire)
    raw = Connection(
        partial(SocketWire, own._wire._connect),
        runtime.index.name,
        about=runtime.index._about,
        timeout=PATIENCE,
        made=lambda: None,
    )
    try:
        await asyncio.to_thread(do, raw)
    finally:
        raw.close()


async def search(runtime: Runtime) -> SearchPage:
    return await runtime.search.pipeline.search(SearchRequest("text number 7"))


def state(page: SearchPage) -> tuple[str, str]:
    leg = next(leg for leg in page.report.legs if leg.name == "vector")
    return leg.state, leg.detail


def vector(at: int) -> Vectors:
    row = np.zeros((1, 256), np.float32)
    row[0, at] = 1
    return row


async def test_half_of_the_vectors_deleted(runtime: Runtime) -> None:
    held = sorted(await runtime.index.entries())
    gone = held[::2]
    await intrude(runtime, lambda raw: raw.delete([str(entry) for entry in gone]))

    assert (await runtime.ingest.indexer.check()) == Audit(len(gone), 0, 0)
    totals = await runtime.store.statistics.totals()
    assert totals.coverage == pytest.approx(0.5)
    page = await search(runtime)
    assert page.report.coverage == pytest.approx(0.5)
    assert any("50.0% of the store" in notice for notice in page.report.notices)
    assert state(page)[0] == "degraded"
    assert state(page)[1].startswith("250 passages are missing")
    assert page.results  # and still it answers
    stats = index_status(runtime, sum((await runtime.store.indexing.outbox_counts()).values()))
    assert (stats.state, stats.detail[:24]) == ("degraded", "250 passages are missing")

    await repair(runtime)
    assert sorted(await runtime.index.entries()) == held
    assert (await runtime.store.statistics.totals()).coverage == 1
    page = await search(runtime)
    assert (page.report.coverage, *state(page)) == (1, "ok", "exact")
    stats = index_status(runtime, 0)
    assert (stats.state, stats.detail) == ("ok", "")
    assert await runtime.ingest.indexer.check() == Audit(0, 0, 0)


async def test_a_single_changed_vector(runtime: Runtime) -> None:
    held = sorted(await runtime.index.entries())
    entry = VectorEntry(held[3], 1, "note", 1)
    before = await runtime.index.vectors([entry.entry])
    await intrude(runtime, lambda raw: raw.upsert([entry], vector(0)))

    assert await runtime.ingest.indexer.check() == Audit(0, 0, 1)
    assert state(await search(runtime))[0] == "degraded"
    assert (await runtime.store.statistics.totals()).coverage < 1
    await repair(runtime)
    assert await runtime.index.vectors([entry.entry]) == before
    assert state(await search(runtime)) == ("ok", "exact")


async def test_entries_of_another_program_are_neither_found_nor_kept(runtime: Runtime) -> None:
    held = await runtime.index.entries()
    strange = VectorEntry(2 * 10**15, 1, "note", 1)
    names = ["evil", "-4", "007", "9" * 40]

    def add(raw: Connection) -> None:
        raw.upsert([strange], vector(1))
        body = {"ids": names, "embeddings": [vector(2)[0]] * len(names)}
        raw._in_collection("adding", "upsert", body)

    best = (await search(runtime)).results[0].record.number
    await intrude(runtime, add)
    assert (await search(runtime)).results[0].record.number == best
    assert await runtime.ingest.indexer.check() == Audit(0, 1, 0)
    assert await runtime.index.entries() == held
    assert isinstance(runtime.index, ChromaIndex)
    assert await runtime.index.count() == len(held)


async def test_a_deleted_collection(runtime: Runtime) -> None:
    held = await runtime.index.entries()
    await intrude(runtime, lambda raw: raw._delete())
    assert (await runtime.ingest.indexer.check()).missing == RECORDS
    page = await search(runtime)
    assert page.report.coverage == 0
    assert state(page) == ("ok", "exact")  # a store so small is compared whole
    await repair(runtime)
    assert await runtime.index.entries() == held
    assert (await search(runtime)).report.coverage == 1


async def test_damage_is_repaired_by_a_worker_in_the_background(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mem_search.ingest.indexer.CHECK_SECONDS", 0.05)
    async with open_runtime(small(tmp_path, chroma_url="")) as runtime:
        await runtime.index.ready(PATIENCE)
        made = tuple(drafts.draft(f"{n}", f"text number {n}") for n in range(5))
        await runtime.ingest.writer.take(THERE, Batch(drafts=made))
        await becomes(runtime.index.entries, lambda held: len(held) == 5)
        await intrude(runtime, lambda raw: raw.delete(raw.names()[:3]))
        await becomes(
            runtime.index.entries, lambda held: len(held) == 5 and not runtime.index.damage
        )


async def test_chroma_holds_nothing_but_numbers_kinds_and_dates(tmp_path: Path) -> None:
    settings = small(tmp_path, chroma_url="")
    async with open_runtime(settings, background=False) as runtime:
        await runtime.index.ready(PATIENCE)
        draft = replace(
            drafts.draft("1", "zanzibar wrote it", title="quixotic"), project="/work/undisclosed"
        )
        await runtime.ingest.writer.take(THERE, Batch(drafts=(draft,)))
        while await runtime.ingest.indexer.embed_some():
            pass
        await repair(runtime)
        found: list[dict[str, object]] = []

        def read(raw: Connection) -> None:
            found.extend(
                raw._in_collection("reading", "get", {"include": ["metadatas"]})["metadatas"]
            )

        await intrude(runtime, read)
    assert [set(each) for each in found] == [{"doc_type", "record", "created_at"}]
    files = [file for file in settings.chroma_dir.rglob("*") if file.is_file()]
    everything = b"".join(file.read_bytes() for file in files)
    assert b"created_at" in everything
    for word in (b"zanzibar", b"quixotic", b"undisclosed"):
        assert word not in everything
