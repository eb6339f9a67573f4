"""A document whose worker is killed after every step of its processing arrives once and whole."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest

import forked
from mem_search.ingest import spool
from mem_search.model import SearchRequest
from mem_search.sources.base import UPLOADED
from mem_search.wiring import open_runtime
from patience import PATIENCE, becomes
from runtimes import settled, small
from secret_shapes import SHAPES

pytestmark = pytest.mark.worker

SECRET = SHAPES["github pat"].secret
LETTER = rf"{{\rtf1\ansi The zeppelin lands at noon. The key is {SECRET}. " + (
    "The keeper of the quay trims the wick and fills the lamp with oil. " * 60
)

WORKER = """
import asyncio, inspect, os, signal, sys
from functools import wraps
from pathlib import Path
from chosen_store import SERVER
from runtimes import small
from mem_search.extractors.extraction import Extraction
from mem_search.ingest import indexer, spool
from mem_search.ingest.prepare_process import PrepareProcess
from mem_search.jobs.tasks import ImportJob
from mem_search.storage.sql.jobs import StoredJobs
from mem_search.wiring import open_runtime

if SERVER:
    from mem_search.storage.postgres.records import PostgresIngest as Ingest
    from mem_search.storage.postgres.vector_index import PgvectorIndex as Index
    from mem_search.storage.postgres.vectors import PostgresIndexing as Indexing
else:
    from mem_search.storage.chroma.index import ChromaIndex as Index
    from mem_search.storage.sqlite.records import SqliteIngest as Ingest
    from mem_search.storage.sqlite.vectors import SqliteIndexing as Indexing

STEPS = {
    "extracted": (Extraction, "read"),
    "prepared": (PrepareProcess, "prepare"),
    "stored": (Ingest, "store_batch"),
    "read": (ImportJob, "run"),
    "noted": (StoredJobs, "note_result"),
    "removed": (spool, "discard"),
    "embedded": (indexer, "vectors_of"),
    "kept": (Indexing, "store_vectors"),
    "indexed": (Index, "upsert"),
}

def die_after(owner, name):
    original = getattr(owner, name)

    @wraps(original)
    def then(*args, **values):
        done = original(*args, **values)
        if not inspect.isawaitable(done):
            os.kill(os.getpid(), signal.SIGKILL)

        async def awaited():
            await done
            os.kill(os.getpid(), signal.SIGKILL)

        return awaited()

    setattr(owner, name, then)

async def waits(self):
    await asyncio.Event().wait()

async def main():
    home, step, spooled = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    die_after(*STEPS[step])
    if [*STEPS].index(step) <= [*STEPS].index("removed"):
        indexer.Indexer.run = waits  # it would be ready before its turn
    async with open_runtime(small(home, chroma_url="")) as runtime:
        if spooled:
            options = {"source_id": "letter", "name": "letter.rtf"}
            await runtime.ingest.jobs.submit(
                "import",
                {"source": "files", "path": "letter", "spooled": spooled, "options": options},
            )
        await asyncio.Event().wait()

asyncio.run(main())
"""
"""A worker that goes on where the last one was killed, and is killed at the end of one step."""

STEPS = (
    "extracted", "prepared", "stored", "read", "noted", "removed", "embedded", "kept", "indexed",
)  # fmt: skip


async def uploaded(folder: Path) -> str:
    async def chunks():  # type: ignore[no-untyped-def]
        yield LETTER.encode() + b"}"

    return await spool.keep(folder, chunks(), "letter.rtf", ("",))


async def test_a_document_arrives_whose_worker_is_killed_after_each_step(tmp_path: Path) -> None:
    settings = small(tmp_path / "home", chroma_url="")
    spooled = await uploaded(settings.spool_dir)
    for step in STEPS:
        worker = forked.start(["-c", WORKER, str(settings.home), step, spooled])
        try:
            assert await asyncio.to_thread(worker.wait) == -signal.SIGKILL, step
        finally:
            worker.kill()
        spooled = ""
    async with open_runtime(settings) as runtime:
        await runtime.index.ready(PATIENCE)
        await settled(runtime)
        await becomes(runtime.store.jobs.unfinished, lambda jobs: not jobs)
        (job,) = await runtime.ingest.jobs.newest(10)
        assert job.state == "done", job.message
        totals = await runtime.store.statistics.totals()
        assert (sum(totals.records.values()), totals.coverage) == (1, 1)
        assert totals.passages > 2
        assert await runtime.index.entries() == await runtime.store.indexing.entries(
            runtime.search.space.number
        )
        found = await runtime.store.records.named(UPLOADED, "letter")
        assert found is not None
        assert "zeppelin" in found.text
        assert SECRET not in found.text
        page = await runtime.search.pipeline.search(SearchRequest("zeppelin"))
        assert [result.record.number for result in page.results] == [found.number]
    assert not any(settings.spool_dir.iterdir())
