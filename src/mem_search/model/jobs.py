"""Background work: the state of jobs and of background searches. Times are in ms since 1970."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

JobStatus = Literal["queued", "running", "done", "failed", "cancelled", "set_aside"]
"""``set_aside``: two workers in a row died over the same item; it waits until it is retried."""

ENDED: tuple[JobStatus, ...] = ("done", "failed", "cancelled", "set_aside")


@dataclass(frozen=True, slots=True)
class JobState:
    """A job. ``done`` of ``total`` is in the job's own unit; ``total`` is 0 while unknown."""

    id: str
    name: str
    params: Mapping[str, Any]
    state: JobStatus
    done: int
    total: int
    message: str
    result: Mapping[str, Any]
    created_at: int
    started_at: int | None
    ended_at: int | None


SearchJobStatus = Literal["pending", "running", "completed", "failed", "cancelled"]


UNFINISHED: tuple[SearchJobStatus, ...] = ("pending", "running")


@dataclass(frozen=True, slots=True)
class SearchJob:
    """A background search. ``done`` of ``total`` steps are done, ``step`` is the current one.

    ``result`` is the reply as JSON text, as a search in the foreground would have sent it.
    """

    id: str
    status: SearchJobStatus
    request: Mapping[str, Any]
    surface: str
    webhook_url: str
    delivery_id: str | None
    step: str
    done: int
    total: int
    result: str | None
    error: str
    created_at: int
    started_at: int | None
    completed_at: int | None
