"""One slow or stuck reading holds none of the others."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import drafts
from mem_search import sources
from mem_search.background import Lanes, each_in_turn
from mem_search.errors import SourceError
from mem_search.ingest.crash_mark import CrashMark
from mem_search.ingest.writer import IngestWriter
from mem_search.jobs import tasks
from mem_search.jobs.following import follow
from mem_search.jobs.queue import JobQueue, Report
from mem_search.jobs.reader import LocationReader
from mem_search.jobs.tasks import SyncJob
from mem_search.model import Batch, Location
from mem_search.sources.base import BaseSource
from mem_search.storage.sqlite.store import SqliteStore
from patience import PATIENCE, comes_true


class Well(BaseSource):
    """A source whose location "stuck" gives nothing until the test ends."""

    follows = True

    def __init__(self, name: str, released: threading.Event) -> None:
        self.name = name
        self.released = released
        self.read_of: list[str] = []

    def locate(self, path: str) -> Location:
        return Location(self.name, Path(path).name)

    def discover(self, machine: object) -> list[Location]:
        return [Location(self.name, "stuck" if self.name == "deep" else "open")]

    def read(self, location: Location, cursor: Mapping[str, Any]) -> Iterator[Batch]:
        self.read_of.append(location.path)
        if location.path == "stuck":
            self.released.wait(PATIENCE)
        if not cursor:
            draft = drafts.draft(f"{self.name}-{location.path}", "water", source=self.name)
            yield Batch(drafts=(draft,), cursor={"done": 1}, done=1, total=1)


@pytest.fixture
def wells(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Well]]:
    released = threading.Event()
    found = {name: Well(name, released) for name in ("deep", "shallow")}
    monkeypatch.setattr(sources, "installed", lambda: (*found.values(), *sources.built_in()))
    yield found
    released.set()


@pytest.fixture
def reader(store: SqliteStore, tmp_path: Path) -> LocationReader:
    writer = IngestWriter(store.ingest, stored=lambda: None)
    mark = CrashMark(tmp_path / "reading.json")
    return LocationReader(store.ingest, writer, mark, still_seconds=PATIENCE)


async def nothing(done: int, total: int, message: str, *, begins: bool = False) -> None: ...


async def test_a_reading_that_gives_nothing_is_given_up_and_not_begun_again(
    store: SqliteStore, tmp_path: Path, wells: dict[str, Well]
) -> None:
    writer = IngestWriter(store.ingest, stored=lambda: None)
    mark = CrashMark(tmp_path / "reading.json")
    reader = LocationReader(store.ingest, writer, mark, still_seconds=0.05)
    with pytest.raises(SourceError, match=r"nothing was read from stuck for 0\.05 s"):
        await reader.read(Location("deep", "stuck"))
    with pytest.raises(SourceError, match="still waits"):
        await reader.read(Location("deep", "stuck"))
    assert wells["deep"].read_of == ["stuck"]
    assert (await reader.read(Location("deep", "open"))).new == 1
    wells["deep"].released.set()
    await comes_true(lambda: not reader._waiting["deep", "stuck"].is_running)
    assert (await reader.read(Location("deep", "stuck"))).new == 1


async def test_following_goes_on_beside_a_place_that_is_stuck(
    store: SqliteStore, reader: LocationReader, wells: dict[str, Well]
) -> None:
    for name in wells:
        await reader.read(Location(name, "open"))
    wells["deep"].released.set()
    await reader.read(Location("deep", "stuck"))
    wells["deep"].released.clear()
    following = asyncio.create_task(follow(store.ingest, reader, 0.01))
    before = len(wells["shallow"].read_of)
    await comes_true(lambda: wells["deep"].read_of[-1] == "stuck")
    await comes_true(lambda: len(wells["shallow"].read_of) > before + 2)
    assert wells["deep"].read_of.count("stuck") == 2
    following.cancel()
    with pytest.raises(asyncio.CancelledError):
        await following


async def test_a_sync_of_everything_reads_the_others_beside_the_one_that_is_stuck(
    store: SqliteStore,
    reader: LocationReader,
    wells: dict[str, Well],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tasks, "PATIENCE_SECONDS", 0.01)
    monkeypatch.setattr(sources, "installed", lambda: tuple(wells.values()))
    running = asyncio.create_task(SyncJob(reader).run({}, nothing))
    await comes_true(lambda: wells["shallow"].read_of == ["open"])
    assert not running.done()
    wells["deep"].released.set()
    result = await running
    assert [each["source"] for each in result["locations"]] == ["deep", "shallow"]
    assert [each["new"] for each in result["locations"]] == [1, 1]


class Recorded:
    """A job that notes what it runs, and waits where it is told to."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ran: list[str] = []
        self.gates: dict[str, asyncio.Event] = {}

    async def run(self, params: Mapping[str, Any], report: Report) -> Mapping[str, Any]:
        self.ran.append(f"{params.get('source', '')}{params.get('n', '')}")
        if (gate := self.gates.get(str(params.get("source")))) is not None:
            await gate.wait()
        return {}


async def test_a_job_that_reads_waits_only_for_those_of_its_source(store: SqliteStore) -> None:
    importing, audit = Recorded("import"), Recorded("audit")
    gate = importing.gates["git"] = asyncio.Event()
    queue = JobQueue(store.jobs, (importing, audit), in_lanes=("import",))
    await queue.start()
    try:
        stuck = await queue.submit("import", {"source": "git", "n": 1})
        later = await queue.submit("import", {"source": "git", "n": 2})
        await queue.submit("import", {"source": "mail", "n": 3})
        await queue.submit("audit", {})
        await comes_true(lambda: importing.ran == ["git1", "mail3"] and audit.ran == [""])
        assert (await queue.get(stuck)).state == "running"
        assert (await queue.get(later)).state == "queued"
        await queue.cancel(stuck)
        await comes_true(lambda: importing.ran == ["git1", "mail3", "git2"])
        gate.set()
    finally:
        await queue.close()


async def test_jobs_that_do_not_read_wait_for_each_other(store: SqliteStore) -> None:
    importing, audit = Recorded("import"), Recorded("audit")
    gate = audit.gates["x"] = asyncio.Event()
    queue = JobQueue(store.jobs, (importing, audit), in_lanes=("import",))
    await queue.start()
    try:
        await queue.submit("audit", {"source": "x"})
        await queue.submit("audit", {"source": "y"})
        await queue.submit("import", {"source": "mail"})
        await comes_true(lambda: importing.ran == ["mail"])
        assert audit.ran == ["x"]
        gate.set()
        await comes_true(lambda: audit.ran == ["x", "y"])
    finally:
        await queue.close()


async def test_of_several_jobs_the_one_that_read_the_item_is_set_aside(store: SqliteStore) -> None:
    queue = JobQueue(store.jobs, (Recorded("import"),), in_lanes=("import",))
    for job, source in (("a", "mail"), ("b", "git")):
        await store.jobs.create(job, "import", {"source": source, "path": f"/{source}"})
        await store.jobs.claim(["import"], lanes=["import:mail"] if job == "b" else [])
    item = {"source": "git", "path": "/git", "item": "x"}
    assert await queue.set_aside(item, "git /git x") == "b"
    assert (await queue.get("a")).state == "running"


async def test_lanes_run_one_thing_of_a_name_and_end_with_their_block() -> None:
    gate, ended = asyncio.Event(), []

    async def wait() -> None:
        try:
            await gate.wait()
        finally:
            ended.append(True)

    async with Lanes() as lanes:
        assert lanes.start("a", wait)
        assert not lanes.start("a", wait)
        assert lanes.start("b", wait)
        await lanes.wait(0.01)
    assert ended == [True, True]


async def test_what_fails_in_turn_ends_the_others() -> None:
    gate, ended = asyncio.Event(), []

    async def wait() -> None:
        try:
            await gate.wait()
        finally:
            ended.append(True)

    async def fail() -> None:
        raise SourceError("torn")

    with pytest.raises(SourceError, match="torn"):
        await each_in_turn([wait, fail, wait], 0.01)
    assert ended == [True]


async def test_a_place_that_took_the_worker_down_twice_is_read_again_only_after_a_while(
    store: SqliteStore, tmp_path: Path, wells: dict[str, Well], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where nothing is known of what in it was being read: the source had given nothing."""
    file = tmp_path / "reading.json"
    writer = IngestWriter(store.ingest, stored=lambda: None)
    deaths = []
    for _ in range(2):
        reader = LocationReader(store.ingest, writer, CrashMark(file))
        reading = asyncio.create_task(reader.read(Location("deep", "stuck")))
        await comes_true(lambda: file.exists() and b'"now": [["deep"' in file.read_bytes())
        deaths.append(file.read_bytes())  # what a worker that is killed now leaves
        wells["deep"].released.set()
        await reading
        wells["deep"].released.clear()
        file.write_bytes(deaths[-1])
    reader = LocationReader(store.ingest, writer, CrashMark(file))
    with pytest.raises(SourceError, match="only after 10 minutes"):
        await reader.read(Location("deep", "stuck"))
    assert (await reader.read(Location("deep", "open"))).new == 1
    monkeypatch.setattr("mem_search.jobs.reader.ASIDE_SECONDS", 0.0)
    wells["deep"].released.set()
    await reader.read(Location("deep", "stuck"))
    assert not CrashMark(file).deaths
