"""Intervals and cron expressions as people write them."""

from __future__ import annotations

from datetime import datetime

import pytest
from dateutil.tz import gettz, tzlocal
from hypothesis import given
from hypothesis import strategies as st

from mem_search.errors import InputError
from mem_search.text.schedules import (
    MAX_INTERVAL_SECONDS,
    MIN_INTERVAL_SECONDS,
    next_run,
    parts,
    runs_an_hour,
    schedule_of,
    seconds,
    written,
)

ZONE = gettz() or tzlocal()
NOON = round(datetime(2026, 3, 4, 12, 5, tzinfo=ZONE).timestamp() * 1000)


@given(st.integers(MIN_INTERVAL_SECONDS, MAX_INTERVAL_SECONDS))
def test_what_is_written_is_read_as_the_same(interval: int) -> None:
    assert seconds(written(interval)) == interval
    assert next_run(written(interval), NOON) == NOON + 1000 * interval


@given(st.text(max_size=20))
def test_any_text_is_an_interval_or_an_error(text: str) -> None:
    try:
        found = seconds(text)
    except InputError:
        return
    assert MIN_INTERVAL_SECONDS <= found <= MAX_INTERVAL_SECONDS


@given(st.text("0123456789*/,-#LW ", max_size=20))
def test_any_text_is_a_schedule_or_an_error_that_names_its_field(text: str) -> None:
    try:
        schedule = schedule_of(None, text)
    except InputError as error:
        found, schedule = error.field, "1h"
        assert found == "schedule"
    assert next_run(schedule or "1h", NOON) > NOON


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1h", 3600), ("90s", 90), ("15m", 900), (" 2 D ", 172_800), ("hourly", 3600),
     ("1w", 604_800)],
)  # fmt: skip
def test_intervals_are_read(text: str, expected: int) -> None:
    assert seconds(text) == expected


@pytest.mark.parametrize(
    "text", ["", "1", "59s", "0m", "367d", "1.5h", "-1h", "* * * * *", "h", "١h"]
)
def test_what_is_no_interval_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="write 15m") as refused:
        seconds(text)
    assert refused.value.field == "every"


def test_a_cron_expression_is_in_the_time_of_the_machine() -> None:
    morning = datetime(2026, 3, 5, 4, 30, tzinfo=ZONE)
    assert next_run("30 4 * * *", NOON) == round(morning.timestamp() * 1000)
    for wrong in ("daily", "61 * * * *", "0 4 * *", "0 0 30 2 *", "* * * * * *"):
        with pytest.raises(InputError) as refused:
            schedule_of(None, wrong)
        assert refused.value.field == "schedule"


def test_a_schedule_is_one_of_both() -> None:
    assert (schedule_of("daily", None), schedule_of("", ""), schedule_of(None, "5 4 * * 1")) == (
        "1d", "", "5 4 * * 1",
    )  # fmt: skip
    assert (parts("3600s"), parts("5 4 * * 1"), parts("")) == (
        ("1h", None), (None, "5 4 * * 1"), (None, None),
    )  # fmt: skip
    with pytest.raises(InputError, match="not both") as refused:
        schedule_of("1h", "0 4 * * *")
    assert refused.value.field == "every"


@pytest.mark.parametrize(
    ("schedule", "runs"),
    [("", 0), ("15m", 4), ("2h", 0.5), ("0 4 * * *", 1), ("*/10 * * * *", 6), ("* 9 1 1 *", 60)],
)
def test_how_often_a_schedule_runs_in_its_busiest_hour(schedule: str, runs: float) -> None:
    assert runs_an_hour(schedule, NOON) == runs
