"""Searches in the background: their state, written at every step, and their result for a day.

Times are milliseconds since 1970. ``result`` is the reply as JSON text, exactly as a search in
the foreground would have sent it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from mem_search.features.webhooks import sql as deliveries
from mem_search.model.webhooks import Message
from mem_search.storage.rules.quotes import check_held
from mem_search.storage.sql.connection import (
    FREE,
    MINE,
    Connection,
    Json,
    Repository,
    from_json,
    reads,
    writes_beside,
)

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


_BARE: Final = (
    "id, status, request, surface, webhook_url, delivery_id, step, done, total,"
    " {result}, error, created_at, started_at, completed_at"
)
_WHOLE: Final = _BARE.format(result="result")
_WITHOUT_RESULT: Final = _BARE.format(result="null")


class SearchJobStore(Repository):
    """The table ``search_jobs``."""

    @writes_beside
    def create(
        self,
        connection: Connection,
        job: str,
        request: Mapping[str, Any],
        *,
        surface: str,
        webhook_url: str,
        at: int,
        most: int,
    ) -> bool:
        """Add a job; False, without any change, when ``most`` are unfinished (0: no limit).

        Only jobs with the same ``budget`` in their ``request`` count.
        """
        if most:
            # Two workers that count at once must not both find room for the last one.
            connection.lock_store()
            unfinished = connection.count(
                "select count(*) from search_jobs where status in ('pending', 'running')"
                " and coalesce(request ->> 'budget', '') = %s",
                (request.get("budget", ""),),
            )
            if unfinished >= most:
                return False
        connection.execute(
            "insert into search_jobs(id, request, surface, webhook_url, created_at)"
            " values(%s, %s, %s, %s, %s)",
            (job, Json(request), surface, webhook_url, at),
        )
        return True

    @writes_beside
    def claim(
        self, connection: Connection, at: int, running: Collection[str] = ()
    ) -> SearchJob | None:
        """The oldest job that waits, or that a dead worker was running, and not one of ``running``.

        It is running now. None when there is none.
        """
        row = connection.maybe(
            f"update search_jobs set status = 'running', worker = {MINE}, started_at = %s,"
            " step = '', done = 0 where id = (select id from search_jobs"
            f" where status in ('pending', 'running') and id != all(%s) and {FREE}"
            f" order by seq limit 1 for update skip locked) returning {_WHOLE}",
            (at, list(running)),
        )
        return _search_job(row) if row else None

    @writes_beside
    def report_progress(
        self, connection: Connection, job: str, step: str, done: int, total: int
    ) -> None:
        connection.execute(
            "update search_jobs set step = %s, done = %s, total = %s where id = %s",
            (step, done, total, job),
        )

    @writes_beside
    def finish_and_notify(
        self,
        connection: Connection,
        job: str,
        status: SearchJobStatus,
        at: int,
        *,
        result: str | None = None,
        error: str = "",
        message: Message | None = None,
        records: Collection[int] = (),
    ) -> bool:
        """End the job and queue ``message`` in one transaction.

        False, without any change, when the job had ended already. Raises Conflict when one of the
        ``records`` in its result was forgotten while it ran.
        """
        held = connection.count(
            "select count(*) from records where id = any(%s::bigint[])", (list(records),)
        )
        check_held(held, records)
        ended = connection.execute(
            "update search_jobs set status = %(status)s, completed_at = %(at)s,"
            " result = %(result)s, error = %(error)s, delivery_id = %(delivery)s, step = '',"
            " done = case when %(status)s = 'completed' then total else done end"
            " where id = %(job)s and status in ('pending', 'running')",
            {
                "status": status,
                "at": at,
                "result": result,
                "error": error,
                "delivery": message.id if message else None,
                "job": job,
            },
        ).rowcount
        if ended and message is not None:
            deliveries.add(connection, message)
        return bool(ended)

    @reads
    def get(self, connection: Connection, job: str, ended_after: int) -> SearchJob | None:
        """The job, unless it ended at or before ``ended_after``: then it has expired."""
        row = connection.maybe(
            f"select {_WHOLE} from search_jobs where id = %s"
            " and (completed_at is null or completed_at > %s)",
            (job, ended_after),
        )
        return _search_job(row) if row else None

    @reads
    def newest(
        self, connection: Connection, ended_after: int, status: str, limit: int, offset: int
    ) -> tuple[list[SearchJob], int]:
        """A page of jobs without their results, the newest first, and how many there are."""
        wanted = (
            "from search_jobs where (completed_at is null or completed_at > %(after)s)"
            " and %(status)s in ('', status)"
        )
        values = {"after": ended_after, "status": status, "limit": limit, "offset": offset}
        total = connection.count(f"select count(*) {wanted}", values)
        rows = connection.execute(
            f"select {_WITHOUT_RESULT} {wanted}"
            " order by seq desc limit %(limit)s offset %(offset)s",
            values,
        )
        return [_search_job(row) for row in rows], total

    @reads
    def unfinished(self, connection: Connection) -> list[str]:
        """Jobs that wait, or that a former worker was running; oldest first."""
        return connection.column(
            "select id from search_jobs where status in ('pending', 'running') order by seq"
        )

    @writes_beside
    def delete(self, connection: Connection, job: str) -> None:
        connection.execute("delete from search_jobs where id = %s", (job,))

    @writes_beside
    def expire(self, connection: Connection, before: int) -> int:
        """Delete jobs that ended at or before; returns how many."""
        return connection.execute(
            "delete from search_jobs where completed_at <= %s", (before,)
        ).rowcount


def _search_job(row: Sequence[Any]) -> SearchJob:
    """A row of ``_WHOLE``."""
    job, status, request, *rest = row
    return SearchJob(job, status, from_json(request), *rest)
