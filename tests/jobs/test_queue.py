"""Jobs: in order, one at a time, with a state that survives the worker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from mem_search.errors import Conflict, InputError, NotFound, SourceError, StoreAway
from mem_search.jobs.queue import JobQueue, Report
from mem_search.model.jobs import JobState
from mem_search.storage.sqlite.store import SqliteStore
from patience import PATIENCE, becomes, comes_true
from runtimes import ended


class Recorded:
    """A job that does what its parameter ``do`` says, and tells what ran."""

    name = "recorded"

    def __init__(self) -> None:
        self.ran: list[Any] = []
        self.go_on = asyncio.Event()

    async def run(self, params: Mapping[str, Any], report: Report) -> Mapping[str, Any]:
        self.ran.append(params.get("n"))
        await report(1, 2, "half way")
        if "next" in params:
            await report(params["next"], 9, "another part", begins=bool(params.get("begins")))
        match params.get("do"):
            case "wait":
                await self.go_on.wait()
            case "fail":
                raise SourceError("cannot be read; check it")
            case "break":
                raise ZeroDivisionError("a bug")
            case "bad result":
                return {"result": object()}
        return {"n": params.get("n")}


@pytest.fixture
def job() -> Recorded:
    return Recorded()


@pytest.fixture
async def queue(store: SqliteStore, job: Recorded) -> AsyncIterator[JobQueue]:
    queue = JobQueue(store.jobs, (job,))
    await queue.start()
    yield queue
    await queue.close()


async def reached(queue: JobQueue, job: str, *states: str) -> JobState:
    return await becomes(lambda: queue.get(job), lambda state: state.state in states)


async def test_jobs_run_one_after_the_other_in_the_order_they_came(
    queue: JobQueue, job: Recorded
) -> None:
    names = [await queue.submit("recorded", {"n": n}) for n in range(5)]
    for n, name in enumerate(names):
        state = await ended(queue, name)
        assert (state.state, state.result, state.done, state.total) == ("done", {"n": n}, 1, 2)
        # Jobs of one millisecond are created a millisecond apart, so that their order is kept.
        assert state.created_at - n <= (state.started_at or 0) <= (state.ended_at or 0)
    assert job.ran == list(range(5))
    assert {state.id for state in await queue.newest(3)} <= set(names)


@pytest.mark.parametrize(
    ("params", "base"),
    [({}, 0), ({"next": 2}, 0), ({"next": 0}, 0), ({"next": 7, "begins": True}, 7)],
)
async def test_the_rate_of_each_part_of_a_job_is_measured_apart(
    queue: JobQueue, job: Recorded, params: dict[str, Any], base: int
) -> None:
    name = await queue.submit("recorded", {"do": "wait", **params})
    message = "another part" if params else "half way"
    state = await becomes(lambda: queue.get(name), lambda state: state.message == message)
    assert state.pace is not None
    assert state.pace.base == base
    job.go_on.set()
    assert (await ended(queue, name)).pace is None


async def test_progress_shows_while_it_runs(queue: JobQueue, job: Recorded) -> None:
    name = await queue.submit("recorded", {"do": "wait"})
    state = await becomes(lambda: queue.get(name), lambda state: state.message == "half way")
    assert (state.state, state.done, state.total) == ("running", 1, 2)
    job.go_on.set()
    assert (await ended(queue, name)).state == "done"


async def test_what_runs_and_what_waits_can_be_cancelled(queue: JobQueue, job: Recorded) -> None:
    running = await queue.submit("recorded", {"n": 1, "do": "wait"})
    waiting = await queue.submit("recorded", {"n": 2})
    last = await queue.submit("recorded", {"n": 3})
    await reached(queue, running, "running")
    assert (await queue.cancel(waiting)).state == "cancelled"
    await queue.cancel(running)
    assert (await ended(queue, running)).state == "cancelled"
    assert (await ended(queue, last)).state == "done"
    assert job.ran in ([1, 3], [3])
    with pytest.raises(Conflict, match="already cancelled"):
        await queue.cancel(running)
    with pytest.raises(Conflict, match="already done"):
        await queue.cancel(last)


async def test_a_cancel_at_any_moment_is_kept(queue: JobQueue, job: Recorded) -> None:
    for turns in range(12):
        name = await queue.submit("recorded", {"n": turns, "do": "wait"})
        for _ in range(turns):
            await asyncio.sleep(0)
        await queue.cancel(name)
        assert (await ended(queue, name)).state == "cancelled"
    assert (await ended(queue, await queue.submit("recorded", {}))).state == "done"


@pytest.mark.parametrize(
    ("do", "message"),
    [
        ("fail", "cannot be read; check it"),
        ("break", "internal error: ZeroDivisionError: a bug"),
        ("bad result", "internal error: TypeError"),
    ],
)
async def test_a_job_that_fails_says_why_and_the_next_one_runs(
    queue: JobQueue, do: str, message: str
) -> None:
    state = await ended(queue, await queue.submit("recorded", {"do": do}))
    assert state.state == "failed"
    assert state.message.startswith(message)
    assert (await ended(queue, await queue.submit("recorded", {}))).state == "done"


async def test_unknown_names_are_refused(queue: JobQueue) -> None:
    with pytest.raises(InputError, match="no job is called 'dance'; known"):
        await queue.submit("dance", {})
    with pytest.raises(NotFound):
        await queue.get("nothing")
    with pytest.raises(NotFound):
        await queue.cancel("nothing")


async def test_what_a_former_worker_left_runs_again(store: SqliteStore) -> None:
    first, job = JobQueue(store.jobs, (Recorded(),)), Recorded()
    await first.start()
    interrupted = await first.submit("recorded", {"n": "interrupted", "do": "wait"})
    queued = await first.submit("recorded", {"n": "queued"})
    cancelled = await first.submit("recorded", {"n": "cancelled"})
    await first.cancel(cancelled)
    await reached(first, interrupted, "running")
    await first.close()
    await store.jobs.create("old", "gone", {})

    second = JobQueue(store.jobs, (job,))
    job.go_on.set()
    assert (await second.get(interrupted)).state == "running"
    await second.start()
    assert (await ended(second, interrupted)).state == "done"
    assert (await ended(second, queued)).state == "done"
    assert set(job.ran) == {"interrupted", "queued"}
    gone = await ended(second, "old")
    assert (gone.state, gone.message) == ("failed", "no job is called gone any more")
    await second.close()


async def set_aside(store: SqliteStore, *jobs: str) -> None:
    """Jobs over which a former worker died twice."""
    for job in jobs:
        await store.jobs.create(job, "recorded", {"n": job})
        await store.jobs.claim(["recorded"])
        await store.jobs.finish(job, "set_aside", "ended twice", {"item": "line 3"})


async def test_an_idle_worker_tries_each_job_that_was_set_aside_once_more(
    store: SqliteStore, job: Recorded
) -> None:
    await set_aside(store, "a", "b")
    await store.jobs.create("waiting", "recorded", {"n": "waiting"})
    queue = JobQueue(store.jobs, (job,), aside_seconds=0.01)
    await queue.start()
    for name in ("waiting", "a", "b"):
        state = await reached(queue, name, "done")
        assert state.result == {"n": name}
    await queue.close()
    assert job.ran == ["waiting", "a", "b"]


async def test_a_job_that_is_set_aside_again_waits_for_a_person(
    store: SqliteStore, job: Recorded
) -> None:
    await store.jobs.create("a", "recorded", {"n": "a", "do": "wait"})
    await store.jobs.claim(["recorded"])
    await store.jobs.finish("a", "set_aside", "ended twice", {"item": "line 3"})
    dying = JobQueue(store.jobs, (Recorded(),), aside_seconds=0.01)
    await dying.start()
    await reached(dying, "a", "running")
    await dying.close()

    queue = JobQueue(store.jobs, (job,), aside_seconds=0.01)
    assert await queue.set_aside({"item": "line 3"}, "jsonl /x line 3") == "a"
    await set_aside(store, "b")
    await queue.start()
    await reached(queue, "b", "done")  # the older one would have been first
    left = await queue.get("a")
    assert left.state == "set_aside"
    assert "and twice more when it tried again" in left.message
    job.go_on.set()
    await queue.retry("a")
    assert (await reached(queue, "a", "done")).result == {"n": "a"}
    await queue.close()


async def test_a_queue_may_leave_what_was_set_aside_to_a_person(
    store: SqliteStore, job: Recorded
) -> None:
    await set_aside(store, "a")
    queue = JobQueue(store.jobs, (job,), aside_seconds=0)
    await queue.start()
    await ended(queue, await queue.submit("recorded", {"n": "new"}))
    queue.wake()
    await ended(queue, await queue.submit("recorded", {"n": "newer"}))
    assert (await queue.get("a")).state == "set_aside"
    assert job.ran == ["new", "newer"]
    await queue.close()


async def test_ended_jobs_are_kept_for_a_week(store: SqliteStore, job: Recorded) -> None:
    for name, ended_at in (("new", 9_000_000_000_000_000), ("old", 1)):
        await store.jobs.create(name, "recorded", {})
        await store.jobs.finish(name, "done", "", {})
        await store.database.write(
            lambda c, n=name, at=ended_at: c.execute(
                "update jobs set ended_at = ? where id = ?", (at, n)
            )
        )
    queue = JobQueue(store.jobs, (job,))
    await queue.start()
    assert [state.id for state in await queue.newest(9)] == ["new"]
    await queue.close()


async def test_a_queue_that_is_woken_while_it_closes_ends(store: SqliteStore) -> None:
    queue = JobQueue(store.jobs, (Recorded(),), aside_seconds=3600)
    await queue.start()
    await comes_true(lambda: all(added._waiters for added in queue._added))
    queue.wake()
    await asyncio.sleep(0)  # what waited for the event is done, and the queue does not know it yet
    closing = asyncio.create_task(queue.close())
    done, _ = await asyncio.wait([closing], timeout=PATIENCE)
    assert done


async def test_a_job_whose_end_cannot_be_stored_counts_as_failed(
    store: SqliteStore, queue: JobQueue, job: Recorded
) -> None:
    full = "create trigger full before update of ended_at on jobs"
    raised = f"{full} begin select the_disk_is_full(); end"
    await store.database.write(lambda c: c.execute(raised))
    left = await queue.submit("recorded", {"n": 1})
    state = await reached(queue, left, "failed")
    assert "the_disk_is_full" in state.message
    assert "the next start of the worker continues it" in state.message
    assert [each.state for each in await queue.newest(5)] == ["failed"]
    known = await store.jobs.get(left)
    assert known is not None
    assert known.state == "running"
    await store.database.write(lambda c: c.execute("drop trigger full"))
    assert (await queue.cancel(left)).message == "cancelled; what was stored stays"
    after = await queue.submit("recorded", {"n": 2})
    assert (await reached(queue, after, "done")).result == {"n": 2}


async def test_a_job_that_cannot_be_started_says_why_and_runs_when_it_can(
    store: SqliteStore, queue: JobQueue
) -> None:
    full = "create trigger full before update of state on jobs begin select the_disk_is_full(); end"
    await store.database.write(lambda c: c.execute(full))
    job = await queue.submit("recorded", {"n": 1})
    waiting = await becomes(lambda: queue.get(job), lambda state: state.message)
    assert (waiting.state, "the_disk_is_full" in waiting.message) == ("queued", True)
    await store.database.write(lambda c: c.execute("drop trigger full"))
    queue.wake()
    assert (await reached(queue, job, "done")).result == {"n": 1}


async def test_a_job_whose_server_went_away_has_not_failed_and_is_run_again(
    store: SqliteStore,
) -> None:
    class Interrupted:
        name = "interrupted"
        runs = 0

        async def run(self, params: Mapping[str, Any], report: Report) -> Mapping[str, Any]:
            self.runs += 1
            if self.runs == 1:
                raise StoreAway("the server has closed the connection")
            return {"runs": self.runs}

    queue = JobQueue(store.jobs, (Interrupted(),))
    await queue.start()
    job = await queue.submit("interrupted", {})
    assert (await reached(queue, job, "done")).result == {"runs": 2}
    await queue.close()


async def test_what_a_job_has_counted_so_far_is_no_result(
    store: SqliteStore, job: Recorded
) -> None:
    await store.jobs.create("j", "recorded", {"n": 1})
    await store.jobs.note_result("j", {"so_far": {"files /docs": {"new": 400}}})
    queue = JobQueue(store.jobs, (job,))
    assert (await queue.get("j")).result == {}
    await queue.start()
    assert (await ended(queue, "j")).result == {"n": 1}  # it ran
    await queue.close()
