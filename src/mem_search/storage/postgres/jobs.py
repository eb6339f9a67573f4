"""Jobs, and what else the workers of a store share: each claims what it does, so that no other one
does it too. The state of a job is written at every step, so that a restart knows where it stood.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from mem_search.model.ingest import SO_FAR
from mem_search.model.jobs import TRIED, JobState, JobStatus
from mem_search.model.webhooks import Delivery
from mem_search.storage.postgres.connection import Connection, Jsonb
from mem_search.storage.postgres.workers import HERE
from mem_search.storage.sql import deliveries
from mem_search.storage.sql.connection import FREE, MINE, Repository, reads, writes_beside
from mem_search.storage.sql.deliveries import StoredDeliveries
from mem_search.text.dates import now_ms

_JOB = "id, name, params, state, done, total, message, result, created_at, started_at, ended_at"


class PostgresJobs(Repository):
    """``ports.JobStore`` over the table ``jobs``."""

    @writes_beside
    def create(
        self,
        connection: Connection,
        job: str,
        name: str,
        params: Mapping[str, Any],
        *,
        anywhere: bool = False,
    ) -> None:
        connection.execute(
            "insert into jobs(id, name, params, state, created_at, home) values(%s, %s, %s,"
            " 'queued', %s, case when %s then '' else current_setting('mem_search.home') end)",
            (job, name, Jsonb(params), now_ms(), anywhere),
        )

    @writes_beside
    def claim(
        self,
        connection: Connection,
        names: Collection[str],
        left: Collection[str] = (),
        lanes: Collection[str] = (),
    ) -> JobState | None:
        row = connection.maybe(
            f"update jobs set state = 'running', worker = {MINE}, started_at = %s"
            " where id = (select id from jobs where state in ('queued', 'running')"
            f" and name = any(%s) and id != all(%s) and {HERE} and {FREE}"
            " and name || ':' || coalesce(params ->> 'source', '') != all(%s)"
            f" order by seq limit 1 for update skip locked) returning {_JOB}",
            (now_ms(), list(names), list(left), list(lanes)),
        )
        return JobState(*row) if row else None

    @writes_beside
    def claim_aside(self, connection: Connection, names: Collection[str]) -> JobState | None:
        row = connection.maybe(
            f"update jobs set state = 'running', worker = {MINE}, started_at = %(now)s,"
            " message = '', result = '{}', done = 0, total = 0, ended_at = null,"
            " params = params || %(tried)s where id = (select id from jobs"
            " where state = 'set_aside' and name = any(%(names)s)"
            " and home = current_setting('mem_search.home') and not params ? %(key)s"
            f" order by seq limit 1 for update skip locked) returning {_JOB}",
            {"now": now_ms(), "tried": Jsonb({TRIED: 1}), "key": TRIED, "names": list(names)},
        )
        return JobState(*row) if row else None

    @writes_beside
    def report_progress(
        self, connection: Connection, job: str, done: int, total: int, message: str
    ) -> bool:
        return bool(
            connection.execute(
                "update jobs set done = %s, total = %s, message = %s where id = %s"
                f" and state = 'running' and worker = {MINE}",
                (done, total, message, job),
            ).rowcount
        )

    @writes_beside
    def note_result(self, connection: Connection, job: str, result: Mapping[str, Any]) -> None:
        connection.execute("update jobs set result = %s where id = %s", (Jsonb(result), job))

    @writes_beside
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
            "update jobs set state = %s, message = %s, ended_at = %s, worker = null,"
            " result = case when %s then '{}'::jsonb else result end || %s"
            f" where id = %s and state in ('queued', 'running') and (%s or {FREE})",
            (
                state,
                message,
                now_ms(),
                state == "done",
                Jsonb(result),
                job,
                state == "cancelled",
            ),
        )

    @writes_beside
    def queue_again(self, connection: Connection, job: str, params: Mapping[str, Any]) -> None:
        connection.execute(
            "update jobs set state = 'queued', params = %s, message = '',"
            f" result = jsonb_strip_nulls(jsonb_build_object('{SO_FAR}', result -> '{SO_FAR}')),"
            " ended_at = null, worker = null,"
            " home = case home when '' then '' else current_setting('mem_search.home') end"
            " where id = %s",
            (Jsonb(params), job),
        )

    @reads
    def get(self, connection: Connection, job: str) -> JobState | None:
        row = connection.maybe(f"select {_JOB} from jobs where id = %s", (job,))
        return JobState(*row) if row else None

    @reads
    def newest(
        self, connection: Connection, limit: int, state: JobStatus | None = None
    ) -> list[JobState]:
        rows = connection.execute(
            f"select {_JOB} from jobs where %(state)s::text is null or state = %(state)s"
            " order by created_at desc, id limit %(limit)s",
            {"state": state, "limit": limit},
        )
        return [JobState(*row) for row in rows]

    @reads
    def unfinished(self, connection: Connection, *, here: bool = False) -> list[JobState]:
        rows = connection.execute(
            f"select {_JOB} from jobs where state in ('queued', 'running')"
            f" and (not %s or home = current_setting('mem_search.home') and {FREE}) order by seq",
            (here,),
        )
        return [JobState(*row) for row in rows]

    @writes_beside
    def expire(self, connection: Connection, before: int) -> int:
        return connection.execute(
            "delete from jobs where ended_at < %s and state != 'set_aside'", (before,)
        ).rowcount


class ClaimedDeliveries(StoredDeliveries):
    """Webhook messages."""

    @writes_beside
    def claim(
        self, connection: Connection, deliveries_: Sequence[str], now: int
    ) -> dict[str, Delivery]:
        rows = connection.execute(
            f"update webhook_deliveries set worker = {MINE} where id in"
            " (select id from webhook_deliveries where id = any(%s::text[])"
            f" and state = 'pending' and next_at <= %s and {FREE} for update skip locked)"
            f" returning {deliveries.COLUMNS}",
            (list(deliveries_), now),
        )
        return {row[0]: Delivery(*row) for row in rows}
