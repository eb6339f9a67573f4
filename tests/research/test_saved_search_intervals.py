"""Intervals as people write them, in seconds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_search.errors import InputError
from mem_search.features.saved_searches.service import (
    MAX_INTERVAL_SECONDS,
    MIN_INTERVAL_SECONDS,
    seconds,
    written,
)


@given(st.integers(MIN_INTERVAL_SECONDS, MAX_INTERVAL_SECONDS))
def test_what_is_written_is_read_as_the_same(interval: int) -> None:
    assert seconds(written(interval)) == interval


@given(st.text(max_size=20))
def test_any_text_is_an_interval_or_an_error(text: str) -> None:
    try:
        found = seconds(text)
    except InputError:
        return
    assert MIN_INTERVAL_SECONDS <= found <= MAX_INTERVAL_SECONDS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1h", 3600),
        ("90s", 90),
        ("15m", 900),
        (" 2 D ", 172_800),
        ("hourly", 3600),
        ("1w", 604_800),
    ],
)
def test_intervals_are_read(text: str, expected: int) -> None:
    assert seconds(text) == expected


@pytest.mark.parametrize(
    "text", ["", "1", "59s", "0m", "367d", "1.5h", "-1h", "* * * * *", "h", "١h"]
)
def test_what_is_no_interval_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="write 15m") as refused:
        seconds(text)
    assert refused.value.field == "every"
