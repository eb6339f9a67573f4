"""Seasons, quarters, holidays and two days of a month."""

from __future__ import annotations

from datetime import date

import pytest
from dateutil.relativedelta import relativedelta

from mem_search.text import calendar_words

TODAY = date(2025, 11, 20)


@pytest.mark.parametrize(
    ("words", "first", "last"),
    [
        ("winter 2020", date(2020, 12, 1), date(2021, 2, 28)),
        ("summer of 2023", date(2023, 6, 1), date(2023, 8, 31)),
        ("last winter", date(2024, 12, 1), date(2025, 2, 28)),
        ("last autumn", date(2024, 9, 1), date(2024, 11, 30)),
        ("this spring", date(2025, 3, 1), date(2025, 5, 31)),
        ("q4 2025", date(2025, 10, 1), date(2025, 12, 31)),
        ("q2", date(2025, 4, 1), date(2025, 6, 30)),
        ("last quarter", date(2025, 7, 1), date(2025, 9, 30)),
        ("third quarter of 2018", date(2018, 7, 1), date(2018, 9, 30)),
        ("first half of 2019", date(2019, 1, 1), date(2019, 6, 30)),
        ("christmas 2022", date(2022, 12, 24), date(2022, 12, 26)),
        ("around christmas", date(2024, 12, 19), date(2024, 12, 31)),
        ("easter 2024", date(2024, 3, 29), date(2024, 4, 1)),
        ("thanksgiving 2023", date(2023, 11, 23), date(2023, 11, 23)),
        ("december 26 and 28 2025", date(2025, 12, 26), date(2025, 12, 28)),
        ("3rd and 9th of july 2023", date(2023, 7, 3), date(2023, 7, 9)),
        ("november 12 and 13", date(2025, 11, 12), date(2025, 11, 13)),
    ],
)
def test_words_of_the_calendar_are_days(words: str, first: date, last: date) -> None:
    found = calendar_words.read(words, TODAY)
    assert found is not None
    start, length = found
    assert (start, start + length - relativedelta(days=1)) == (first, last)


def test_days_in_the_wrong_order_are_none() -> None:
    with pytest.raises(ValueError, match="is after"):
        calendar_words.read("july 9 and 3 2023", TODAY)
