"""What a job is in replies, and the reply to a request that starts one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from aiohttp import web

from mem_search.http.access.rate_limits import check_jobs
from mem_search.http.core.replies import json_reply
from mem_search.http.core.routing import Call
from mem_search.model.jobs import JobState, JobStatus, Pace
from mem_search.renderers.projection import projected
from mem_search.renderers.schema import Absent, Count, Time, schema
from mem_search.text.dates import now_ms


@schema
class Job:
    """A job. `done` of `total` are in its own unit; `total` is 0 until it is known.

    A running job has a `rate`, in units a second, and about `seconds_left`, as soon as both can be
    told.
    """

    id: str
    name: str
    params: dict[str, Any]
    state: JobStatus
    done: Count
    total: Count
    message: str
    result: dict[str, Any]
    created_at: Time
    started_at: Time | None
    ended_at: Time | None
    rate: Absent[float] = None
    seconds_left: Absent[int] = None

    @classmethod
    def of(cls, job: JobState, now: int | None = None) -> Self:
        """The job as of ``now``, in ms since 1970."""
        rate = seconds_left = None
        if job.state == "running" and job.pace is not None:
            now = now_ms() if now is None else now
            rate, seconds_left = job.pace.of(job.done, job.total, now)
        return projected(
            cls,
            job,
            rate=rate,
            seconds_left=seconds_left,
        )


@schema
class Embedding:
    """Passages that get vectors: `done` of `total` since there were last none to embed.

    `error` says why it does not go on.
    """

    done: Count
    total: Count
    rate: Absent[float] = None
    seconds_left: Absent[int] = None
    error: Absent[str] = None

    @classmethod
    def of(cls, pace: Pace | None, done: int, waiting: int, error: str) -> Self:
        """``waiting`` passages have no vector yet; ``done`` have got theirs in this ``pace``."""
        total = done + waiting
        rate, left = (None, None) if pace is None or error else pace.of(done, total, now_ms())
        return cls(done=done, total=total, rate=rate, seconds_left=left, error=error or None)


@schema
class Jobs:
    """Jobs, newest first. `embedding` is there while passages wait for their vectors."""

    jobs: list[Job]
    embedding: Absent[Embedding] = None


@schema
class SubmittedJob:
    """The id of a job that was accepted; `GET /api/jobs/{id}` shows its progress."""

    job: str


NDJSON = "application/x-ndjson"


async def submitted(call: Call, name: str, params: Mapping[str, Any]) -> web.StreamResponse:
    """Queue a job; 202 with its id. Raises LimitReached."""
    await check_jobs(call.request, call.runtime)
    job = await call.runtime.ingest.jobs.submit(name, params)
    reply = json_reply(SubmittedJob(job=job), status=202)
    reply.headers["Location"] = f"/api/jobs/{job}"
    return reply
