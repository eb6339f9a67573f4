"""A bug over one piece of work ends no loop of the worker: it is logged, and the others go on."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mem_search import search_wiring
from mem_search.background import Lanes, Scheduler
from mem_search.errors import SourceError
from mem_search.features.capture.service import GRACE_SECONDS, HookEvents
from mem_search.jobs.reader import LocationReader
from mem_search.model import Filters, Location
from mem_search.wiring import open_runtime
from runtimes import ended, small


async def test_background_work_that_a_bug_has_ended_is_begun_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(search_wiring, "FIRST_PAUSE", 0.0)
    begun: list[int] = []
    ended = asyncio.Event()

    async def work() -> None:
        begun.append(1)
        if len(begun) < 3:
            raise KeyError("a bug")
        ended.set()

    async with search_wiring.background_tasks() as tasks:
        tasks.start("work", work)
        await ended.wait()
    assert len(begun) == 3
    assert caplog.text.count("work failed, and is begun again") == 2


async def test_what_fails_when_it_is_ended_is_not_begun_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    begun: list[int] = []
    waits = asyncio.Event()

    async def work() -> None:
        begun.append(1)
        try:
            waits.set()
            await asyncio.Event().wait()
        finally:
            raise KeyError("a bug in its end")

    async with search_wiring.background_tasks() as tasks:
        tasks.start("work", work)
        await waits.wait()
    assert len(begun) == 1
    assert "work failed when it was ended" in caplog.text


async def test_a_scheduler_goes_on_after_a_bug(caplog: pytest.LogCaptureFixture) -> None:
    done: list[int] = []
    ended = asyncio.Event()

    async def do_due() -> int | None:
        done.append(1)
        if len(done) == 1:
            raise KeyError("a bug")
        ended.set()
        return None

    running = asyncio.create_task(Scheduler("messages", do_due, retry=0.0).run())
    await ended.wait()
    running.cancel()
    assert "KeyError" in caplog.text


async def test_a_lane_that_fails_is_logged_and_can_begin_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def fail() -> None:
        raise KeyError("a bug")

    async with Lanes() as lanes:
        assert lanes.start("a", fail)
        await lanes.wait(None)
        assert lanes.start("a", fail)
        await lanes.wait(None)
    assert caplog.text.count("a failed") == 2


async def test_events_that_a_bug_stops_are_set_aside_and_the_others_are_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_runtime(small(tmp_path), background=False) as runtime:
        events = runtime.ingest.hooks
        events.folder.mkdir(parents=True)
        for name in ("1", "2", "3"):
            event = {
                "hook_event_name": "UserPromptSubmit",
                "session_id": f"s{name}",
                "cwd": "/gone/harbour",
                "prompt": f"Prompt {name} about the tide gauge",
            }
            (events.folder / f"{name}.json").write_text(json.dumps(event))
        take = HookEvents._take

        async def takes(self: HookEvents, taken: list[Any], patience: float | None) -> None:
            if any(file.stem == "2" for file, *_ in taken):
                raise KeyError("a bug in what follows")
            await take(self, taken, patience)

        monkeypatch.setattr(HookEvents, "_take", takes)
        await events.drain(time.time() + GRACE_SECONDS + 1)
        page, _ = await runtime.store.records.page(Filters(), "date_asc", 50, 0)
        texts = {record.text for record, _ in page if record.kind == "user_prompt"}
        assert {text[:8] for text in texts} >= {"Prompt 1", "Prompt 3"}
        assert [file.name for file in events.aside.iterdir()] == ["2.json"]
        (entry,) = await runtime.store.ingest.ledger("claude-code", "2.json", 10, 0, "failed")
        assert "KeyError" in entry.reason


async def test_a_bug_over_a_location_is_an_error_of_the_location(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "a.md").write_text("The lighthouse burns oil.")
    async with open_runtime(small(tmp_path / "home"), background=False) as runtime:
        reader = runtime.ingest.reader

        async def fails(*_: object, **__: object) -> None:
            raise KeyError("a bug")

        monkeypatch.setattr(LocationReader, "_next", fails)
        with pytest.raises(SourceError, match=r"internal error.*KeyError"):
            await reader.read(Location("files", str(tmp_path / "there")))
        (known,) = await runtime.store.ingest.locations()
        assert "internal error" in known.error


@pytest.mark.parametrize("column", ["params", "result", "state", "created_at", "done", "name"])
@pytest.mark.parametrize("value", ["{", b"\xff\xfe"])
async def test_a_job_row_that_is_damaged_while_the_worker_runs_holds_no_other_job(
    tmp_path: Path, column: str, value: Any
) -> None:
    settings = small(tmp_path, store="")
    async with open_runtime(settings) as runtime:
        jobs = runtime.ingest.jobs
        with closing(sqlite3.connect(settings.database)) as connection, connection:
            connection.execute(
                "insert into jobs values"
                "('j1', 'sync', '{}', 'queued', 0, 0, '', '{}', 1, null, null)"
            )
            try:
                connection.execute(f"update jobs set {column} = ?", (value,))
            except sqlite3.IntegrityError:
                pytest.skip("SQLite refuses it")
        assert await jobs.newest(10)
        job = await jobs.get("j1")
        assert isinstance(job.params, dict)
        new = await jobs.submit("audit", {})

        await ended(jobs, new)
