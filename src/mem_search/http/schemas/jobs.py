"""Replies about jobs: imports, syncs and work on the vector index."""

from __future__ import annotations

from math import ceil
from typing import Any, Final, Self

from mem_search.model.jobs import JobState, JobStatus
from mem_search.renderers.schema import Absent, Count, Time, schema
from mem_search.text.dates import now_ms

_LEAST_SECONDS: Final = 1.0
"""Before, a rate says more about the start than about the work."""


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
        if job.state == "running" and job.done and job.started_at is not None:
            elapsed = ((now_ms() if now is None else now) - job.started_at) / 1000
            if elapsed >= _LEAST_SECONDS:
                rate = round(job.done / elapsed, 3)
                left = max(0, job.total - job.done)
                seconds_left = ceil(left * elapsed / job.done) if job.total else None
        return cls(
            rate=rate,
            seconds_left=seconds_left,
            id=job.id,
            name=job.name,
            params=dict(job.params),
            state=job.state,
            done=job.done,
            total=job.total,
            message=job.message,
            result=dict(job.result),
            created_at=job.created_at,
            started_at=job.started_at,
            ended_at=job.ended_at,
        )


@schema
class Jobs:
    """Jobs, newest first."""

    jobs: list[Job]


@schema
class SubmittedJob:
    """The id of a job that was accepted; `GET /api/jobs/{id}` shows its progress."""

    job: str


@schema
class SourceLocation:
    """A location that a source reads."""

    source: str
    path: str


@schema
class Unfollowed:
    """The location that is no longer read."""

    unfollowed: SourceLocation
