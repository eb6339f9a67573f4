"""Running jobs: in the order of submission, with their state in the database.

One job runs at a time, but for those that read: one for each of their kinds and sources, so that a
slow or stuck import holds only those of its own lane.

A job is a name, parameters as JSON, and a coroutine. It must be safe to run it again: a worker that
died runs its unfinished jobs again at its next start, and each continues from its stored cursor.
Of several workers on one store, one runs a job: that of the home that accepted it, or any.
Jobs that take hours run ``beside`` the others, one at a time, too.

No job begins before the rules of secrets are compiled. Until then one that is submitted waits
with its parameters encrypted, because nobody can tell whether they have a secret.

A job that took the worker down twice is set aside. The deaths may have had another cause, as the
loss of power has, so a worker without other work tries it once more; then it waits for a person.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from mem_search.errors import Conflict, InputError, MemSearchError, NotFound, StoreAway
from mem_search.ingest import spool
from mem_search.jobs.sealed_params import (
    RETRY_SECONDS,
    WAITS_FOR_RULES,
    SealedParams,
    names_a_secret,
)
from mem_search.model.jobs import DAMAGED, ENDED, SO_FAR, TRIED, JobState, JobStatus, Pace
from mem_search.storage.redacted import Sealed, SecretBox
from mem_search.storage.sql.jobs import StoredJobs
from mem_search.text.dates import now_ms

log = logging.getLogger(__name__)

KEEP_MS = 7 * 24 * 3600 * 1000
"""Ended jobs are kept for a week."""

MAX_ASIDE = 1000
"""More jobs are not looked through for their uploads."""


class Report(Protocol):
    """Tells the progress of a job."""

    async def __call__(self, done: int, total: int, message: str, *, begins: bool = False) -> None:
        """``begins``: the rate is measured from now on, without what is done already."""
        ...


class Job(Protocol):
    """One kind of job."""

    name: str

    async def run(self, params: Mapping[str, Any], report: Report) -> Mapping[str, Any]:
        """Do the work; the result is stored as JSON. ``params`` has the job's id, too: ``job``.

        Cancelling raises CancelledError in it.
        """
        ...


class JobQueue:
    """Runs jobs from ``start`` to ``close``. Unfinished jobs resume at the next start.

    The upload in ``spool_dir`` that a job read (its parameter ``spooled``) is removed at its end.
    The jobs ``anywhere`` need no file of this home or machine: any worker of the store runs them.
    Those ``in_lanes`` wait only for others of their name and of their parameter ``source``.
    After ``aside_seconds`` without other work, jobs that were set aside are tried once more: what
    takes the worker down does so only after it has served for a while. 0 leaves them to a person.
    """

    def __init__(
        self,
        store: StoredJobs,
        kinds: tuple[Job, ...],
        beside: tuple[Job, ...] = (),
        spool_dir: Path | None = None,
        anywhere: Collection[str] = (),
        aside_seconds: float = 0,
        secret_box: SecretBox | None = None,
        in_lanes: Collection[str] = (),
    ) -> None:
        self._store = store
        self._params = SealedParams(store, secret_box)
        self._aside_seconds = aside_seconds
        self._anywhere = anywhere
        self._in_lanes = frozenset(in_lanes)
        self._spool = spool_dir
        self._kinds = {job.name: job for job in (*kinds, *beside)}
        self._beside = {job.name for job in beside}
        self._added = (asyncio.Event(), asyncio.Event())
        self._running: dict[str, asyncio.Task[Mapping[str, Any]]] = {}
        self._paces: dict[str, Pace] = {}
        self._cancelled: set[str] = set()
        self._interrupted: set[str] = set()
        """Jobs that are run again, because the server of the store went away."""
        self._left: dict[str, str] = {}
        """Jobs whose end could not be stored (a full disk), and why."""
        self._waits = ""
        """Why no job can be started now."""
        self._loops: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Run the jobs that an earlier worker did not finish, then new ones.

        Raises StorageError; then it has not begun, and can be called again.
        """
        await self._store.expire(now_ms() - KEEP_MS)
        for state in await self._store.unfinished(here=True):
            if names_a_secret(state):
                await self._end(
                    state.id, "failed",
                    "what it was to read contained a secret, which is not stored; start it again",
                )  # fmt: skip
            elif state.name not in self._kinds:
                await self._end(state.id, "failed", f"no job is called {state.name} any more")
        if self._loops:
            return
        together = self._kinds.keys() - self._beside
        rules = asyncio.create_task(self._params.ready(), name="rules for jobs")
        self._loops = [
            asyncio.create_task(self._work(names, added, rules), name="jobs")
            for names, added in zip((together, self._beside), self._added, strict=True)
        ]
        self._loops.append(rules)

    def wake(self) -> None:
        """Look for jobs again: another worker may have added one, or died over one."""
        for added in self._added:
            added.set()

    async def close(self) -> None:
        """Stop. A running job stays 'running' in the database and resumes at the next start."""
        for loop in self._loops:
            loop.cancel()
        for loop in self._loops:
            with suppress(asyncio.CancelledError):
                await loop

    async def submit(self, name: str, params: Mapping[str, Any]) -> str:
        """Queue a job; returns its id. Raises InputError for an unknown name."""
        if name not in self._kinds:
            raise InputError(
                f"no job is called {name!r}; known: {sorted(self._kinds)}", field="job"
            )
        job = uuid.uuid4().hex[:12]
        await self._params.store(job, name, params, anywhere=name in self._anywhere)
        self.wake()
        return job

    async def get(self, job: str) -> JobState:
        """Raises NotFound."""
        state = await self._store.get(job)
        if state is None:
            raise NotFound(f"no job {job!r}; `mem-search jobs` and GET /api/jobs list them")
        return self._as_it_is(state)

    async def newest(self, limit: int, state: JobStatus | None = None) -> list[JobState]:
        """The newest jobs, of all states or of one, newest first."""
        return [self._as_it_is(each) for each in await self._store.newest(limit, state)]

    def _as_it_is(self, state: JobState) -> JobState:
        """The state with its pace, or why it waits; one whose end could not be written failed."""
        state = replace(_without_counts(state), pace=self._paces.get(state.id))
        if Sealed.hold(state.params):
            state = replace(state, params={})
        if state.state == "queued" and not self._params.has_rules:
            return replace(state, message=WAITS_FOR_RULES)
        if state.state == "queued" and self._waits:
            return replace(state, message=f"{self._waits}; it is tried again")
        if (why := self._left.get(state.id)) is None or state.state in ENDED:
            return state
        message = f"{why}; what was stored stays, and the next start of the worker continues it"
        return replace(state, state="failed", message=message)

    async def cancel(self, job: str) -> JobState:
        """Stop the job at its next step. Raises NotFound, or Conflict when it has ended."""
        state = await self.get(job)
        if job in self._left and state.state == "failed":
            await self._end(job, "cancelled", "cancelled; what was stored stays")
            return await self.get(job)
        if state.state in ENDED:
            raise Conflict(f"job {job} is already {state.state}", field="id")
        self._cancelled.add(job)
        if job in self._running:
            self._running[job].cancel()
        elif self._params.has_rules:  # else it ends when its parameters can be stored
            await self._end(job, "cancelled", "cancelled before it ran")
        return await self.get(job)

    async def retry(self, job: str, *, without_item: bool = False) -> JobState:
        """Run a job again that did not end well. ``without_item`` leaves out what it died over.

        Raises NotFound, Conflict for a job that has not ended or is done, and when there is no
        such item.
        """
        state = await self.get(job)
        if state.state not in ENDED or state.state == "done":
            raise Conflict(f"job {job} is {state.state}; there is nothing to retry", field="id")
        params = dict(state.params)
        if DAMAGED in params:
            raise Conflict(f"job {job}: {state.message}", field="id")
        if without_item:
            if not state.result.get("item"):
                raise Conflict(
                    f"job {job} names no item that could be left out; retry it as it is", field="id"
                )
            left_out = [state.result[name] for name in ("source", "path", "item")]
            params["left_out"] = [*params.get("left_out", ()), left_out]
        self._left.pop(job, None)
        await self._store.queue_again(job, params)
        self.wake()
        return await self.get(job)

    async def set_aside(self, item: Mapping[str, str], label: str) -> str | None:
        """Set the job aside over which the last worker ended; returns its id. Before ``start``.

        ``item`` says what it was reading. Of several that were running it is the one that reads so.
        """
        running = [
            state
            for state in await self._store.unfinished(here=True)
            if state.state == "running" and state.name not in self._beside
        ]
        if not running:
            return None
        state = max(running, key=lambda each: _fits(each, item))
        again = ", and twice more when it tried again" if TRIED in state.params else ""
        message = (
            f"the worker ended twice while it read {label}{again};"
            f" to try again: mem-search jobs {state.id} --retry"
        )
        await self._store.finish(state.id, "set_aside", message, item)
        log.error("job %s (%s) is set aside: %s", state.id, state.name, message)
        return state.id

    async def uploads(self) -> set[str]:
        """The uploads that jobs have still to read, or may when they are retried."""
        waiting = [
            *await self._store.unfinished(),
            *await self._store.newest(MAX_ASIDE, "set_aside"),
        ]
        known = [self._params.of(state) for state in waiting]
        return {str(params["spooled"]) for params in known if "spooled" in params}

    async def _work(
        self, names: Collection[str], added: asyncio.Event, rules: asyncio.Task[None]
    ) -> None:
        await asyncio.shield(rules)
        # Jobs are set aside before this begins: when none is left, none will be.
        is_aside, idle_since = self._aside_seconds > 0, time.monotonic()
        running: dict[asyncio.Task[None], JobState] = {}
        try:
            while True:
                added.clear()
                for task in [each for each in running if each.done()]:
                    del running[task]
                    task.result()
                    idle_since = time.monotonic()
                idle = time.monotonic() - idle_since
                try:
                    state = await self._claim(names, running.values())
                    if state is None and not running and is_aside and idle >= self._aside_seconds:
                        state = await self._store.claim_aside(names)
                        is_aside = state is not None
                    self._waits = ""
                except Exception as error:
                    why = error.message if isinstance(error, MemSearchError) else repr(error)
                    if why != self._waits:  # a bug over one job must not end this loop
                        log.warning("jobs wait: %s", error, exc_info=why == repr(error))
                    self._waits = why
                    await _set(added, RETRY_SECONDS)
                    continue
                if state is not None:
                    task = asyncio.create_task(self._run_whole(state), name="job")
                    task.add_done_callback(lambda _: added.set())
                    running[task] = state
                elif is_aside and not running:
                    await _set(added, max(0.0, self._aside_seconds - idle))
                else:
                    await _set(added, None)
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def _claim(
        self, names: Collection[str], running: Collection[JobState]
    ) -> JobState | None:
        """The next job that waits for none of those that are running."""
        if any(state.name not in self._in_lanes for state in running):
            names = self._in_lanes.intersection(names)
        lanes = {f"{state.name}:{state.params.get('source', '')}" for state in running}
        left = {*self._left, *(state.id for state in running)}
        return await self._store.claim(names, left, lanes) if names else None

    async def _run_whole(self, state: JobState) -> None:
        try:
            await self._run(state)
        except Exception as error:
            # Its state could not be written (a full disk): the next start runs it again.
            is_ours = not isinstance(error, MemSearchError)
            log.error("job %s was left: %s", state.id, error, exc_info=is_ours)
            self._left[state.id] = repr(error) if is_ours else str(error)
        finally:
            self._cancelled.discard(state.id)
            if state.id not in self._interrupted:
                self._params.given.pop(state.id, None)
            self._interrupted.discard(state.id)

    async def _run(self, state: JobState) -> None:
        last = 0
        self._paces[state.id] = Pace(now_ms())

        async def report(done: int, total: int, message: str, *, begins: bool = False) -> None:
            nonlocal last
            if begins or done < last:  # its next part, which may have another unit
                self._paces[state.id] = Pace(now_ms(), done)
            last = done
            if not await self._store.report_progress(state.id, done, total, message):
                self._cancelled.add(state.id)  # by way of another worker, or it is that one's now
                raise asyncio.CancelledError

        if state.id in self._cancelled:  # cancelled while it was being started
            await self._end(state.id, "cancelled", "cancelled before it ran")
            return
        task = asyncio.create_task(self._consume(state, report), name=f"job {state.name}")
        self._running[state.id] = task
        try:
            result = await task
            await self._store.finish(state.id, "done", "", result)
        except asyncio.CancelledError:
            if state.id not in self._cancelled:  # the worker stops; the job resumes later
                task.cancel()
                raise
            await self._end(state.id, "cancelled", "cancelled; what was stored stays")
        except StoreAway as error:
            # It has not failed: it is claimed again, and goes on, when the server answers.
            log.warning("job %s waits for the server of the store: %s", state.id, error)
            self._interrupted.add(state.id)
        except MemSearchError as error:
            await self._end(state.id, "failed", error.message)
        except Exception as error:
            # A bug in one job must not stop the queue; the log has the traceback.
            log.exception("job %s (%s) failed", state.id, state.name)
            await self._end(state.id, "failed", f"internal error: {type(error).__name__}: {error}")
        finally:
            self._running.pop(state.id, None)
            self._paces.pop(state.id, None)

    async def _consume(self, state: JobState, report: Report) -> Mapping[str, Any]:
        params = self._params.given.get(state.id, self._params.of(state))
        result: Mapping[str, Any] = _without_counts(state).result
        if not result:
            result = await self._kinds[state.name].run({**params, "job": state.id}, report)
        if self._spool is not None and (spooled := params.get("spooled")):
            # The result is stored first: a worker that resumes the job needs no upload then.
            await self._store.note_result(state.id, result)
            await asyncio.to_thread(spool.discard, self._spool, str(spooled))
        return result

    async def _end(self, job: str, state: JobStatus, message: str) -> None:
        await self._store.finish(job, state, message, {})


async def _set(event: asyncio.Event, seconds: float | None) -> None:
    """Wait until it is set, at most for so long."""
    # Not wait_for: before Python 3.12 it loses a cancellation that comes when the event is set,
    # and then this never ends.
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


def _without_counts(state: JobState) -> JobState:
    """The state without what it keeps in its result until it is done."""
    result = {key: value for key, value in state.result.items() if key != SO_FAR}
    return replace(state, result=result)


def _fits(state: JobState, item: Mapping[str, str]) -> int:
    """How many parameters of the job name what ``item`` names."""
    return sum(state.params.get(name) == item.get(name) for name in ("source", "path"))
