"""Killing the worker and Chroma in the middle of things: what was acknowledged stays.

A child process imports a file and says on its output what it has stored; it is killed without
warning. ``CRASHES`` (an environment variable, default 4) says how often.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pytest

import forked
from chosen_store import SERVER, in_a_file
from mem_search.model import SearchRequest
from mem_search.storage.chroma.index import ChromaIndex
from mem_search.storage.chroma.process import ChromaProcess
from mem_search.wiring import Runtime, open_runtime
from patience import PATIENCE, becomes
from runtimes import ended, settled, small

pytestmark = pytest.mark.worker

CRASHES = int(os.environ.get("CRASHES", "4"))
RECORDS = 3000

WORKER = """
import asyncio, sys
from pathlib import Path
from runtimes import small
from mem_search.model import Location
from mem_search.sources.jsonl import Jsonl
from mem_search.wiring import open_runtime
from patience import PATIENCE

async def main():
    location = Location("jsonl", sys.argv[2])
    async with open_runtime(small(Path(sys.argv[1]), chroma_url="")) as runtime:
        await runtime.index.ready(PATIENCE)
        print("ready", flush=True)
        for batch in Jsonl().read(location, {}):
            taken = await runtime.ingest.writer.take(location, batch)
            for draft in batch.drafts:
                print(draft.source_id)
            print("stored", flush=True)
            await asyncio.sleep(0.02)
        await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """What is imported: short records, and every tenth long enough for several passages."""
    file = tmp_path / "records.jsonl"
    with file.open("w") as out:
        for n in range(RECORDS):
            text = f"record number {n} about topic{n % 50} " + f"detail{n} " * (
                300 if n % 10 == 0 else 5
            )
            print(json.dumps({"kind": "note", "source_id": f"id{n}", "text": text}), file=out)
    return file


async def test_nothing_acknowledged_is_lost_when_the_worker_is_killed(
    tmp_path: Path, file: Path
) -> None:
    home, acknowledged = tmp_path / "home", set[str]()
    settings = small(home, chroma_url="")  # first: a server that it starts is the workers', too
    chance = random.Random(int(os.environ.get("CRASH_SEED", "7")))
    for _ in range(CRASHES):
        reading, writing = os.pipe()
        worker = forked.start(["-c", WORKER, str(home), str(file)], stdout=writing)
        os.close(writing)
        with os.fdopen(reading, "rb") as output:
            line = asyncio.to_thread(output.readline)
            assert await asyncio.wait_for(line, PATIENCE) == b"ready\n"
            # However slow the machine is, it is killed in the middle of its work.
            begun = [output.readline() for _ in range(chance.randrange(1, RECORDS // 2))]
            worker.kill()
            said = (b"".join(begun) + output.read()).decode().split("\n")
        worker.wait()
        batch: list[str] = []
        for line in said[:-1]:
            if line == "stored":
                acknowledged |= set(batch)
                batch = []
            else:
                batch.append(line)
        async with open_runtime(settings) as runtime:
            await check(runtime, acknowledged)
    assert acknowledged


@in_a_file("a server has its vectors itself")
async def test_nothing_is_lost_when_chroma_is_killed(tmp_path: Path, file: Path) -> None:
    async with open_runtime(small(tmp_path / "home", chroma_url="")) as runtime:
        await runtime.index.ready(PATIENCE)
        job = await runtime.ingest.jobs.submit("import", {"source": "jsonl", "path": str(file)})
        for stored in (1, RECORDS // 100):  # of the sixty that have the topic
            await found(runtime, "topic7", stored)
            kill_chroma(runtime)
            page = await runtime.search.pipeline.search(SearchRequest("topic7"))
            assert page.total >= stored
            await runtime.index.ready(PATIENCE)
        assert (await ended(runtime.ingest.jobs, job)).state == "done"
        kill_chroma(runtime)
        await runtime.index.ready(PATIENCE)
        await check(runtime, {f"id{n}" for n in range(RECORDS)})


async def found(runtime: Runtime, text: str, count: int) -> None:
    """Return when so many records are found; a busy machine takes its time to store them."""
    request = SearchRequest(text)
    await becomes(lambda: runtime.search.pipeline.search(request), lambda page: page.total >= count)


def kill_chroma(runtime: Runtime) -> None:
    assert isinstance(runtime.index, ChromaIndex)
    process = runtime.index._server
    assert isinstance(process, ChromaProcess)
    if process.pid is not None:
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)


async def check(runtime: Runtime, acknowledged: set[str]) -> None:
    """Every record is there, is found, and is in the index; the store itself is whole."""
    stored = await runtime.store.database.read(
        lambda c: {name for (name,) in c.execute("select source_id from records")}
    )
    assert acknowledged <= stored
    if acknowledged:
        page = await runtime.search.pipeline.search(
            SearchRequest(f"number {min(acknowledged)[2:]}")
        )
        assert page.results
    await runtime.index.ready(PATIENCE)
    await settled(runtime)
    known = await runtime.store.indexing.entries(runtime.search.space.number)
    # The audit after the start finds what Chroma lost.
    await becomes(runtime.index.entries, lambda held: held == known)
    await settled(runtime)
    totals = await runtime.store.statistics.totals()
    assert totals.coverage == 1
    assert totals.embedded == totals.passages
    if SERVER:
        return
    # A connection of its own: from SQLite 3.44 on FTS5 compares with the words that it read last.
    with closing(sqlite3.connect(runtime.store.location)) as connection:
        assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
    await runtime.store.database.write(
        lambda c: c.execute(
            "insert into passages_fts(passages_fts, rank) values('integrity-check', 1)"
        )
    )
