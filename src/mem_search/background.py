"""Work in the background: what is due, lanes that do not wait for each other, memory given back.

A ``Scheduler`` runs work when it is due and sleeps in between. The caller supplies the work and the
time of the next run. Saved searches and webhook deliveries run this way. ``Lanes`` run pieces of
work beside each other, unless they have the same name. ``give_back_when_idle`` gives memory back to
the system once the worker rests: the C library keeps what was freed in its heaps, because the next
search may want it. After an import, or after some hundred searches, that is more than the rest of a
small worker.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from types import TracebackType
from typing import Any, Final, Self

from mem_search.errors import MemSearchError, StorageError
from mem_search.platform import memory

log = logging.getLogger(__name__)

MAX_WAIT_SECONDS = 3600.0
"""Seconds after which a scheduler looks again, in case the clock was set."""


class Scheduler:
    """Runs one kind of work. Call ``wake`` after adding work; ``run`` until cancelled.

    ``do_due`` does, or begins, everything that is due. It returns when the next work is due
    (milliseconds since 1970), or None when there is none. While the store cannot be used,
    ``do_due`` is tried again after ``retry`` seconds.
    """

    def __init__(
        self, name: str, do_due: Callable[[], Awaitable[int | None]], *, retry: float
    ) -> None:
        self._name = name
        self._do_due = do_due
        self._retry = retry
        self._added = asyncio.Event()

    def wake(self) -> None:
        """Look again now: work was added."""
        self._added.set()

    async def run(self) -> None:
        """Do what is due, then wait until more is due or added."""
        while True:
            self._added.clear()
            try:
                wait = _seconds_until(await self._do_due())
            except StorageError as error:
                log.warning("%s wait: %s", self._name, error)
                wait = self._retry
            except Exception:
                # A bug over one piece of work must not hold all later ones for ever.
                log.exception("%s wait", self._name)
                wait = self._retry
            try:
                async with asyncio.timeout(wait):
                    await self._added.wait()
            except TimeoutError:
                continue


def _seconds_until(at: int | None) -> float:
    if at is None:
        return MAX_WAIT_SECONDS
    return min(MAX_WAIT_SECONDS, max(0.0, at / 1000 - time.time()))


Work = Callable[[], Coroutine[Any, Any, None]]


class Lanes:
    """Runs one piece of work of each name at a time, until the block ends, which cancels them."""

    def __init__(self) -> None:
        self._running: dict[str, asyncio.Task[None]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        for task in self._running.values():
            task.cancel()
        await asyncio.gather(*self._running.values(), return_exceptions=True)

    def start(self, name: str, work: Work) -> bool:
        """Start the work, unless there is some of this name: then nothing, and False."""
        before = self._running.get(name)
        if before is not None and not before.done():
            return False
        self._running[name] = asyncio.create_task(_logged(name, work), name=f"lane {name}")
        return True

    async def wait(self, seconds: float | None) -> None:
        """Wait for all that runs, at most for so long."""
        running = [task for task in self._running.values() if not task.done()]
        if running:
            await asyncio.wait(running, timeout=seconds)
        for name, task in [*self._running.items()]:
            if task.done():
                del self._running[name]


async def _logged(name: str, work: Work) -> None:
    """A failure of one lane is logged, and ends nothing else."""
    try:
        await work()
    except (OSError, MemSearchError) as error:
        log.warning("%s: %s", name, error)
    except Exception:
        log.exception("%s failed", name)


async def each_in_turn(works: Sequence[Work], patience: float) -> None:
    """Run the works one after the other; one that takes longer than ``patience`` (seconds) goes on
    beside the next. Returns when all have ended. Raises what one of them raises.
    """
    tasks: list[asyncio.Task[None]] = []
    try:
        for work in works:
            tasks.append(task := asyncio.create_task(work()))
            await asyncio.wait((task,), timeout=patience)
            if task.done():
                task.result()
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


PAUSE: Final = 1.0
"""Seconds between two looks."""

_RESTS: Final = 0.05
"""Share of one processor below which the worker rests: its timers and its health."""

_WORTH: Final = 0.2
"""Seconds of processor time since the last time; what is less leaves little in the heaps."""


async def give_back() -> None:
    """Give back what the heaps of the C library do not use."""
    await asyncio.to_thread(memory.give_back)


async def give_back_when_idle(
    give: Callable[[], Awaitable[None]] = give_back,
    clock: Callable[[], float] = time.process_time,
    pause: float = PAUSE,
) -> None:
    """``give``, once after each work, until cancelled."""
    given = spent = clock()
    while True:
        await asyncio.sleep(pause)
        before, spent = spent, clock()
        if spent - before < _RESTS * PAUSE and spent - given >= _WORTH:
            await give()
            given = spent = clock()
