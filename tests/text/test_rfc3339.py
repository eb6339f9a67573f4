"""Times between programs: one spelling is accepted, everything similar is refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_search.errors import InputError
from mem_search.text import dates

NOON = 1_769_860_800_000


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("2026-01-31T12:00:00Z", NOON),
        ("2026-01-31t12:00:00z", NOON),
        ("2026-01-31T13:00:00+01:00", NOON),
        ("2026-01-31T11:59:59.999-00:00", NOON - 1),
        ("2026-01-31T12:00:00.1234567890Z", NOON + 123),
        ("2016-12-31T23:59:60Z", 1_483_228_800_000),
        ("1970-01-01T00:00:00Z", 0),
        ("0001-01-01T00:00:00Z", dates.from_iso("0001-01-01")),
    ],
)
def test_a_date_and_time_with_an_offset_is_read(text: str, ms: int) -> None:
    assert dates.read_rfc3339(text) == ms


@pytest.mark.parametrize(
    "text",
    [
        "", "0", "1769860800", "1769860800000", "2026", "2026-01-31", "20260131T120000Z",
        "2026-01-31T12:00:00", "2026-01-31 12:00:00Z", "2026-01-31T12:00Z", "2026-1-31T12:00:00Z",
        "2026-02-30T12:00:00Z", "2026-01-31T25:00:00Z", "2026-01-31T12:00:61Z", "yesterday",
        "2026-01-31T12:00:00+0100", "2026-01-31T12:00:00+25:00", "0000-01-01T00:00:00Z",
        " 2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z\n", "２０２６-01-31T12:00:00Z",
        "9999-12-31T23:59:60Z", "2026-01-31T12:00:00.Z",
    ],
)  # fmt: skip
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        dates.read_rfc3339(text)


@given(
    st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1)),  # noqa: DTZ001
    st.integers(-23 * 60, 23 * 60),
)
def test_times_as_python_writes_them_are_parsed(moment: datetime, offset: int) -> None:
    aware = moment.replace(tzinfo=timezone(timedelta(minutes=offset)))
    text = aware.isoformat()
    ms = dates.read_rfc3339(text)
    assert dates.iso(ms)[:23] == aware.astimezone(UTC).isoformat(timespec="milliseconds")[:23]
