"""Prepares the drafts of a batch where they can stop nothing.

Preparing is Python and regular expressions over text of any origin, and kinds of third parties take
part in it. Either may run for long with the interpreter's lock held, and then the worker answers
nobody and hears no signal. So a batch is prepared in a process of its own with a limit of time and
memory. A draft that reaches a limit is named in the ledger; the others go on in a new process.

A small batch of built-in kinds is prepared in a thread of the worker: its cost is bounded
(every function is linear, ``tests/text/test_linear_time.py``), and starting the process takes
longer (half a second of processor time) than the batch does.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from mem_search.errors import Unavailable
from mem_search.ingest.prepare import outcome
from mem_search.limited_process import (
    HEAD,
    command,
    environment,
    framed,
    is_working,
)  # fmt: skip
from mem_search.model import Draft
from mem_search.model.ingest import PreparedDraft
from mem_search.platform import scale_timeout
from mem_search.platform.processes import processor_seconds
from mem_search.records import BUILT_IN
from mem_search.records.registry import installed_kinds
from mem_search.text.json_reading import MAX_LEVELS

log = logging.getLogger(__name__)

SMALL: Final = 32_000
"""What a thread of the worker prepares in about 30 ms: a unit is a character, as measured."""

_DRAFT: Final = 1_000
"""What preparing a draft costs beside its characters, in the same unit."""

IDLE_SECONDS: Final = 30.0
"""After so long without work the process ends and gives back its 50 MB."""

_PATIENCE: Final = 4
"""A draft that waits is given up after so many times its processor time; one that works is not."""

_SOON_SECONDS: Final = 0.5
"""So long the process is waited for before anybody asks what it is doing."""

_START_SECONDS: Final = 60.0
_MAX_START_SECONDS: Final = 600.0
_BUFFER: Final = 2**20
_WORK: Final = "mem_search.ingest.prepare:outcome"
_MEMORY: Final = "it needs more than {megabytes} MB of memory (prepare_memory)"

Outcome = PreparedDraft | str
"""A draft that is ready to store, or why it cannot be prepared."""


class _Ended(Exception):
    """The process has ended, or was ended; ``reason`` blames the draft, or is empty."""

    def __init__(self, detail: str, reason: str = "") -> None:
        super().__init__(detail)
        self.detail = detail
        self.reason = reason


class PrepareProcess:
    """Prepares batches for one store, one at a time. Call ``close`` at the end.

    ``seconds`` of processor time and ``megabytes`` of memory are the limits of one draft.
    """

    def __init__(self, seconds: int = 120, megabytes: int = 2048) -> None:
        self._seconds = seconds
        self._megabytes = megabytes
        self._lock = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None
        self._idle: asyncio.TimerHandle | None = None
        self._ending: asyncio.Task[None] | None = None

    async def prepare(
        self, drafts: Sequence[Draft], at: Callable[[int], None] = lambda _: None
    ) -> list[Outcome]:
        """The outcome for each draft. ``at`` is told the place of each draft before its turn.

        Raises Unavailable when the process cannot be started.
        """
        frames = await asyncio.to_thread(lambda: [_frame(draft) for draft in drafts])
        if _is_small(drafts, frames):
            return await asyncio.to_thread(_prepare_here, drafts, at)
        async with self._lock:
            if self._idle is not None:
                self._idle.cancel()
            try:
                return await self._prepare_apart(frames, at)
            except BaseException:
                await self._end()  # nobody reads its replies any more
                raise
            finally:
                loop = asyncio.get_running_loop()
                self._idle = loop.call_later(IDLE_SECONDS, self._end_idle)

    async def close(self) -> None:
        """End the process."""
        if self._idle is not None:
            self._idle.cancel()
        if self._ending is not None:
            await self._ending
        await self._end()

    @property
    def pid(self) -> int | None:
        """The running process."""
        return self._process.pid if self._process is not None else None

    async def _prepare_apart(
        self, frames: Sequence[bytes | str], at: Callable[[int], None]
    ) -> list[Outcome]:
        outcomes: list[Outcome] = []
        suspect = -1
        while len(outcomes) < len(frames):
            try:
                process = await self._started()
                await self._prepare_rest(process, frames, outcomes, at)
            except _Ended as ended:
                await self._end()
                place = len(outcomes)
                log.warning("preparing a record: %s", ended.detail)
                if reason := ended.reason or (ended.detail if place == suspect else ""):
                    outcomes.append(reason)
                else:  # somebody else may have ended it: once more
                    suspect = place
        return outcomes

    async def _prepare_rest(
        self,
        process: asyncio.subprocess.Process,
        frames: Sequence[bytes | str],
        outcomes: list[Outcome],
        at: Callable[[int], None],
    ) -> None:
        """Append what becomes of the drafts after the first ``len(outcomes)``. Raises _Ended."""
        waiting = frames[len(outcomes) :]
        feeding = asyncio.create_task(_feed(process, waiting))
        try:
            for frame in waiting:
                at(len(outcomes))
                if isinstance(frame, str):
                    outcomes.append(frame)
                    continue
                reply = await self._reply(process, self._seconds * _PATIENCE)
                if len(reply) < SMALL:  # less work than the way to a thread and back
                    outcomes.append(pickle.loads(reply))  # noqa: S301  of our own process
                else:
                    outcomes.append(await asyncio.to_thread(pickle.loads, reply))
        finally:
            feeding.cancel()
            await asyncio.gather(feeding, return_exceptions=True)

    async def _reply(self, process: asyncio.subprocess.Process, seconds: float) -> bytes:
        try:
            (length,) = HEAD.unpack(await _received(process, HEAD.size, seconds))
            return await _received(process, length, seconds)
        except TimeoutError:
            code = await _exit_code(process)
            if code is None:
                detail = f"it was not prepared within {seconds:.0f} seconds (prepare_seconds)"
                raise _Ended(detail, detail) from None
        except (asyncio.IncompleteReadError, ConnectionError):
            code = await process.wait()
        if code == -signal.SIGXCPU:
            detail = f"it took more than {self._seconds} seconds to prepare (prepare_seconds)"
            raise _Ended(detail, detail)
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"exited with {code}"
        raise _Ended(f"the process that prepares records {how} over it")

    async def _started(self) -> asyncio.subprocess.Process:
        if self._process is not None and self._process.returncode is None:
            return self._process
        try:
            process = self._process = await asyncio.create_subprocess_exec(
                *command(_WORK, seconds=self._seconds, megabytes=self._megabytes, memory=_MEMORY),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment(),
                start_new_session=True,  # Ctrl-C goes to the worker, which then ends it in order
                limit=_BUFFER,
            )
            await _feed(process, [framed(sys.path)])
            await self._reply(process, scale_timeout(_START_SECONDS, most=_MAX_START_SECONDS))
        except (OSError, _Ended) as error:
            await self._end()
            raise Unavailable(
                f"the process that prepares records does not start: {error};"
                " `mem-search worker logs` may say why"
            ) from error
        return process

    def _end_idle(self) -> None:
        if not self._lock.locked():
            self._ending = asyncio.create_task(self._end())

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError):  # it has ended by itself
            process.kill()
        await process.wait()


async def _received(process: asyncio.subprocess.Process, size: int, seconds: float) -> bytes:
    """So many bytes from the process. Raises TimeoutError if it waits for so many seconds."""
    assert process.stdout is not None
    # Nearly every draft is ready before its processor time is worth a look.
    with suppress(TimeoutError):
        async with asyncio.timeout(_SOON_SECONDS):
            return await process.stdout.readexactly(size)
    while True:
        used = processor_seconds(process.pid)
        try:
            async with asyncio.timeout(seconds):
                return await process.stdout.readexactly(size)
        except TimeoutError:
            if not is_working(process.pid, used, seconds):
                raise


async def _exit_code(process: asyncio.subprocess.Process) -> int | None:
    """The exit code of a process that may have ended just at the limit; None if it runs."""
    try:
        async with asyncio.timeout(_SOON_SECONDS):
            return await process.wait()
    except TimeoutError:
        return None


def _frame(draft: Draft) -> bytes | str:
    try:
        return framed(draft)
    except RecursionError:
        return f"metadata: nested deeper than {MAX_LEVELS} levels"
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        return f"metadata: it holds what cannot be stored ({type(error).__name__}: {error})"


def _is_small(drafts: Sequence[Draft], frames: Sequence[bytes | str]) -> bool:
    built_in = installed_kinds().names[: len(BUILT_IN)]
    cost = sum(map(len, frames)) + _DRAFT * len(frames)
    return cost <= SMALL and all(draft.kind in built_in for draft in drafts)


def _prepare_here(drafts: Sequence[Draft], at: Callable[[int], None]) -> list[Outcome]:
    outcomes: list[Outcome] = []
    for place, draft in enumerate(drafts):
        at(place)
        outcomes.append(outcome(draft))
    return outcomes


async def _feed(process: asyncio.subprocess.Process, frames: Sequence[bytes | str]) -> None:
    assert process.stdin is not None
    # When the process has ended, whoever waits for its reply is told how.
    with suppress(ConnectionError):
        for frame in frames:
            if isinstance(frame, bytes):
                process.stdin.write(frame)
                await process.stdin.drain()
