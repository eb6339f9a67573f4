"""Jobs, background searches and webhook messages: written at every step, so that a restart knows
where each one stood.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from mem_search.model.ingest import SO_FAR
from mem_search.model.jobs import TRIED, JobState, JobStatus, SearchJob, SearchJobStatus
from mem_search.model.saved_searches import Delivery, DeliveryState, Message
from mem_search.storage.postgres.connection import Connection, Jsonb
from mem_search.storage.postgres.database import Repository, reads, writes_beside
from mem_search.storage.postgres.workers import FREE, HERE, MINE
from mem_search.text.dates import now_ms

_JOB = "id, name, params, state, done, total, message, result, created_at, started_at, ended_at"
_SEARCH_JOB = (
    "id, status, request, surface, webhook_url, delivery_id, step, done, total,"
    " {result}, error, created_at, started_at, completed_at"
)
_DELIVERY = "id, event, url, body, state, attempts, next_at, status, error, created_at, ended_at"


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


class PostgresSearchJobs(Repository):
    """``ports.SearchJobStore`` over the table ``search_jobs``."""

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
        if most:
            # Two workers that count at once must not both find room for the last one.
            connection.execute("select 1 from stores for update")
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
            (job, Jsonb(request), surface, webhook_url, at),
        )
        return True

    @writes_beside
    def claim(
        self, connection: Connection, at: int, running: Collection[str] = ()
    ) -> SearchJob | None:
        row = connection.maybe(
            f"update search_jobs set status = 'running', worker = {MINE}, started_at = %s,"
            " step = '', done = 0 where id = (select id from search_jobs"
            " where status in ('pending', 'running') and id != all(%s)"
            f" and {FREE} order by seq limit 1 for update skip locked)"
            f" returning {_SEARCH_JOB.format(result='result')}",
            (at, list(running)),
        )
        return SearchJob(*row) if row else None

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
    ) -> bool:
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
            add_delivery(connection, message)
        return bool(ended)

    @reads
    def get(self, connection: Connection, job: str, ended_after: int) -> SearchJob | None:
        row = connection.maybe(
            f"select {_SEARCH_JOB.format(result='result')} from search_jobs where id = %s"
            " and (completed_at is null or completed_at > %s)",
            (job, ended_after),
        )
        return SearchJob(*row) if row else None

    @reads
    def newest(
        self, connection: Connection, ended_after: int, status: str, limit: int, offset: int
    ) -> tuple[list[SearchJob], int]:
        wanted = (
            "from search_jobs where (completed_at is null or completed_at > %(after)s)"
            " and %(status)s in ('', status)"
        )
        values = {"after": ended_after, "status": status, "limit": limit, "offset": offset}
        total = connection.count(f"select count(*) {wanted}", values)
        rows = connection.execute(
            f"select {_SEARCH_JOB.format(result='null')} {wanted}"
            " order by seq desc limit %(limit)s offset %(offset)s",
            values,
        )
        return [SearchJob(*row) for row in rows], total

    @reads
    def unfinished(self, connection: Connection) -> list[str]:
        return connection.column(
            "select id from search_jobs where status in ('pending', 'running') order by seq"
        )

    @writes_beside
    def delete(self, connection: Connection, job: str) -> None:
        connection.execute("delete from search_jobs where id = %s", (job,))

    @writes_beside
    def expire(self, connection: Connection, before: int) -> int:
        return connection.execute(
            "delete from search_jobs where completed_at <= %s", (before,)
        ).rowcount


class PostgresDeliveries(Repository):
    """``ports.DeliveryStore`` over the table ``webhook_deliveries``."""

    @reads
    def due(self, connection: Connection, now: int) -> list[tuple[str, str]]:
        rows = connection.execute(
            "select id, url from webhook_deliveries where state = 'pending' and next_at <= %s"
            " order by next_at, created_at, id",
            (now,),
        )
        return [(delivery, url) for delivery, url in rows]

    @writes_beside
    def claim(
        self, connection: Connection, deliveries: Sequence[str], now: int
    ) -> dict[str, Delivery]:
        rows = connection.execute(
            f"update webhook_deliveries set worker = {MINE} where id in"
            " (select id from webhook_deliveries where id = any(%s::text[])"
            f" and state = 'pending' and next_at <= %s and {FREE} for update skip locked)"
            f" returning {_DELIVERY}",
            (list(deliveries), now),
        )
        return {row[0]: Delivery(*row) for row in rows}

    @reads
    def next_at(self, connection: Connection, now: int) -> int | None:
        (at,) = connection.one(
            "select min(next_at) from webhook_deliveries where state = 'pending' and next_at > %s",
            (now,),
        )
        return None if at is None else int(at)

    @writes_beside
    def retry_later(
        self,
        connection: Connection,
        delivery: str,
        *,
        status: int | None,
        error: str,
        again_at: int,
    ) -> None:
        connection.execute(
            "update webhook_deliveries set attempts = attempts + 1, status = %s, error = %s,"
            " next_at = %s, worker = null where id = %s and state = 'pending'",
            (status, error, again_at, delivery),
        )

    @writes_beside
    def finish(
        self,
        connection: Connection,
        delivery: str,
        state: DeliveryState,
        *,
        status: int | None,
        error: str,
        at: int,
    ) -> None:
        connection.execute(
            "update webhook_deliveries set state = %s, attempts = attempts + 1, status = %s,"
            " error = %s, ended_at = %s, worker = null where id = %s and state = 'pending'",
            (state, status, error, at, delivery),
        )

    @reads
    def fetch(self, connection: Connection, deliveries: Sequence[str]) -> dict[str, Delivery]:
        rows = connection.execute(
            f"select {_DELIVERY} from webhook_deliveries where id = any(%s::text[])",
            (list(deliveries),),
        )
        return {row[0]: Delivery(*row) for row in rows}

    @writes_beside
    def expire(self, connection: Connection, before: int) -> int:
        return connection.execute(
            "delete from webhook_deliveries where ended_at < %s", (before,)
        ).rowcount


def add_delivery(connection: Connection, message: Message) -> None:
    """Queue ``message``, due at once, unless its id is queued already."""
    connection.execute(
        "insert into webhook_deliveries(id, event, url, body, next_at, created_at)"
        " values(%s, %s, %s, %s, %s, %s) on conflict do nothing",
        (message.id, message.event, message.url, message.body, message.created_at,
         message.created_at),
    )  # fmt: skip
