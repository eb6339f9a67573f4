"""Searches in the background: their state, written at every step, and their result for a day.

Times are milliseconds since 1970. ``result`` is the reply as JSON text, exactly as a search in
the foreground would have sent it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from mem_search.model.jobs import SearchJob, SearchJobStatus
from mem_search.model.saved_searches import Message
from mem_search.storage.rules.quotes import check_held
from mem_search.storage.sqlite import webhook_deliveries
from mem_search.storage.sqlite.database import Connection, Repository, reads, writes

_BARE = (
    "id, status, request, surface, webhook_url, delivery_id, step, done, total,"
    " {result}, error, created_at, started_at, completed_at"
)
_WHOLE = _BARE.format(result="result")
_WITHOUT_RESULT = _BARE.format(result="null")


class SqliteSearchJobs(Repository):
    """``ports.SearchJobStore`` over the table ``search_jobs``."""

    @writes
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
        (unfinished,) = connection.execute(
            "select count(*) from search_jobs where status in ('pending', 'running')"
            " and coalesce(json_extract(request, '$.budget'), '') = ?",
            (request.get("budget", ""),),
        ).fetchone()
        if most and unfinished >= most:
            return False
        connection.execute(
            "insert into search_jobs(id, request, surface, webhook_url, created_at)"
            " values(?, ?, ?, ?, ?)",
            (job, json.dumps(request), surface, webhook_url, at),
        )
        return True

    @writes
    def claim(
        self, connection: Connection, at: int, running: Collection[str] = ()
    ) -> SearchJob | None:
        row = connection.execute(
            "update search_jobs set status = 'running', started_at = ?, step = '', done = 0"
            " where id = (select id from search_jobs where status in ('pending', 'running')"
            " and id not in (select value from json_each(?)) order by seq limit 1)"
            f" returning {_WHOLE}",
            (at, json.dumps(list(running))),
        ).fetchone()
        return _job(row) if row else None

    @writes
    def report_progress(
        self, connection: Connection, job: str, step: str, done: int, total: int
    ) -> None:
        connection.execute(
            "update search_jobs set step = ?, done = ?, total = ? where id = ?",
            (step, done, total, job),
        )

    @writes
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
        (held,) = connection.execute(
            "select count(*) from records where id in (select value from json_each(?))",
            (json.dumps(list(records)),),
        ).fetchone()
        check_held(held, records)
        ended = connection.execute(
            "update search_jobs set status = ?, completed_at = ?, result = ?, error = ?,"
            " delivery_id = ?, step = '', done = iif(? = 'completed', total, done)"
            " where id = ? and status in ('pending', 'running')",
            (status, at, result, error, message.id if message else None, status, job),
        ).rowcount
        if ended and message is not None:
            webhook_deliveries.add(connection, message)
        return bool(ended)

    @reads
    def get(self, connection: Connection, job: str, ended_after: int) -> SearchJob | None:
        row = connection.execute(
            f"select {_WHOLE} from search_jobs where id = ?"
            " and (completed_at is null or completed_at > ?)",
            (job, ended_after),
        ).fetchone()
        return _job(row) if row else None

    @reads
    def newest(
        self, connection: Connection, ended_after: int, status: str, limit: int, offset: int
    ) -> tuple[list[SearchJob], int]:
        condition = "(completed_at is null or completed_at > ?)" + (
            " and status = ?" if status else ""
        )
        values = (ended_after, *((status,) if status else ()))
        (total,) = connection.execute(
            f"select count(*) from search_jobs where {condition}", values
        ).fetchone()
        rows = connection.execute(
            f"select {_WITHOUT_RESULT} from search_jobs where {condition}"
            " order by seq desc limit ? offset ?",
            (*values, limit, offset),
        )
        return [_job(row) for row in rows], total

    @reads
    def unfinished(self, connection: Connection) -> list[str]:
        rows = connection.execute(
            "select id from search_jobs where status in ('pending', 'running') order by seq"
        )
        return [job for (job,) in rows]

    @writes
    def delete(self, connection: Connection, job: str) -> None:
        connection.execute("delete from search_jobs where id = ?", (job,))

    @writes
    def expire(self, connection: Connection, before: int) -> int:
        return connection.execute(
            "delete from search_jobs where completed_at <= ?", (before,)
        ).rowcount


def _job(row: tuple[Any, ...]) -> SearchJob:
    job, status, request, *rest = row
    return SearchJob(job, status, json.loads(request), *rest)
