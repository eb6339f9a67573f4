"""Background searches: stored before they run, resumed after a restart, kept for a day.

The result is the reply that the same search gets in the foreground. Two run at a time. Sync and
import have another queue (``jobs``), so they do not delay searches.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from mem_search.errors import (
    Conflict,
    LimitReached,
    MemSearchError,
    NotFound,
    StorageError,
    StoreAway,
)
from mem_search.features.research.service import Research
from mem_search.features.search_jobs.sql import (
    UNFINISHED,
    SearchJob,
    SearchJobStatus,
    SearchJobStore,
)
from mem_search.features.webhooks.service import Deliveries, new_message
from mem_search.model import SearchRequest
from mem_search.model.webhooks import Delivery
from mem_search.renderers.schema import to_json
from mem_search.renderers.universal import UniversalSearchResponse
from mem_search.search.stored_requests import dump, load, redacted_text
from mem_search.storage.store import Store
from mem_search.text import dates, secret_rules
from mem_search.text.dates import now_ms

log = logging.getLogger(__name__)

POLICY = "background_jobs"
"""The name of this limit in the universal search contract (docs/contracts)."""

KEEP_MS = 24 * 3600 * 1000
"""Ended jobs are kept for a day, with their results."""

AT_ONCE = 2
RETRY_SECONDS = 2
_SWEEP_SECONDS = 600.0
_STEPS = ("searching", "writing the answer")


class TooManyJobs(LimitReached):
    """The limit of unfinished jobs is reached."""

    code = "too_many_jobs"


@dataclass(frozen=True, slots=True)
class JobWithDelivery:
    """A job, and the delivery of its webhook if it has one."""

    job: SearchJob
    delivery: Delivery | None = None

    @property
    def is_unfinished(self) -> bool:
        return self.job.status in UNFINISHED

    @property
    def expires_at(self) -> int | None:
        """When an ended job is deleted, in milliseconds since 1970."""
        ended = self.job.completed_at
        return None if ended is None else ended + KEEP_MS


class SearchJobs:
    """The background searches of one store, and so of one user; ``run`` executes them.

    ``most`` may be unfinished at once; 0 is no limit.
    """

    def __init__(
        self, store: Store, research: Research, deliveries: Deliveries, *, most: int
    ) -> None:
        self._most = most
        self._store = store.part(SearchJobStore)
        self._research = research
        self._deliveries = deliveries
        self._added = asyncio.Event()
        self._running: dict[str, asyncio.Task[None]] = {}
        self._cancelled: set[str] = set()
        self._left: set[str] = set()
        self._claiming = asyncio.Lock()

    async def submit(
        self,
        request: SearchRequest,
        surface: str,
        *,
        base: str,
        budget: str = "",
        webhook_url: str | None = None,
        flags: Sequence[str] = (),
    ) -> str:
        """Queue a search; returns the id of its job.

        ``base`` is the URL of the worker, for links in the reply; the reply contains ``flags``.
        The limit counts the unfinished jobs of each ``budget``.
        Raises RefusedReceiver for a webhook that may not be called, TooManyJobs, and what
        ``Research.check`` raises.
        """
        if webhook_url is not None:
            self._deliveries.check(webhook_url)
        await self._research.check(request)
        job = str(uuid.uuid4())
        if not await self._store.create(
            job,
            {**dump(request), "base": base, "flags": [*flags], "budget": budget},
            surface=surface,
            webhook_url=webhook_url or "",
            at=now_ms(),
            most=self._most,
        ):
            raise TooManyJobs(
                f"{self._most} background searches are unfinished; wait for one of them",
                policies=(POLICY,),
                retry_after=RETRY_SECONDS,
            )
        self.wake()
        return job

    def wake(self) -> None:
        """Look for jobs again: another worker may have added one, or died over one."""
        self._added.set()

    async def get(self, job: str) -> JobWithDelivery:
        """One job. Raises NotFound, also after it has expired."""
        stored = await self._store.get(job, now_ms() - KEEP_MS)
        if stored is None:
            raise NotFound(
                f"no search job {job[:60]!r}; jobs are kept for a day after their end, and"
                " GET /api/v1/search/jobs lists them"
            )
        return (await self._with_deliveries([stored]))[0]

    async def newest(
        self, status: str, limit: int, offset: int
    ) -> tuple[list[JobWithDelivery], int]:
        """A page of jobs without their results, the newest first, and how many there are."""
        jobs, total = await self._store.newest(now_ms() - KEEP_MS, status, limit, offset)
        return await self._with_deliveries(jobs), total

    async def cancel(self, job: str) -> JobWithDelivery:
        """Cancel an unfinished job. Raises NotFound, Conflict when it has ended."""
        known = await self.get(job)
        current = known.job
        if known.is_unfinished:
            self._cancelled.add(job)
            if task := self._running.get(job):
                task.cancel()
            if await self._end(current, "cancelled"):
                return await self.get(job)
            self._cancelled.discard(job)
            current = (await self.get(job)).job
        raise Conflict(f"search job {job} is already {current.status}", field="id")

    async def forget(self, job: str) -> None:
        """Delete an ended job with its result. Raises NotFound, Conflict for an unfinished one."""
        known = await self.get(job)
        if known.is_unfinished:
            raise Conflict(f"search job {job} is {known.job.status}; cancel it first", field="id")
        await self._store.delete(job)

    async def run(self) -> None:
        """Run unfinished jobs of an earlier worker, then new ones, until cancelled."""
        workers = [asyncio.create_task(self._work(), name="search jobs") for _ in range(AT_ONCE)]
        try:
            while True:
                with suppress(StorageError):  # the next sweep tries again; reads skip expired jobs
                    await self._store.expire(now_ms() - KEEP_MS)
                await asyncio.sleep(_SWEEP_SECONDS)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)

    async def _work(self) -> None:
        while True:
            self._added.clear()
            try:
                async with self._claiming:  # so that what the other loop claims is among these
                    job = await self._store.claim(now_ms(), [*self._running, *self._left])
                    if job is not None:
                        task = asyncio.create_task(self._do(job), name=f"search job {job.id}")
                        self._running[job.id] = task
            except Exception as error:
                if isinstance(error, StorageError):
                    log.warning("search jobs wait: %s", error)
                else:  # a row that cannot be read must not end this loop
                    log.exception("search jobs wait")
                with suppress(TimeoutError):
                    async with asyncio.timeout(RETRY_SECONDS):
                        await self._added.wait()
                continue
            if job is None:
                await self._added.wait()
                continue
            self._added.set()  # there may be another one for the other loop
            try:
                await task
            except asyncio.CancelledError:
                if job.id not in self._cancelled:  # the worker stops: the next start resumes it
                    task.cancel()
                    raise
            except StoreAway as error:
                log.warning("search job %s waits for the server: %s", job.id, error)
            except StorageError as error:
                # Its state could not be written either; the next start runs it again.
                log.error("search job %s waits for the next start: %s", job.id, error)
                self._left.add(job.id)
            except Exception:
                log.exception("search job %s waits for the next start", job.id)
                self._left.add(job.id)
            finally:
                self._running.pop(job.id, None)
                self._cancelled.discard(job.id)

    async def _do(self, job: SearchJob) -> None:
        if job.id in self._cancelled:
            return
        try:
            reply = await self._answer(job)
        except StorageError:
            raise
        except MemSearchError as error:
            await self._end(job, "failed", error=error.message)
        except Exception as error:
            # A bug in one search must not end the queue; it is logged and reported.
            log.exception("search job %s failed", job.id)
            await self._end(job, "failed", error=f"internal error: {type(error).__name__}")
        else:
            try:
                await self._end(job, "completed", reply=reply)
            except Conflict as error:
                await self._end(job, "failed", error=error.message)

    async def _answer(self, job: SearchJob) -> UniversalSearchResponse:
        await self._report(job, 0)
        page, step = await self._research.search(load(job.request), job.surface, operation=job.id)
        await self._report(job, 1)
        flags = tuple(job.request["flags"])
        return UniversalSearchResponse.of(page, job.request["base"], step, flags)

    async def _report(self, job: SearchJob, done: int) -> None:
        await self._store.report_progress(job.id, _STEPS[done], done, len(_STEPS))

    async def _end(
        self,
        job: SearchJob,
        status: SearchJobStatus,
        *,
        reply: UniversalSearchResponse | None = None,
        error: str = "",
    ) -> bool:
        """Store the outcome and, in the same transaction, its webhook message."""
        result, records = None, list[int]()
        if reply is not None:
            records = [int(item.id.rpartition(":")[2]) for item in reply.items]
            result = (await asyncio.to_thread(to_json, reply)).decode()
        at = now_ms()
        message = None
        if job.webhook_url and status != "cancelled":
            await secret_rules.ready()
            summary = _summary(job, status, at, reply, error)
            message = new_message(f"search_job.{status}", job.webhook_url, at, summary)
        ended = await self._store.finish_and_notify(
            job.id, status, at, result=result, error=error, message=message,
            records=records,
        )  # fmt: skip
        self._deliveries.wake()
        return ended

    async def _with_deliveries(self, jobs: list[SearchJob]) -> list[JobWithDelivery]:
        wanted = [job.delivery_id for job in jobs if job.delivery_id]
        deliveries = await self._deliveries.fetch(wanted)
        return [JobWithDelivery(job, deliveries.get(job.delivery_id or "")) for job in jobs]


def _summary(
    job: SearchJob,
    status: SearchJobStatus,
    at: int,
    reply: UniversalSearchResponse | None,
    error: str,
) -> dict[str, Any]:
    """The webhook message: that the job has ended, and the URL of its result.

    Results are private, so the receiver has to fetch them with a token.
    """
    return {
        "job_id": job.id,
        "status": status,
        "query": redacted_text(job.request),
        "total_count": None if reply is None else reply.total_count,
        "error_message": error or None,
        "created_at": dates.iso(job.created_at),
        "completed_at": dates.iso(at),
        "result_url": f"{job.request['base']}/api/v1/search/jobs/{job.id}",
    }
