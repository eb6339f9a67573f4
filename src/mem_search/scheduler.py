"""Runs work when it is due and sleeps in between. The caller supplies the work and the time of the
next run; this module only waits. Saved searches and webhook deliveries run this way.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from mem_search.errors import StorageError

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
