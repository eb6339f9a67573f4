"""The state of jobs: written at every step, so that a restart knows where each one stood."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from mem_search.model.ingest import SO_FAR
from mem_search.model.jobs import JOB_STATES, TRIED, JobState, JobStatus
from mem_search.storage.sql.connection import Repository, reads, writes
from mem_search.storage.sqlite.database import Connection
from mem_search.text.dates import now_ms

_COLUMNS = "id, name, params, state, done, total, message, result, created_at, started_at, ended_at"

_TOGETHER_MS = 1000
"""A clock that was set back by more is believed."""


class SqliteJobs(Repository):
    """``ports.JobStore`` over the table ``jobs``."""

    @writes
    def create(
        self,
        connection: Connection,
        job: str,
        name: str,
        params: Mapping[str, Any],
        *,
        anywhere: bool = False,
    ) -> None:
        # Jobs run in the order in which they came, also those of one millisecond.
        connection.execute(
            "insert into jobs(id, name, params, state, created_at) select ?1, ?2, ?3, 'queued',"
            " coalesce(max(created_at) + 1, ?4) from jobs where created_at between ?4 and ?4 + ?5",
            (job, name, json.dumps(params), now_ms(), _TOGETHER_MS),
        )

    @writes
    def claim(
        self,
        connection: Connection,
        names: Collection[str],
        left: Collection[str] = (),
        lanes: Collection[str] = (),
    ) -> JobState | None:
        # One worker runs these, and leaves out those that it runs: another is of a dead one.
        row = connection.execute(
            "update jobs set state = 'running', started_at = ? where id ="
            " (select id from jobs where state in ('queued', 'running')"
            " and name in (select value from json_each(?))"
            " and id not in (select value from json_each(?))"
            " and name || ':' || coalesce(json_extract(params, '$.source'), '')"
            " not in (select value from json_each(?)) order by created_at, id limit 1)"
            f" returning {_COLUMNS}",
            (now_ms(), *(json.dumps(list(each)) for each in (names, left, lanes))),
        ).fetchone()
        return _state(row) if row else None

    @writes
    def claim_aside(self, connection: Connection, names: Collection[str]) -> JobState | None:
        row = connection.execute(
            "update jobs set state = 'running', started_at = ?, message = '', result = '{}',"
            f" done = 0, total = 0, ended_at = null, params = json_set(params, '$.{TRIED}', 1)"
            " where id = (select id from jobs where state = 'set_aside'"
            " and name in (select value from json_each(?))"
            f" and json_extract(params, '$.{TRIED}') is null order by created_at, id limit 1)"
            f" returning {_COLUMNS}",
            (now_ms(), json.dumps(list(names))),
        ).fetchone()
        return _state(row) if row else None

    @writes
    def report_progress(
        self, connection: Connection, job: str, done: int, total: int, message: str
    ) -> bool:
        return bool(
            connection.execute(
                "update jobs set done = ?, total = ?, message = ?"
                " where id = ? and state = 'running'",
                (done, total, message, job),
            ).rowcount
        )

    @writes
    def note_result(self, connection: Connection, job: str, result: Mapping[str, Any]) -> None:
        connection.execute("update jobs set result = ? where id = ?", (json.dumps(result), job))

    @writes
    def finish(
        self,
        connection: Connection,
        job: str,
        state: JobStatus,
        message: str,
        result: Mapping[str, Any],
    ) -> None:
        connection.execute(
            # What was read so far stays with a job that may be retried.
            "update jobs set state = ?1, message = ?2,"
            " result = case ?1 when 'done' then ?3 else json_patch(result, ?3) end, ended_at = ?4"
            " where id = ?5 and state in ('queued', 'running')",
            (state, message, json.dumps(result), now_ms(), job),
        )

    @writes
    def queue_again(self, connection: Connection, job: str, params: Mapping[str, Any]) -> None:
        connection.execute(
            "update jobs set state = 'queued', params = ?, message = '', ended_at = null,"
            f" result = case when json_type(result, '$.{SO_FAR}') is null then '{{}}'"
            f" else json_object('{SO_FAR}', json_extract(result, '$.{SO_FAR}')) end where id = ?",
            (json.dumps(params), job),
        )

    @reads
    def get(self, connection: Connection, job: str) -> JobState | None:
        row = connection.execute(f"select {_COLUMNS} from jobs where id = ?", (job,)).fetchone()
        return _state(row) if row else None

    @reads
    def newest(
        self, connection: Connection, limit: int, state: JobStatus | None = None
    ) -> list[JobState]:
        rows = connection.execute(
            f"select {_COLUMNS} from jobs where (?1 is null or state = ?1)"
            " order by created_at desc, id limit ?2",
            (state, limit),
        )
        return [_state(row) for row in rows]

    @reads
    def unfinished(self, connection: Connection, *, here: bool = False) -> list[JobState]:
        rows = connection.execute(
            f"select {_COLUMNS} from jobs where state in ('queued', 'running')"
            " order by created_at, id"
        )
        return [_state(row) for row in rows]

    @writes
    def expire(self, connection: Connection, before: int) -> int:
        return connection.execute(
            "delete from jobs where ended_at < ? and state != 'set_aside'", (before,)
        ).rowcount


def _state(row: tuple[Any, ...]) -> JobState:
    """Raises ValueError for a row that is none, which ``odd_rows`` puts right."""
    job, name, params, state, done, total, message, result, created, started, ended = row
    given, so_far = json.loads(params), json.loads(result)
    numbers = (done, total, created, started or 0, ended or 0)
    if (
        not all(isinstance(each, int) for each in numbers)
        or not all(isinstance(each, str) for each in (job, name, message))
        or not (isinstance(given, dict) and isinstance(so_far, dict) and state in JOB_STATES)
    ):
        raise ValueError("a row of jobs is none")
    return JobState(
        id=job,
        name=name,
        params=given,
        state=state,
        done=done,
        total=total,
        message=message,
        result=so_far,
        created_at=created,
        started_at=started,
        ended_at=ended,
    )
