"""The Chroma that the worker owns: one child process over one folder, restarted when it dies.

Inside the worker, Chroma's writes would hold the interpreter for hundreds of milliseconds, and a
damaged index would end the worker. In a child process both cost only a reply.

The index is derived data, so damage leads to a new folder: when Chroma twice fails to start,
crashes or reports internal errors, the folder moves to quarantine, and the indexer fills a new one
from SQLite. If Chroma fails over an empty folder too, the old folder is restored.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from mem_search.errors import IndexUnavailable
from mem_search.platform import scale_timeout
from mem_search.storage.chroma.connection import Connection, ServerFault, Unreachable, heartbeat
from mem_search.storage.chroma.directory import DataDirectory
from mem_search.storage.chroma.launch import Child, launch
from mem_search.storage.chroma.server import Opened, Server
from mem_search.storage.chroma.wire import SocketWire
from mem_search.storage.vector_index import Protection

WAITS: Final = (0.2, 1.0, 3.0, 10.0, 30.0)
"""Seconds before the next start, by the total cost of recent failures."""


class Restarts:
    """A budget of ``limit`` failures in ``window`` seconds, with growing waits.

    A failure costs 1, or less when the child is probably not at fault.
    """

    def __init__(
        self, limit: float = 5.0, window: float = 300.0, waits: Sequence[float] = WAITS
    ) -> None:
        self.limit = limit
        self.window = window
        self._waits = waits
        self._failures: deque[tuple[float, float]] = deque()

    def failed(self, now: float, cost: float = 1.0) -> None:
        self._failures.append((now, cost))

    def exhausted(self, now: float) -> bool:
        return self._spent(now) >= self.limit

    def pause(self, now: float) -> float:
        """Seconds before the next start; the rest of the window when the budget is spent."""
        spent = self._spent(now)
        if spent < self.limit:
            return self._waits[min(int(spent), len(self._waits) - 1)]
        costs = [cost for _, cost in self._failures]
        gone = next(n for n in range(1, len(costs) + 1) if sum(costs[n:]) < self.limit)
        return self._failures[gone - 1][0] + self.window - now

    def _spent(self, now: float) -> float:
        while self._failures and now - self._failures[0][0] >= self.window:
            self._failures.popleft()
        return sum(cost for _, cost in self._failures)


_log = logging.getLogger(__name__)

_START_SECONDS = 30.0
_LOCK_WAIT = 2.0
_SILENCE = 10.0
"""Seconds without a heartbeat after which a child counts as hanging."""

_MAX_SECONDS = 300.0
"""What both become at most where others keep the processors busy."""

_SUSPICIOUS = 2
_ENDED_FROM_OUTSIDE = 0.1
"""The cost of being killed while serving: not 0, because a kernel without memory repeats it."""


class ChromaProcess(Server):
    """Chroma over ``root/data`` with its output in ``log``; ``Restarts`` limits its restarts.

    ``start`` it in a thread that lives as long as the worker (see ``launch``). ``pid`` and
    ``address``, within its own network, are those of the running child. ``quarantines`` counts
    how often the folder was replaced. ``isolated`` gives the child a network of its own where the
    system allows that.
    """

    def __init__(
        self,
        root: Path,
        log: Path,
        restarts: Restarts | None = None,
        *,
        isolated: bool = True,
    ) -> None:
        super().__init__()
        self.protection: Protection = "none"
        self._isolated = isolated
        self._directory = DataDirectory(root)
        self._output = log
        self._restarts = restarts or Restarts()
        self._faults: asyncio.Queue[str] = asyncio.Queue()
        self._silent = asyncio.Event()
        self._suspicion = 0
        self.pid: int | None = None
        self.address: tuple[str, int] | None = None
        self.quarantines = 0

    def check_after(self, fault: IndexUnavailable) -> None:
        # On a full disk every file looks damaged, and a new folder would only lose the good one.
        if isinstance(fault, ServerFault) and self._directory.has_room():
            self._faults.put_nowait(str(fault))
        elif isinstance(fault, Unreachable):  # the end of the child is noticed anyway
            self._silent.set()

    def replacement(self) -> ChromaProcess:
        return ChromaProcess(self._directory.next, self._output, isolated=self._isolated)

    def take_over(self, other: Server) -> None:
        assert isinstance(other, ChromaProcess)
        self._directory.lock()
        try:
            self._directory.take_over(other._directory.data)  # noqa: SLF001  of the same class
        finally:
            self._directory.unlock()

    def revision(self) -> int | None:
        return self._directory.revision()

    async def _keep_up(self, opened: Opened) -> None:
        try:
            await self._own_directory()
            while True:
                await self._wait_after(await self._once(opened))
        finally:
            self._directory.unlock()

    async def _own_directory(self) -> None:
        """Lock the folder and clear it of what others left, as soon as that can be done."""
        while True:
            try:
                self._directory.lock()
                await asyncio.to_thread(self._directory.end_stale_child)
                return await asyncio.to_thread(self._directory.sweep)
            except IndexUnavailable as error:
                # A stopping worker holds the folder for seconds, another worker for days.
                failure = str(error)
            except OSError as error:  # a full disk
                failure = f"cannot use {self._directory.root}: {error}"
                self._directory.unlock()
            self._set("down", failure)
            await asyncio.sleep(_LOCK_WAIT)

    async def _wait_after(self, failure: str) -> None:
        now = asyncio.get_running_loop().time()
        pause = self._restarts.pause(now)
        if self._restarts.exhausted(now):
            failure += f"; too many failures, see {self._output}"
        self._set("down", f"{failure}; starting again in {pause:.1f} s")
        await asyncio.sleep(pause)

    async def _once(self, opened: Opened) -> str:
        """Start the child, serve until it fails, and return how it failed."""
        aside: Path | None = None
        served = False
        cost = 1.0
        self._set("starting", "the vector index is starting")
        try:
            aside = self._start_afresh_if_damaged()
            child = await launch(self._directory.data, self._output, isolated=self._isolated)
            try:
                self.pid = child.pid
                self._directory.remember_child(child.pid)
                await child.answering(scale_timeout(_START_SECONDS, most=_MAX_SECONDS))
                self.address = child.address
                self.protection, self.refusal = child.protection, child.refusal
                await opened(partial(Connection, partial(SocketWire, child.dial)))
                served = True
                self._set("ready")
                failure, to_blame = await self._failing(child)
                self._suspicion += to_blame
                cost = 1.0 if to_blame else _ENDED_FROM_OUTSIDE
            finally:
                self.pid = None
                await child.end()
                self._directory.forget_child()
        except IndexUnavailable as error:
            failure = str(error)
            self._suspicion += 1
        except OSError as error:  # an error of the folder, not of Chroma
            failure = f"cannot use {self._directory.root}: {error}"
        if aside is not None and not served:
            self._directory.restore(aside)
            self._suspicion = -_SUSPICIOUS
        self._restarts.failed(asyncio.get_running_loop().time(), cost)
        return failure

    def _start_afresh_if_damaged(self) -> Path | None:
        if self._suspicion < _SUSPICIOUS or not self._directory.has_data():
            return None
        aside = self._directory.quarantine()
        self._suspicion = 0
        self.quarantines += 1
        _log.error(
            "the vector index is damaged and will be filled again; the old one is in %s", aside
        )
        return aside

    async def _failing(self, child: Child) -> tuple[str, bool]:
        """Wait until the child ends, hangs or is reported; what happened, and if it is at fault."""
        while not self._faults.empty():
            self._faults.get_nowait()
        self._silent.clear()
        ended = asyncio.ensure_future(child.ended())
        reported = asyncio.ensure_future(self._faults.get())
        hanging = asyncio.ensure_future(self._hanging(child))
        events = {ended, reported, hanging}
        try:
            await asyncio.wait(events, return_when=asyncio.FIRST_COMPLETED)
            if ended.done():
                return f"Chroma {ended.result()}", child.crashed
            if reported.done():
                return reported.result(), True
            return "Chroma stopped answering and was ended", False
        finally:
            for event in events:
                event.cancel()

    async def _hanging(self, child: Child) -> None:
        """Return when the child has stopped answering. Meanwhile no search waits for it."""
        while True:
            await self._silent.wait()
            self._set("down", "Chroma does not answer; checking whether it still runs")
            try:
                limit = scale_timeout(_SILENCE, most=_MAX_SECONDS)
                await asyncio.to_thread(heartbeat, child.dial, limit)
            except IndexUnavailable:
                return
            self._silent.clear()
            self._set("ready")
