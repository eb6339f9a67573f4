"""Waiting for due work: neither too long nor in vain, also when the store fails."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

from mem_search.background import Scheduler
from mem_search.errors import StorageError
from patience import PATIENCE


class Work:
    """Notes when it was called; answers and fails as it is told."""

    def __init__(self, *answers: int | StorageError | None) -> None:
        self.answers = list(answers)
        self.calls = 0
        self.called = asyncio.Event()

    async def __call__(self) -> int | None:
        self.calls += 1
        self.called.set()
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, StorageError):
            raise answer
        return answer


async def until(work: Work, calls: int) -> None:
    async with asyncio.timeout(PATIENCE):
        while work.calls < calls:
            work.called.clear()
            await work.called.wait()


async def ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_what_comes_due_is_done_when_it_is() -> None:
    work = Work(int(time.time() * 1000) + 30)
    task = asyncio.create_task(Scheduler("work", work, retry=60).run())
    await until(work, 2)
    await ended(task)


async def test_what_is_added_is_not_waited_for() -> None:
    work = Work()
    agenda = Scheduler("work", work, retry=60)
    task = asyncio.create_task(agenda.run())
    await until(work, 1)
    agenda.wake()
    await until(work, 2)
    await ended(task)


async def test_a_store_that_is_away_is_tried_again() -> None:
    work = Work(StorageError("locked"), StorageError("locked"))
    task = asyncio.create_task(Scheduler("work", work, retry=0.01).run())
    await until(work, 3)
    await ended(task)
