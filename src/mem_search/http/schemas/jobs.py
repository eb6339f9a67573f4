"""Replies about jobs: imports, syncs and work on the vector index."""

from __future__ import annotations

from typing import Any, Self

from mem_search.model.jobs import JobState, JobStatus
from mem_search.renderers.schema import Count, Time, schema


@schema
class Job:
    """A job. `done` of `total` are in its own unit; `total` is 0 until it is known."""

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

    @classmethod
    def of(cls, job: JobState) -> Self:
        return cls(
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
