"""From the outbox to the index: everything once, in both directions, never mixed up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import chosen_store
import drafts
from mem_search.contracts import Vectors
from mem_search.embedders.hashing import HashingEmbedder
from mem_search.errors import IndexUnavailable, ModelUnavailable
from mem_search.ingest.embedding import vectors_of
from mem_search.ingest.indexer import Audit, Indexer
from mem_search.model import Batch, Draft, SearchRequest
from mem_search.model.ingest import VectorEntry
from mem_search.storage.chroma.index import ChromaIndex
from mem_search.storage.sqlite.records import RecordWriter
from mem_search.storage.sqlite.store import SqliteStore
from mem_search.wiring import open_runtime
from patience import PATIENCE, becomes, comes_true
from runtimes import THERE, fill, settled, small


class CountingEmbedder(HashingEmbedder):
    """Remembers what it was asked, and fails when told to."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.failing = False

    def embed(self, texts: Sequence[str]) -> Vectors:
        if self.failing:
            raise ModelUnavailable("not now")
        self.texts += texts
        return super().embed(texts)


class MemoryIndex:
    """A vector index in a dictionary."""

    most = 3000

    def __init__(self) -> None:
        self.damage = 0
        self.is_doubted = False
        self.min_passages = 0
        self.written = False
        self.failing_reads = 0
        self.held: dict[int, bytes] = {}
        self.away = False
        self.upserting = asyncio.Event()
        self.go_on = asyncio.Event()
        self.go_on.set()

    async def ready(self, timeout: float = 30.0) -> None:  # noqa: ASYNC109  as in the contract
        """Always."""

    async def upsert(self, entries: Sequence[VectorEntry], vectors: Vectors) -> None:
        if self.away:
            raise IndexUnavailable("away")
        self.held.update((e.entry, row.tobytes()) for e, row in zip(entries, vectors, strict=True))
        self.upserting.set()
        await self.go_on.wait()

    async def delete(self, entries: Sequence[int]) -> None:
        for entry in entries:
            self.held.pop(entry, None)

    async def query(self, vector: Vectors, k: int) -> list[tuple[int, float]]:
        raise IndexUnavailable("not asked here")

    async def entries(self) -> set[int]:
        return set(self.held)

    async def count(self) -> int:
        return len(self.held)

    async def vectors(self, entries: Sequence[int]) -> dict[int, Sequence[float]]:
        if self.failing_reads:
            self.failing_reads -= 1
            raise IndexUnavailable("away")
        return {
            entry: list(np.frombuffer(self.held[entry], np.float32))
            for entry in entries
            if entry in self.held
        }

    async def written_by_others(self) -> bool:
        written, self.written = self.written, False
        return written

    async def clear(self) -> None:
        self.held.clear()

    async def close(self) -> None: ...


class Bench:
    """An indexer with its surroundings, worked step by step."""

    def __init__(self, store: SqliteStore, model: int, executor: ThreadPoolExecutor) -> None:
        self.database = store.database
        self.outbox = store.indexing
        self.embedder = CountingEmbedder()
        self.index = MemoryIndex()
        self.model = model
        self.executor = executor
        self.indexer = Indexer(
            store.indexing, self.index, self.embedder, model, executor, changed=lambda: None
        )

    async def store(self, *each: Draft) -> None:
        await self.database.write(drafts.store, *each)

    async def work(self) -> None:
        while await self.indexer.embed_some():
            pass
        while await self.indexer.index_some():
            pass

    async def stored(self) -> set[int]:
        return await self.outbox.entries(self.model)


@pytest.fixture
async def bench(store: SqliteStore) -> AsyncIterator[Bench]:
    model = await store.indexing.model_number("space", "test", 256)
    with ThreadPoolExecutor(1) as executor:
        yield Bench(store, model, executor)


LONG = " ".join(f"word{n}" for n in range(500))


async def test_everything_is_embedded_once_and_ends_in_the_index(bench: Bench) -> None:
    await bench.store(*(drafts.draft(f"{n}", f"text {n}") for n in range(150)))
    await bench.store(drafts.draft("long", LONG))
    await bench.work()
    assert len(bench.embedder.texts) == len(set(bench.embedder.texts)) > 150
    assert set(bench.index.held) == await bench.stored()
    assert any(entry % 2 for entry in bench.index.held)  # a long passage has two halves
    assert await bench.outbox.outbox_counts() == {}


async def test_no_step_counts_all_that_waits(bench: Bench) -> None:
    await bench.store(*(drafts.draft(f"{n}", f"text {n}") for n in range(150)))
    said: list[str] = []
    await bench.database.read(lambda c: c.set_trace_callback(said.append))
    await bench.work()
    assert any("from outbox" in statement for statement in said)
    assert not any("count(*) from outbox" in statement for statement in said)


async def test_equal_content_is_embedded_once_in_one_step_and_over_many(bench: Bench) -> None:
    await bench.store(*(drafts.draft(f"a{n}", "the same") for n in range(10)))
    await bench.work()
    await bench.store(*(drafts.draft(f"b{n}", "the same") for n in range(10)))
    await bench.work()
    assert bench.embedder.texts == ["the same"]
    assert len(bench.index.held) == 20
    assert len(set(bench.index.held.values())) == 1


async def test_a_change_embeds_only_what_changed(bench: Bench) -> None:
    await bench.store(drafts.draft("a", LONG + " end"))
    await bench.work()
    before = len(bench.embedder.texts)
    await bench.store(drafts.draft("a", LONG + " end", tags=("t",)))
    await bench.work()
    assert len(bench.embedder.texts) == before
    await bench.store(drafts.draft("a", LONG + " finish"))
    await bench.work()
    assert before < len(bench.embedder.texts) <= before + 2
    assert set(bench.index.held) == await bench.stored()


async def test_what_is_deleted_leaves_index_and_store(bench: Bench) -> None:
    await bench.store(drafts.draft("a", LONG), drafts.draft("b"))
    await bench.work()
    await bench.database.write(lambda c: RecordWriter(c).remove_by_source_id("test", ["a"]))
    await bench.work()
    assert set(bench.index.held) == await bench.stored()
    assert len(bench.index.held) == 1
    assert await bench.outbox.outbox_counts() == {}


async def test_what_is_deleted_while_it_is_embedded_or_carried_does_not_stay(
    bench: Bench,
) -> None:
    await bench.store(drafts.draft("a"), drafts.draft("b"))
    waiting = await bench.outbox.to_embed(9)
    entries, rows = await vectors_of(
        bench.outbox, bench.model, bench.embedder, bench.executor, waiting
    )
    await bench.database.write(lambda c: RecordWriter(c).remove_by_source_id("test", ["a"]))
    await bench.outbox.store_vectors(bench.model, [item.passage for item in waiting], entries, rows)
    bench.index.go_on.clear()
    carrying = asyncio.create_task(bench.indexer.index_some())
    await bench.index.upserting.wait()
    await bench.database.write(lambda c: RecordWriter(c).remove_by_source_id("test", ["b"]))
    bench.index.go_on.set()
    await carrying
    await bench.work()
    assert bench.index.held == {}
    assert await bench.stored() == set()
    assert await bench.outbox.outbox_counts() == {}


async def test_an_index_that_is_away_keeps_what_waits(bench: Bench) -> None:
    bench.index.away = True
    await bench.store(drafts.draft("a"))
    with pytest.raises(IndexUnavailable):
        await bench.work()
    assert await bench.outbox.outbox_counts() == {"index": 1}
    bench.index.away = False
    await bench.work()
    assert len(bench.index.held) == 1


async def test_what_waits_for_the_index_is_not_too_much_for_an_audit(bench: Bench) -> None:
    await bench.store(drafts.draft("a"))
    await bench.work()
    held = dict(bench.index.held)
    await bench.outbox.queue("index", [entry >> 1 for entry in held])
    assert (await bench.indexer.audit()).extra == 0
    assert bench.index.held == held


async def test_a_look_notices_more_entries_than_what_waits_can_explain(bench: Bench) -> None:
    await bench.store(drafts.draft("a"))
    await bench.work()
    await bench.outbox.queue("index", [entry >> 1 for entry in bench.index.held])
    bench.index.held |= {9000 + n: b"" for n in range(5)}
    assert (await bench.indexer.check()).extra == 5


async def test_an_audit_finds_what_is_missing_and_what_is_too_much(bench: Bench) -> None:
    await bench.store(*(drafts.draft(f"{n}", f"text {n}") for n in range(10)))
    await bench.work()
    held = dict(bench.index.held)
    for entry in sorted(held)[:3]:
        del bench.index.held[entry]
    bench.index.held |= {9000: b"", 9001: b""}
    found = await bench.indexer.audit()
    assert (found.missing, found.extra) == (3, 2)
    await bench.work()
    assert bench.index.held == held
    again = await bench.indexer.audit()
    assert (again.missing, again.extra) == (0, 0)


async def test_a_rebuild_embeds_nothing_and_gives_the_same_index(bench: Bench) -> None:
    await bench.store(*(drafts.draft(f"{n}", f"text {n}") for n in range(70)))
    await bench.work()
    held, asked = dict(bench.index.held), len(bench.embedder.texts)
    assert await bench.indexer.rebuild() == 70
    await bench.work()
    assert bench.index.held == held
    assert len(bench.embedder.texts) == asked


async def test_a_rebuild_in_the_middle_of_a_step_loses_nothing(bench: Bench) -> None:
    await bench.store(*(drafts.draft(f"{n}", f"text {n}") for n in range(10)))
    while await bench.indexer.embed_some():
        pass
    bench.index.go_on.clear()
    carrying = asyncio.create_task(bench.indexer.index_some())
    await bench.index.upserting.wait()
    rebuilding = asyncio.create_task(bench.indexer.rebuild())
    await comes_true(lambda: bench.indexer._indexing._waiters)
    bench.index.go_on.set()
    await asyncio.gather(carrying, rebuilding)
    await bench.work()
    assert set(bench.index.held) == await bench.stored()
    assert len(bench.index.held) == 10


async def test_a_failure_is_reported_and_the_work_continues_afterwards(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mem_search.ingest.indexer.RETRY_SECONDS", 0.02)
    bench.embedder.failing = True
    await bench.store(drafts.draft("a"))
    running = asyncio.create_task(bench.indexer.run())
    await comes_true(lambda: bench.indexer.error == "not now")
    bench.embedder.failing = False
    await comes_true(lambda: bench.index.held and not bench.indexer.error)
    await bench.store(drafts.draft("b", "more"))
    bench.indexer.wake()
    await comes_true(lambda: len(bench.index.held) == 2)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


@chosen_store.in_a_file("a server searches its vectors itself, and no Chroma starts")
async def test_another_model_reads_everything_anew_into_its_own_space(tmp_path: Path) -> None:
    """With a real Chroma: audit, rebuild, two models in turn."""
    settings = small(tmp_path / "home", chroma_url="")
    async with open_runtime(settings) as runtime:
        await runtime.index.ready(PATIENCE)
        made = [drafts.draft(f"{n}", f"text number {n}") for n in range(60)]
        await fill(runtime, *made, drafts.draft("long", LONG))
        first = await runtime.store.indexing.entries(1)
        assert await runtime.index.entries() == first
        page = await runtime.search.pipeline.search(SearchRequest("text number"))
        assert {leg.state for leg in page.report.legs} == {"ok"}

        # an audit mends both ways
        extra = np.zeros((1, 256), np.float32)
        extra[0, 0] = 1
        await runtime.index.upsert([VectorEntry(99_999, 1, "note", 1)], extra)
        await runtime.index.delete(sorted(first)[:5])
        found = await runtime.ingest.indexer.audit()
        assert (found.missing, found.extra) == (5, 1)
        await settled(runtime)
        assert await runtime.index.entries() == first

        # a rebuild carries what is stored
        assert await runtime.ingest.indexer.rebuild() == len({entry >> 1 for entry in first})
        await settled(runtime)
        assert await runtime.index.entries() == first

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HashingEmbedder, "fingerprint", "another space")
        async with open_runtime(settings) as runtime:
            await runtime.index.ready(PATIENCE)
            await settled(runtime)
            assert isinstance(runtime.index, ChromaIndex)
            assert await runtime.store.indexing.entries(2) == first
            assert await runtime.index.entries() == first
            await runtime.ingest.writer.take(THERE, Batch(deletions=("3", "4")))
            await fill(runtime, drafts.draft("new", "only in the second space at first"))

    async with open_runtime(replace(settings)) as runtime:
        await runtime.index.ready(PATIENCE)
        await settled(runtime)
        third = await runtime.store.indexing.entries(1)
        await becomes(runtime.index.entries, lambda held: held == third)
        assert len(third) == len(first) - 1


async def indexed(bench: Bench, count: int) -> None:
    await bench.store(*(drafts.draft(f"{n}", f"text {n}") for n in range(count)))
    await bench.work()
    assert await bench.indexer.check() == Audit(0, 0, 0)


async def test_a_check_notices_a_missing_vector_by_the_count(bench: Bench) -> None:
    await indexed(bench, 300)
    del bench.index.held[sorted(bench.index.held)[17]]
    assert await bench.indexer.check() == Audit(1, 0, 0)
    assert (bench.index.damage, await bench.outbox.outbox_counts()) == (1, {"index": 1})
    await bench.work()
    assert bench.index.damage == 0
    assert set(bench.index.held) == await bench.stored()


async def test_a_check_notices_changed_vectors_by_a_sample(bench: Bench) -> None:
    """An index that cannot tell who wrote to it: a server of one's own."""
    await indexed(bench, 600)
    good = dict(bench.index.held)
    other = np.full(256, 1, np.float32).tobytes()
    for entry in sorted(good)[::3]:
        bench.index.held[entry] = other
    assert await bench.indexer.check() == Audit(0, 0, 200)
    await bench.work()
    assert bench.index.held == good


async def test_one_changed_vector_is_found_in_turn(bench: Bench) -> None:
    await indexed(bench, 600)
    good = dict(bench.index.held)
    bench.index.held[sorted(good)[333]] = np.full(256, 1, np.float32).tobytes()
    found = [await bench.indexer.check() for _ in range(6)]
    assert sum(each.changed for each in found) == 1
    await bench.work()
    assert bench.index.held == good


async def test_what_a_search_doubts_is_compared_whole_at_the_next_check(bench: Bench) -> None:
    await indexed(bench, 600)
    bench.index.held[sorted(bench.index.held)[333]] = np.full(256, 1, np.float32).tobytes()
    bench.index.is_doubted = True
    assert await bench.indexer.check() == Audit(0, 0, 1)
    assert not bench.index.is_doubted


async def test_a_check_does_not_take_work_under_way_for_damage(bench: Bench) -> None:
    await indexed(bench, 20)
    await bench.store(*(drafts.draft(f"more {n}", f"more {n}") for n in range(20)))
    assert await bench.indexer.check() == Audit(0, 0, 0)
    await bench.indexer.embed_some()
    assert await bench.indexer.check() == Audit(0, 0, 0)
    await bench.work()
    assert await bench.indexer.check() == Audit(0, 0, 0)


async def test_a_check_that_failed_halfway_is_done_again(bench: Bench) -> None:
    await indexed(bench, 300)
    bench.index.held[max(bench.index.held)] = np.full(256, 1, np.float32).tobytes()
    bench.index.written = True
    bench.index.failing_reads = 1
    with pytest.raises(IndexUnavailable):
        await bench.indexer.check()
    assert await bench.indexer.check() == Audit(0, 0, 1)
