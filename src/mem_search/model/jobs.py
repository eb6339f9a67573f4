"""Background work: the state of jobs. Times are in ms since 1970."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import ceil
from typing import Any, Final, Literal, get_args

from mem_search.model.ingest import IngestCounts, Location

MIN_RATE_SECONDS: Final = 1.0
"""Before, a rate says more about the start than about the work."""

JobStatus = Literal["queued", "running", "done", "failed", "cancelled", "set_aside"]
"""``set_aside``: two workers in a row died over the same item. An idle worker tries it once more,
then it waits until it is retried.
"""

JOB_STATES: Final = frozenset(get_args(JobStatus))

TRIED: Final = "tried_again"
"""The parameter of a job that was set aside and that a worker has tried once more by itself."""

DAMAGED: Final = "row_damaged"
"""A parameter of a job whose row in the store was damaged: nobody knows what it was to do."""

ENDED: tuple[JobStatus, ...] = ("done", "failed", "cancelled", "set_aside")


@dataclass(frozen=True, slots=True)
class Pace:
    """What a rate is measured from: at ``since``, ``base`` was done already.

    A job begins a new pace with each part of its work, which may have a unit of its own.
    """

    since: int
    base: int = 0

    def of(self, done: int, total: int, now: int) -> tuple[float | None, int | None]:
        """The rate in units a second, and the seconds left; None for what cannot be told yet."""
        fresh, elapsed = done - self.base, (now - self.since) / 1000
        if fresh <= 0 or elapsed < MIN_RATE_SECONDS:
            return None, None
        left = ceil(max(0, total - done) * elapsed / fresh) if total else None
        return round(fresh / elapsed, 3), left


@dataclass(frozen=True, slots=True)
class JobState:
    """A job. ``done`` of ``total`` is in the job's own unit; ``total`` is 0 while unknown.

    ``pace`` is that of a running job.
    """

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
    pace: Pace | None = None


SO_FAR = "so_far"
"""What a job has read, in its result until it is done: source and path → ``IngestCounts``."""


def counted_of(result: Mapping[str, Any], location: Location) -> IngestCounts:
    """What the job with this ``result`` has read of the location so far."""
    known = result.get(SO_FAR, {}).get(f"{location.source} {location.path}", {})
    return IngestCounts(**known)


def with_counted(
    result: Mapping[str, Any], location: Location, counts: IngestCounts
) -> dict[str, Any]:
    """``result`` after a batch of the location with ``counts``."""
    sums = asdict(counted_of(result, location) + counts)
    return {
        **result,
        SO_FAR: {**result.get(SO_FAR, {}), f"{location.source} {location.path}": sums},
    }
