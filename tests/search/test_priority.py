"""Background work waits during a search, but not for ever."""

from __future__ import annotations

import threading

import pytest

import drafts
from mem_search.model import Batch, Location, SearchRequest
from mem_search.search import service
from mem_search.search.service import SearchPriority
from mem_search.wiring import Runtime
from runtimes import fill


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here is a matter of milliseconds."""
    monkeypatch.setattr(service, "MOST_WAITED", 60.0)


def waiting(way: SearchPriority) -> threading.Thread:
    thread = threading.Thread(target=way.give)
    thread.start()
    return thread


def test_without_a_search_nobody_waits() -> None:
    SearchPriority().give()


def test_who_gives_way_goes_on_when_the_last_search_is_over() -> None:
    way = SearchPriority()
    with way:
        with way:
            thread = waiting(way)
        thread.join(0.05)
        assert thread.is_alive()
    thread.join(30)
    assert not thread.is_alive()


def test_a_search_that_fails_is_over_too() -> None:
    way = SearchPriority()
    with pytest.raises(ZeroDivisionError), way:
        raise ZeroDivisionError
    way.give()


def test_searches_without_end_stop_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "MOST_WAITED", 0.01)
    way = SearchPriority()
    with way:
        way.give()


async def test_an_import_waits_for_the_search_before_each_record(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(runtime, *(drafts.draft(f"{n}", f"words {n}") for n in range(3)))
    writer, way = runtime.ingest.writer, runtime.search.service._priority
    assert writer._give_way == way.give
    asked: list[bool] = []
    monkeypatch.setattr(writer, "_give_way", lambda: asked.append(way._free.is_set()))
    more = tuple(drafts.draft(f"more {n}", f"more {n}") for n in range(2))
    with way:
        await writer.take(Location("test", "here"), Batch(more))
    assert asked == [False, False]
    await runtime.search.service.search(SearchRequest("words"), "test")
    assert way._free.is_set()
