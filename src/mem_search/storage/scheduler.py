"""Work that waits in the store for its time: done when it is due, slept between.

What the work is, and when the next of it is due, its owner says. Here is only the waiting.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from mem_search.errors import StorageError

log = logging.getLogger(__name__)

LONGEST_WAIT = 3600.0
"""Seconds after which it is looked again, should the clock have been set."""


class Scheduler:
    """Runs one kind of work. ``wake`` after adding to it; ``run`` until cancelled.

    ``do_due`` does, or begins, all that is due and returns when the next of it is (milliseconds
    since 1970), None when there is none. While the store cannot be used it is tried again after
    ``retry`` seconds.
    """

    def __init__(
        self, name: str, do_due: Callable[[], Awaitable[int | None]], *, retry: float
    ) -> None:
        self._name = name
        self._do_due = do_due
        self._retry = retry
        self._added = asyncio.Event()

    def wake(self) -> None:
        """There is something new in it."""
        self._added.set()

    async def run(self) -> None:
        """Do what is due, then wait for what comes due or is added."""
        while True:
            self._added.clear()
            try:
                wait = _seconds_until(await self._do_due())
            except StorageError as error:
                log.warning("%s wait: %s", self._name, error)
                wait = self._retry
            try:
                async with asyncio.timeout(wait):
                    await self._added.wait()
            except TimeoutError:
                continue


def _seconds_until(at: int | None) -> float:
    if at is None:
        return LONGEST_WAIT
    return min(LONGEST_WAIT, max(0.0, at / 1000 - time.time()))
