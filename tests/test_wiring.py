"""Opening and closing a runtime: quick, complete, and nothing left behind."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import drafts
from chosen_store import in_a_file
from mem_search.errors import InputError, StorageError
from mem_search.model import Batch, Location, SearchRequest
from mem_search.platform import IS_LINUX
from mem_search.search.service import SearchService
from mem_search.wiring import open_runtime
from runtimes import THERE, fill, settled, small

OURS = ("sqlite-", "embed-", "chroma-")

LeftOver = Callable[[], list[str]]


@pytest.fixture
def left_over() -> LeftOver:
    """What runs now and did not before the test; models that other tests loaded have threads."""
    before = set(threading.enumerate())

    def found() -> list[str]:
        threads = [t.name for t in threading.enumerate() if t not in before]
        tasks = [t.get_name() for t in asyncio.all_tasks() if t is not asyncio.current_task()]
        return [*(name for name in threads if name.startswith(OURS)), *tasks]

    return found


async def test_nothing_is_left_running_after_it_closes(tmp_path: Path, left_over: LeftOver) -> None:
    async with open_runtime(small(tmp_path / "home", follow=1)) as runtime:
        await fill(runtime, drafts.draft("a"))
        assert left_over()
    assert left_over() == []


async def test_nothing_is_left_running_after_an_error_inside(
    tmp_path: Path, left_over: LeftOver
) -> None:
    with pytest.raises(ZeroDivisionError):
        async with open_runtime(small(tmp_path / "home")):
            raise ZeroDivisionError
    assert left_over() == []


@in_a_file("a foreign one")
async def test_a_foreign_store_leaves_nothing_running(tmp_path: Path, left_over: LeftOver) -> None:
    (tmp_path / "mem-search.db").write_bytes(b"something else, and long enough to be seen" * 50)
    with pytest.raises(StorageError, match="is damaged"):
        async with open_runtime(small(tmp_path)):
            pass
    assert left_over() == []


async def test_a_wrong_setting_leaves_nothing_running(tmp_path: Path, left_over: LeftOver) -> None:
    with pytest.raises(InputError, match="unknown embedder"):
        async with open_runtime(small(tmp_path / "home", embedder="crystal-ball")):
            pass
    assert left_over() == []


LOWEST = 19
"""No priority is lower: ``nice``(1)."""


async def test_an_import_gives_way_to_searches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[SearchService] = []

    async def give_way(service: SearchService) -> None:
        given.append(service)

    monkeypatch.setattr(SearchService, "give_way", give_way)
    lines = (json.dumps({"kind": "note", "text": f"page {n}"}) for n in range(60))
    (tmp_path / "notes.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    async with open_runtime(small(tmp_path / "home"), background=False) as runtime:
        await runtime.ingest.reader.read(Location("jsonl", str(tmp_path / "notes.jsonl")))
        assert given == [runtime.search.service]
        lower = runtime.model.passage_thread.submit(priority).result()
        assert lower >= min(priority() + 1, LOWEST) or not IS_LINUX


def priority() -> int:
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


async def test_what_waited_when_it_closed_is_done_after_it_opens(tmp_path: Path) -> None:
    settings = small(tmp_path / "home")
    async with open_runtime(settings, background=False) as runtime:
        await runtime.ingest.writer.take(THERE, Batch(drafts=(drafts.draft("a", "hello there"),)))
        page = await runtime.search.service.search(SearchRequest("hello"), "")
        assert (page.total, page.report.coverage) == (1, 0)
        assert 0 < page.report.index_age_s < 3600
    async with open_runtime(settings) as runtime:
        await settled(runtime)
        page = await runtime.search.service.search(SearchRequest("hello", mode="vector"), "")
        assert (page.total, page.report.coverage, page.report.index_age_s) == (1, 1, 0)
