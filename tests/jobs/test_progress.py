"""What a running job tells of its speed and of the time that is left."""

from __future__ import annotations

from typing import Any

import pytest

from mem_search.cli.jobs import bar, embedding_line, job_line
from mem_search.http.jobs import Embedding, Job
from mem_search.model.jobs import JobState, Pace
from mem_search.renderers.schema import to_values
from mem_search.text.dates import now_ms


def job(**values: Any) -> JobState:
    told: dict[str, Any] = {
        "id": "j1", "name": "sync", "params": {}, "state": "running", "done": 50, "total": 200,
        "message": "files docs: 50 new", "result": {}, "created_at": 0, "started_at": 10_000,
        "ended_at": None, "pace": Pace(10_000),
    }  # fmt: skip
    return JobState(**told | values)


def test_a_running_job_tells_its_rate_and_what_is_left() -> None:
    told = Job.of(job(), now=20_000)
    assert (told.rate, told.seconds_left) == (5.0, 30)
    assert Job.of(job(done=200), now=20_000).seconds_left == 0
    assert Job.of(job(done=250), now=20_000).seconds_left == 0  # more came than was known


@pytest.mark.parametrize(
    "values",
    [
        {"state": "queued", "started_at": None, "done": 0, "pace": None},
        {"state": "done", "ended_at": 15_000},
        {"done": 0},
        {"pace": Pace(19_999)},  # too early to tell
        {"pace": Pace(10_000, 50)},  # nothing since
    ],
)
def test_nothing_is_told_where_nothing_is_known(values: dict[str, Any]) -> None:
    told = to_values(Job.of(job(**values), now=20_000))
    assert {"rate", "seconds_left"}.isdisjoint(told)


def test_what_was_done_before_does_not_count_for_the_rate() -> None:
    told = Job.of(job(done=150, pace=Pace(15_000, 100)), now=20_000)
    assert (told.rate, told.seconds_left) == (10.0, 5)


def test_embedding_tells_its_rate_or_why_it_waits() -> None:
    now = now_ms()
    told = Embedding.of(Pace(now - 10_000), 100, 300, "")
    assert (told.done, told.total, told.seconds_left) == (100, 400, pytest.approx(30, abs=2))
    assert embedding_line(to_values(told)).startswith("embedding  100/400 (10/s, 3")
    waits = to_values(Embedding.of(None, 0, 300, "the model is not there"))
    assert {"rate", "seconds_left"}.isdisjoint(waits)
    assert embedding_line(waits) == (
        "embedding  0/300  passages; the others are found by their words;"
        " it waits: the model is not there"
    )


def test_without_a_total_only_the_rate_is_told() -> None:
    told = Job.of(job(total=0), now=20_000)
    assert (told.rate, told.seconds_left) == (5.0, None)


@pytest.mark.parametrize(
    ("seconds", "rate", "said"),
    [(30, 5.0, "5.0/s, 30 s"), (150, 12.4, "12/s, 2 min"), (9000, 1_230_000, "1.2M/s, 2 h")],
)
def test_the_command_line_shows_the_rate_and_what_is_left(
    seconds: int, rate: float, said: str
) -> None:
    known = {"seconds_left": seconds, "rate": rate}
    state = {**to_values(Job.of(job(), now=20_000)), **known}
    assert bar(state, 200) == f"[######..................]  25% {said} left files docs: 50 new"
    assert len(bar(state, 40)) < 40
    assert job_line(state) == f"j1  sync  running  50/200 ({said} left)  files docs: 50 new"


def test_work_that_goes_on_when_all_is_read_is_told() -> None:
    state = {"done": 200, "total": 200, "state": "running", "message": "files docs: 150 new"}
    assert bar(state, 80) == f"[{'#' * 24}] 100% finishing files docs: 150 new"
    assert "finishing" not in bar({**state, "done": 199}, 80)
