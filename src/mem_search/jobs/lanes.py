"""Lanes: pieces of work that do not wait for each other, unless they have the same name."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from types import TracebackType
from typing import Any, Self

from mem_search.errors import MemSearchError

log = logging.getLogger(__name__)

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
