"""Work that never returns takes a thread of its own, and nobody waits for it for long."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from mem_search import waiting
from mem_search.waiting import Lane, Steps, is_given_up
from patience import PATIENCE, comes_true


@pytest.fixture
def released() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


async def test_what_does_not_come_is_answered_by_something_else(
    released: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    lane = Lane("test", most=2)
    assert lane.call(released.wait, PATIENCE, seconds=0.01, otherwise=False) is False
    assert await lane.run(released.wait, PATIENCE + 1, seconds=0.01, otherwise=False) is False
    # What waits for ever holds nobody, up to a limit.
    assert lane.call(int, "7", seconds=PATIENCE, otherwise=0) == 7
    assert await lane.run(int, "7", seconds=PATIENCE, otherwise=0) == 7
    monkeypatch.setattr(waiting, "MAX_OVERDUE", 2)
    threads = threading.active_count()
    assert lane.call(int, "7", seconds=PATIENCE, otherwise=0) == 0
    assert await lane.run(int, "7", seconds=PATIENCE, otherwise=0) == 0
    assert threading.active_count() == threads
    released.set()
    await comes_true(lambda: lane.call(int, "7", seconds=PATIENCE, otherwise=0) == 7)


async def test_no_more_runs_at_once_than_was_said(released: threading.Event) -> None:
    lane = Lane("test", most=1)
    first = asyncio.create_task(
        lane.run(released.wait, PATIENCE, seconds=PATIENCE, otherwise=False)
    )
    await asyncio.sleep(0)
    assert await lane.run(int, "7", seconds=PATIENCE, otherwise=0) == 0
    assert lane.call(int, "7", seconds=0.01, otherwise=0) == 0
    released.set()
    assert await first
    await comes_true(lambda: lane.call(int, "7", seconds=PATIENCE, otherwise=0) == 7)


async def test_the_same_work_is_not_begun_while_it_still_waits(released: threading.Event) -> None:
    lane, begun = Lane("test", most=8), []

    def work(name: str) -> bool:
        begun.append(name)
        return released.wait(PATIENCE)

    for _ in range(3):
        assert lane.call(work, "a", seconds=0.01, otherwise=False) is False
    assert begun == ["a"]
    released.set()
    await comes_true(lambda: lane.call(work, "a", seconds=PATIENCE, otherwise=False))


async def test_an_error_comes_to_whoever_waits_for_it() -> None:
    lane = Lane("test", most=1)
    for _ in range(3):  # the thread is free again each time
        with pytest.raises(ValueError, match="invalid literal"):
            lane.call(int, "x", seconds=PATIENCE, otherwise=0)
        with pytest.raises(ValueError, match="invalid literal"):
            await lane.run(int, "x", seconds=PATIENCE, otherwise=0)


async def test_all_steps_are_taken_in_one_thread_which_ends() -> None:
    threads: list[int] = []

    def values() -> Iterator[int]:
        try:
            for number in range(3):
                threads.append(threading.get_ident())
                yield number
        finally:
            threads.append(threading.get_ident())

    steps = Steps(values, "test")
    assert [await steps.next(PATIENCE) for _ in range(2)] == [0, 1]
    steps.end()
    await comes_true(lambda: not steps.is_running)
    assert len(threads) == 3
    assert len(set(threads)) == 1
    assert threads[0] != threading.get_ident()


async def test_a_step_that_does_not_come_is_told_that_nobody_waits(
    released: threading.Event,
) -> None:
    told: list[bool] = []

    def values() -> Iterator[int]:
        while not is_given_up():
            released.wait(0.01)
        told.append(is_given_up())
        yield 1

    steps = Steps(values, "test")
    with pytest.raises(TimeoutError):
        await steps.next(0.05)
    assert steps.is_running
    steps.end()
    await comes_true(lambda: told == [True] and not steps.is_running)
