"""Ports for activity: jobs, research, saved searches, scopes, tokens, the search log.

Times are milliseconds since 1970.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from mem_search.model.jobs import JobState, JobStatus
from mem_search.model.requests import Scope
from mem_search.model.statistics import AskedQuery, LoggedSearch
from mem_search.model.webhooks import Delivery, DeliveryState


class JobStore(Protocol):
    """The state of jobs, written at every step, so that a restart knows where each one was.

    A store may have several workers. A job that one claimed is its own until it ends, or until that
    worker is dead.
    """

    async def create(
        self, job: str, name: str, params: Mapping[str, Any], *, anywhere: bool = False
    ) -> None:
        """Add a job in the state "queued": for a worker of this home, or for one ``anywhere``."""
        ...

    async def claim(
        self, names: Collection[str], left: Collection[str] = (), lanes: Collection[str] = ()
    ) -> JobState | None:
        """The oldest job of these names that waits, or that a dead worker was running.

        It is running now. Jobs with an id in ``left`` are passed over, and those whose name and
        parameter ``source`` are one of the ``lanes``, as ``import:files``. None when there is none.
        """
        ...

    async def claim_aside(self, names: Collection[str]) -> JobState | None:
        """The oldest job of these names and this home that was set aside; each only once.

        It is running now. None when there is none, or each one was claimed so before.
        """
        ...

    async def report_progress(self, job: str, done: int, total: int, message: str) -> bool:
        """False, without any change, when the job has ended or is another worker's by now."""
        ...

    async def note_result(self, job: str, result: Mapping[str, Any]) -> None:
        """The work of the running job is done, with this result; it has not ended yet."""
        ...

    async def finish(
        self, job: str, state: JobStatus, message: str, result: Mapping[str, Any]
    ) -> None:
        """End the job, unless it has ended or, except for "cancelled", is another worker's."""
        ...

    async def get(self, job: str) -> JobState | None: ...

    async def newest(self, limit: int, state: JobStatus | None = None) -> list[JobState]:
        """The newest jobs, of all states or of one."""
        ...

    async def queue_again(self, job: str, params: Mapping[str, Any]) -> None:
        """The ended job is in the state "queued" again, with other parameters."""
        ...

    async def unfinished(self, *, here: bool = False) -> list[JobState]:
        """Jobs that have not ended, also those that a former worker was running; oldest first.

        ``here``: only those of this home that no living worker is running.
        """
        ...

    async def expire(self, before: int) -> int:
        """Delete jobs that ended before, except those set aside; returns how many."""
        ...


class DeliveryStore(Protocol):
    """Queued webhook messages."""

    async def due(self, now: int) -> list[tuple[str, str]]:
        """(id, url) of messages that are due, the longest waiting first."""
        ...

    async def claim(self, deliveries: Sequence[str], now: int) -> dict[str, Delivery]:
        """Those of these messages that are due and no other living worker is sending.

        They are this worker's until ``retry_later`` or ``finish``.
        """
        ...

    async def next_at(self, now: int) -> int | None:
        """When the next message becomes due; None when there is none."""
        ...

    async def retry_later(
        self, delivery: str, *, status: int | None, error: str, again_at: int
    ) -> None:
        """The attempt failed; the next one is at ``again_at``."""
        ...

    async def finish(
        self, delivery: str, state: DeliveryState, *, status: int | None, error: str, at: int
    ) -> None:
        """The message was accepted or given up; store its final state."""
        ...

    async def fetch(self, deliveries: Sequence[str]) -> dict[str, Delivery]:
        """The existing messages among these ids."""
        ...

    async def expire(self, before: int) -> int:
        """Delete messages that ended before; returns how many."""
        ...


class ScopeStore(Protocol):
    """Filters with a name; upper and lower case name the same scope."""

    async def put(self, scope: Scope) -> Scope:
        """Store the scope; an existing one keeps its spelling and its time."""
        ...

    async def get(self, name: str) -> Scope | None: ...

    async def listed(self) -> list[Scope]:
        """All scopes by name."""
        ...

    async def remove(self, name: str) -> bool:
        """Delete a scope; False when there was none."""
        ...


class SearchLogStore(Protocol):
    """The newest ten thousand searches; queries that differ in case or filters only are equal."""

    async def add(self, searches: Sequence[LoggedSearch]) -> None:
        """Store searches and drop the oldest beyond the limit."""
        ...

    async def popular(self, limit: int, since: int | None = None) -> list[AskedQuery]:
        """The most frequent queries."""
        ...

    async def without_results(self, limit: int, since: int | None = None) -> list[AskedQuery]:
        """Queries that found nothing when they were last asked with each of their filters."""
        ...

    async def slow(self, limit: int, since: int | None = None) -> list[LoggedSearch]:
        """The searches that took longest."""
        ...

    async def clear(self) -> int:
        """Empty the log; returns how many searches it had."""
        ...
