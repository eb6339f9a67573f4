"""The state of jobs: written at every step, so that a restart knows where each one stood."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar, Final

from mem_search.model.jobs import JOB_STATES, SO_FAR, TRIED, JobState, JobStatus
from mem_search.storage.sql.connection import (
    FREE,
    HERE,
    MINE,
    OWN_HOME,
    Connection,
    Json,
    Repository,
    from_json,
    reads,
    writes_beside,
)
from mem_search.text.dates import now_ms, stored_time

_COLUMNS: Final = (
    "id, name, params, state, done, total, message, result, created_at, started_at, ended_at"
)


class StoredJobs(Repository):
    """The state of jobs, written at every step, so that a restart knows where each one was.

    A store may have several workers. A job that one claimed is its own until it ends, or until that
    worker is dead.
    """

    order: ClassVar = "seq"
    added: ClassVar = (
        "insert into jobs(id, name, params, state, created_at, home)"
        " values(%(job)s, %(name)s, %(params)s, 'queued', %(now)s,"
        " case when %(anywhere)s then '' else current_setting('mem_search.home') end)"
    )
    """Adds a job."""

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
        """Add a job in the state "queued": for a worker of this home, or for one ``anywhere``."""
        connection.execute(
            self.added,
            {"job": job, "name": name, "params": Json(params), "now": now_ms(),
             "anywhere": anywhere},
        )  # fmt: skip

    @writes_beside
    def claim(
        self,
        connection: Connection,
        names: Collection[str],
        left: Collection[str] = (),
        lanes: Collection[str] = (),
    ) -> JobState | None:
        """The oldest job of these names that waits, or that a dead worker was running.

        It is running now. Jobs with an id in ``left`` are passed over, and those whose name and
        parameter ``source`` are one of the ``lanes``, as ``import:files``. None when there is none.
        """
        row = connection.maybe(
            f"update jobs set state = 'running', worker = {MINE}, started_at = %s"
            " where id = (select id from jobs where state in ('queued', 'running')"
            f" and name = any(%s) and id != all(%s) and {HERE} and {FREE}"
            " and name || ':' || coalesce(params ->> 'source', '') != all(%s)"
            f" order by {self.order} limit 1 for update skip locked) returning {_COLUMNS}",
            (now_ms(), list(names), list(left), list(lanes)),
        )
        return _state(row) if row else None

    @writes_beside
    def claim_aside(self, connection: Connection, names: Collection[str]) -> JobState | None:
        """The oldest job of these names and this home that was set aside; each only once.

        It is running now. None when there is none, or each one was claimed so before.
        """
        row = connection.maybe(
            f"update jobs set state = 'running', worker = {MINE}, started_at = %s,"
            " message = '', result = '{}', done = 0, total = 0, ended_at = null,"
            " params = params || %s::jsonb where id = (select id from jobs"
            f" where state = 'set_aside' and name = any(%s) and {OWN_HOME}"
            f" and params ->> '{TRIED}' is null"
            f" order by {self.order} limit 1 for update skip locked) returning {_COLUMNS}",
            (now_ms(), Json({TRIED: 1}), list(names)),
        )
        return _state(row) if row else None

    @writes_beside
    def report_progress(
        self, connection: Connection, job: str, done: int, total: int, message: str
    ) -> bool:
        """False, without any change, when the job has ended or is another worker's by now."""
        return bool(
            connection.execute(
                "update jobs set done = %s, total = %s, message = %s where id = %s"
                f" and state = 'running' and worker = {MINE}",
                (done, total, message, job),
            ).rowcount
        )

    @writes_beside
    def note_result(self, connection: Connection, job: str, result: Mapping[str, Any]) -> None:
        """The work of the running job is done, with this result; it has not ended yet."""
        connection.execute("update jobs set result = %s where id = %s", (Json(result), job))

    @writes_beside
    def finish(
        self,
        connection: Connection,
        job: str,
        state: JobStatus,
        message: str,
        result: Mapping[str, Any],
    ) -> None:
        """End the job, unless it has ended or, except for "cancelled", is another worker's."""
        connection.execute(
            # What was read so far stays with a job that may be retried.
            "update jobs set state = %(state)s, message = %(message)s, ended_at = %(now)s,"
            " worker = null, result = case when %(state)s = 'done' then %(result)s::jsonb"
            " else result || %(result)s::jsonb end where id = %(job)s"
            f" and state in ('queued', 'running') and (%(state)s = 'cancelled' or {FREE})",
            {
                "state": state,
                "message": message,
                "now": now_ms(),
                "result": Json(result),
                "job": job,
            },
        )

    @writes_beside
    def queue_again(self, connection: Connection, job: str, params: Mapping[str, Any]) -> None:
        """The ended job is in the state "queued" again, with other parameters."""
        connection.execute(
            "update jobs set state = 'queued', params = %s, message = '', ended_at = null,"
            f" result = case when result ->> '{SO_FAR}' is null then '{{}}'"
            f" else jsonb_build_object('{SO_FAR}', result -> '{SO_FAR}') end, worker = null,"
            " home = case home when '' then '' else current_setting('mem_search.home') end"
            " where id = %s",
            (Json(params), job),
        )

    @reads
    def get(self, connection: Connection, job: str) -> JobState | None:
        row = connection.maybe(f"select {_COLUMNS} from jobs where id = %s", (job,))
        return _state(row) if row else None

    @reads
    def newest(
        self, connection: Connection, limit: int, state: JobStatus | None = None
    ) -> list[JobState]:
        """The newest jobs, of all states or of one."""
        rows = connection.execute(
            f"select {_COLUMNS} from jobs where %(state)s::text is null or state = %(state)s"
            " order by created_at desc, id limit %(limit)s",
            {"state": state, "limit": limit},
        )
        return [_state(row) for row in rows]

    @reads
    def unfinished(self, connection: Connection, *, here: bool = False) -> list[JobState]:
        """Jobs that have not ended, also those that a former worker was running; oldest first.

        ``here``: only those of this home that no living worker is running.
        """
        rows = connection.execute(
            f"select {_COLUMNS} from jobs where state in ('queued', 'running')"
            f" and (not %s or {OWN_HOME} and {FREE}) order by {self.order}",
            (here,),
        )
        return [_state(row) for row in rows]

    @writes_beside
    def expire(self, connection: Connection, before: int) -> int:
        """Delete jobs that ended before, except those set aside; returns how many."""
        return connection.execute(
            "delete from jobs where ended_at < %s and state != 'set_aside'", (before,)
        ).rowcount


def _state(row: tuple[Any, ...]) -> JobState:
    """Raises ValueError for a row that is none, which ``odd_rows`` puts right."""
    job, name, params, state, done, total, message, result, created, started, ended = row
    given, so_far = from_json(params), from_json(result)
    for at in (created, started or 0, ended or 0):
        stored_time(at)
    if (
        not all(isinstance(each, int) for each in (done, total))
        or not all(isinstance(each, str) for each in (job, name, message))
        or not (isinstance(given, dict) and isinstance(so_far, dict) and state in JOB_STATES)
    ):
        raise ValueError("a row of jobs is none")
    return JobState(job, name, given, state, done, total, message, so_far, created, started, ended)
