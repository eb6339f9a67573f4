"""Searches in the background: their state, written at every step, and their result for a day.

Times are milliseconds since 1970. ``result`` is the reply as JSON text, exactly as a search in
the foreground would have sent it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

from mem_search.model.jobs import SearchJob, SearchJobStatus

_BARE = (
    "id, status, request, surface, webhook_url, delivery_id, step, done, total,"
    " {result}, error, created_at, started_at, completed_at"
)
_WHOLE = _BARE.format(result="result")
_WITHOUT_RESULT = _BARE.format(result="null")


def create(
    connection: sqlite3.Connection,
    job: str,
    request: Mapping[str, Any],
    *,
    surface: str,
    webhook_url: str,
    at: int,
    most: int,
) -> bool:
    """A new job; False, and nothing happens, when ``most`` are unfinished already (0: any)."""
    (unfinished,) = connection.execute(
        "select count(*) from search_jobs where status in ('pending', 'running')"
    ).fetchone()
    if most and unfinished >= most:
        return False
    connection.execute(
        "insert into search_jobs(id, request, surface, webhook_url, created_at)"
        " values(?, ?, ?, ?, ?)",
        (job, json.dumps(request), surface, webhook_url, at),
    )
    return True


def start(connection: sqlite3.Connection, job: str, at: int) -> bool:
    """It is being worked on; False when it has ended meanwhile."""
    return bool(
        connection.execute(
            "update search_jobs set status = 'running', started_at = ?, step = '', done = 0"
            " where id = ? and status in ('pending', 'running')",
            (at, job),
        ).rowcount
    )


def report(connection: sqlite3.Connection, job: str, step: str, done: int, total: int) -> None:
    """How far it is."""
    connection.execute(
        "update search_jobs set step = ?, done = ?, total = ? where id = ?",
        (step, done, total, job),
    )


def end(
    connection: sqlite3.Connection,
    job: str,
    status: SearchJobStatus,
    at: int,
    *,
    result: str | None = None,
    error: str = "",
    delivery: str | None = None,
) -> bool:
    """It has ended; False, and nothing happens, when it had already."""
    return bool(
        connection.execute(
            "update search_jobs set status = ?, completed_at = ?, result = ?, error = ?,"
            " delivery_id = ?, step = '', done = iif(? = 'completed', total, done)"
            " where id = ? and status in ('pending', 'running')",
            (status, at, result, error, delivery, status, job),
        ).rowcount
    )


def get(connection: sqlite3.Connection, job: str, ended_after: int) -> SearchJob | None:
    """The job, unless it ended before that: then it has expired."""
    row = connection.execute(
        f"select {_WHOLE} from search_jobs where id = ?"
        " and (completed_at is null or completed_at > ?)",
        (job, ended_after),
    ).fetchone()
    return _job(row) if row else None


def newest(
    connection: sqlite3.Connection, ended_after: int, status: str, limit: int, offset: int
) -> tuple[list[SearchJob], int]:
    """A page of jobs without their results, the newest first, and how many there are."""
    condition = "(completed_at is null or completed_at > ?)" + (" and status = ?" if status else "")
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


def unfinished(connection: sqlite3.Connection) -> list[str]:
    """Those that wait, or that a worker which is gone was at; the oldest first."""
    rows = connection.execute(
        "select id from search_jobs where status in ('pending', 'running') order by seq"
    )
    return [job for (job,) in rows]


def forget(connection: sqlite3.Connection, job: str) -> None:
    """Delete a job with its result."""
    connection.execute("delete from search_jobs where id = ?", (job,))


def expire(connection: sqlite3.Connection, before: int) -> int:
    """Drop what ended before; returns how many."""
    return connection.execute("delete from search_jobs where completed_at <= ?", (before,)).rowcount


def _job(row: tuple[Any, ...]) -> SearchJob:
    job, status, request, *rest = row
    return SearchJob(job, status, json.loads(request), *rest)
