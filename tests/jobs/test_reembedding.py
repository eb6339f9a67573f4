"""A change of the embedding model: beside the old one, resumable, and never mixed with it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import drafts
from chosen_store import in_a_file
from mem_search.contracts import Vectors
from mem_search.embedders.hashing import HashingEmbedder
from mem_search.errors import IndexUnavailable, InputError, ModelUnavailable
from mem_search.jobs.reembedding import ReembedJob
from mem_search.model import Batch, SearchPage, SearchRequest
from mem_search.storage.chroma.index import ChromaIndex
from mem_search.wiring import Runtime, open_runtime
from patience import PATIENCE
from runtimes import THERE, ended, fill, settled, small

RECORDS = [drafts.draft(f"{n}", f"the harbour of town{n} has {n} ships") for n in range(150)]


class Slow(HashingEmbedder):
    """Waits for ``go_on`` after ``most`` texts."""

    def __init__(self, most: int = 10**9, dimensions: int = 64) -> None:
        super().__init__(str(dimensions))
        self.most = most
        self.texts: list[str] = []
        self.go_on = threading.Event()
        self.reached = threading.Event()

    def embed(self, texts: Sequence[str]) -> Vectors:
        if len(self.texts) >= self.most:
            self.reached.set()
            assert self.go_on.wait(PATIENCE)
        self.texts += texts
        return super().embed(texts)


async def silent(done: int, total: int, message: str, *, begins: bool = False) -> None:
    """A report that nobody reads."""


def job(runtime: Runtime, embedder: HashingEmbedder) -> ReembedJob:
    return ReembedJob(runtime.store, lambda _: embedder, runtime.active_index, "hashing")


async def by_meaning(runtime: Runtime, text: str) -> SearchPage:
    return await runtime.search.service.search(SearchRequest(text, mode="vector"), "")


async def spaces(runtime: Runtime) -> list[tuple[str, int]]:
    """Name and number of vectors of the spaces that are not served."""
    store = runtime.store.indexing
    found = await store.other_spaces(runtime.active_index.space)
    return [(space.name, len(await store.entries(space.number))) for space in found]


async def test_everything_is_embedded_anew_and_the_choice_survives_a_restart(
    tmp_path: Path,
) -> None:
    settings = small(tmp_path / "home")
    async with open_runtime(settings) as runtime:
        await fill(runtime, *RECORDS)
        name = await runtime.ingest.jobs.submit("reembed", {"model": "hashing:64"})
        state = await ended(runtime.ingest.jobs, name)
        assert (state.state, state.result) == (
            "done", {"embedder": "hashing:64", "dimensions": 64, "embedded": 150, "deleted": 150}
        )  # fmt: skip
        assert runtime.model.embedder.dimensions == 64
        page = await by_meaning(runtime, "town7 harbour")
        assert "town7 " in page.results[0].record.text
        assert await spaces(runtime) == []
        assert await runtime.store.indexing.outbox_counts() == {}
        await fill(runtime, drafts.draft("late", "a lighthouse on the cliff"))
        page = await by_meaning(runtime, "lighthouse cliff")
        assert page.results[0].record.source_id == "late"
    async with open_runtime(settings) as runtime:
        assert runtime.model.embedder.name == "hashing:64"
        assert (await by_meaning(runtime, "lighthouse cliff")).results[0].record.source_id == "late"
    # A later change of the setting counts more than the earlier job.
    async with open_runtime(replace(settings, embedder="hashing:32")) as runtime:
        assert runtime.model.embedder.dimensions == 32


async def test_searches_go_on_meanwhile_and_never_mix_spaces(runtime: Runtime) -> None:
    await fill(runtime, *RECORDS)
    # In 64 dimensions town6 and town41 are the same, in 256 town131 and another.
    embedder = Slow(dimensions=1024)
    running = asyncio.create_task(job(runtime, embedder).run({"model": "x"}, silent))
    searched, dimensions = 0, set()
    while not running.done():
        asked = f"town{searched % 130} harbour ships"
        page = await by_meaning(runtime, asked)
        assert f"town{searched % 130} " in page.results[0].record.text
        assert {leg.state for leg in page.report.legs} == {"ok"}
        dimensions.add(runtime.model.embedder.dimensions)
        searched += 1
        if searched == 20:
            await fill(runtime, drafts.draft("meanwhile", "a tidal mill"))
    await running
    assert dimensions >= {256}
    assert searched > 3
    await settled(runtime)
    assert (await by_meaning(runtime, "town149 harbour")).total
    assert await runtime.store.indexing.count_without_vector(runtime.active_index.space) == 0


async def test_a_search_ends_in_the_space_in_which_it_began(runtime: Runtime) -> None:
    await fill(runtime, *RECORDS)
    old = runtime.search.pipeline
    running = asyncio.create_task(job(runtime, Slow()).run({"model": "x"}, silent))
    async with asyncio.timeout(PATIENCE):
        while runtime.search.pipeline is old:  # noqa: ASYNC110  it asks from outside
            await asyncio.sleep(0.01)
    # The old vectors stay as long as somebody searches with them.
    page = await old.search(SearchRequest("town7 harbour", mode="vector"))
    assert "town7 " in page.results[0].record.text
    assert await spaces(runtime) == [("hashing", 150)]
    del old, page
    await asyncio.wait_for(running, PATIENCE)
    assert await spaces(runtime) == []


async def test_a_cancelled_change_leaves_the_old_space_and_is_continued(runtime: Runtime) -> None:
    await fill(runtime, *RECORDS)
    slow = Slow(most=65)  # the first batch and the trial
    running = asyncio.create_task(job(runtime, slow).run({"model": "x"}, silent))
    assert await asyncio.to_thread(slow.reached.wait, PATIENCE)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    slow.go_on.set()
    assert runtime.model.embedder.dimensions == 256
    assert await spaces(runtime) == [("hashing:64", 64)]
    assert "town7 " in (await by_meaning(runtime, "town7 harbour")).results[0].record.text

    rest = Slow()
    result = await job(runtime, rest).run({"model": "x"}, silent)
    assert (result["embedded"], len(rest.texts)) == (86, 87)
    assert runtime.model.embedder is rest

    # Asked for what is served, the job only clears what nothing searches.
    again = await job(runtime, Slow()).run({"model": "x"}, silent)
    assert (again["embedded"], again["deleted"]) == (0, 0)


async def test_a_model_that_does_not_work_changes_nothing(tmp_path: Path) -> None:
    class Broken(HashingEmbedder):
        fingerprint = "broken"

        def embed(self, texts: Sequence[str]) -> Vectors:
            raise ModelUnavailable("the endpoint does not answer")

    async with open_runtime(small(tmp_path / "home")) as runtime:
        await fill(runtime, *RECORDS[:3])
        with pytest.raises(ModelUnavailable):
            await job(runtime, Broken()).run({"model": "x"}, silent)
        name = await runtime.ingest.jobs.submit("reembed", {"model": "crystal-ball"})
        assert "unknown embedder 'crystal-ball'" in (await ended(runtime.ingest.jobs, name)).message
        assert (runtime.model.embedder.name, await spaces(runtime)) == ("hashing", [])
        assert (await by_meaning(runtime, "town1 harbour")).total


async def test_an_import_does_not_wait_for_it(tmp_path: Path) -> None:
    lines = tmp_path / "notes.jsonl"
    lines.write_text('{"kind": "note", "text": "a note that came meanwhile"}\n')
    async with open_runtime(small(tmp_path / "home")) as runtime:
        await fill(runtime, *RECORDS)
        slow = Slow(most=1)
        queue = runtime.ingest.jobs
        queue._kinds["reembed"] = job(runtime, slow)
        change = await queue.submit("reembed", {"model": "x"})
        assert await asyncio.to_thread(slow.reached.wait, PATIENCE)
        imported = await queue.submit("import", {"source": "jsonl", "path": str(lines)})
        assert (await ended(runtime.ingest.jobs, imported)).state == "done"
        assert (await queue.get(change)).state == "running"
        slow.go_on.set()
        assert (await ended(runtime.ingest.jobs, change)).state == "done"
        assert await runtime.store.indexing.count_without_vector(runtime.active_index.space) == 0


@in_a_file("a server searches its vectors itself, and no Chroma starts")
async def test_chroma_has_one_collection_afterwards_and_every_vector(tmp_path: Path) -> None:
    settings = small(tmp_path / "home", chroma_url="")
    async with open_runtime(settings) as runtime:
        await runtime.index.ready(PATIENCE)
        await fill(runtime, *RECORDS)
        before = runtime.index
        changing = asyncio.create_task(job(runtime, Slow()).run({"model": "x"}, silent))
        while not changing.done():
            page = await by_meaning(runtime, "town7 harbour")
            assert "town7 " in page.results[0].record.text
        await changing
        assert isinstance(runtime.index, ChromaIndex)
        assert runtime.index is not before
        await runtime.index.ready(PATIENCE)
        await settled(runtime)
        assert await runtime.index.entries() == await runtime.store.indexing.entries(
            runtime.active_index.space
        )
        with pytest.raises(IndexUnavailable):
            await before.count()
        page = await by_meaning(runtime, "town7 harbour")
        assert "town7 " in page.results[0].record.text
        assert await runtime.ingest.indexer.check() is not None
        chroma = tmp_path / "home" / "chroma"
        assert not (chroma / "next").exists()
        assert not (chroma / "old").exists()
        # The writer of the new index also rewrites it, as forgetting does.
        await runtime.ingest.writer.take(THERE, Batch(deletions=("3",)))
        await settled(runtime)
        await runtime.ingest.indexer.rewrite()
        await runtime.index.ready(PATIENCE)
        assert len(await runtime.index.entries()) == 149


async def test_a_worker_without_a_model_gets_one(tmp_path: Path) -> None:
    settings = small(tmp_path / "home", embedder="openai:none@http://127.0.0.1:9/v1")
    async with open_runtime(settings) as runtime:
        assert runtime.model.embedder.dimensions == 0
        await runtime.ingest.writer.take(THERE, Batch(drafts=tuple(RECORDS[:5])))
        name = await runtime.ingest.jobs.submit("reembed", {"model": "hashing"})
        assert (await ended(runtime.ingest.jobs, name)).state == "done"
        await settled(runtime)
        assert (await by_meaning(runtime, "town3 harbour")).total == 5


def test_the_number_of_dimensions_is_checked() -> None:
    for wrong in ("5", "9999", "many", "²", "-64"):
        with pytest.raises(InputError, match="16 to 4096"):
            HashingEmbedder(wrong)
