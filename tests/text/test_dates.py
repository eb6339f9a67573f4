"""Dates in words: the span of each form, no false matches, no errors."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from dateutil import tz as dateutil_tz
from hypothesis import given
from hypothesis import strategies as st

from mem_search.errors import InputError
from mem_search.model import DateRange
from mem_search.text.dates import from_iso, iso, local, local_range, parse_bound, parse_range

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2025, 11, 17, 15, 30, tzinfo=BERLIN)  # a Monday


def ms(text: str, zone: ZoneInfo = BERLIN) -> int:
    moment = datetime.fromisoformat(text).replace(tzinfo=zone)
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def days(first: str, last: str) -> DateRange:
    """Both days included, as a person names a range."""
    return DateRange(ms(first), ms(last) + 24 * 3_600_000 - 1)


def read(text: str) -> DateRange:
    return parse_range(text, now=NOW, tz=BERLIN)


def bound(value: str | float, *, end: bool) -> int:
    return parse_bound(value, end=end, now=NOW, tz=BERLIN, field="dateStart")


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("today", "2025-11-17", "2025-11-17"),
        ("Yesterday", "2025-11-16", "2025-11-16"),
        ("the day before yesterday", "2025-11-15", "2025-11-15"),
        ("tomorrow", "2025-11-18", "2025-11-18"),
        ("3 days ago", "2025-11-14", "2025-11-14"),
        ("two weeks ago", "2025-11-03", "2025-11-09"),
        ("3d", "2025-11-14", "2025-11-17"),
        ("2w", "2025-11-03", "2025-11-17"),
        ("past 3 days", "2025-11-14", "2025-11-17"),
        ("last 2 weeks", "2025-11-03", "2025-11-17"),
        ("past week", "2025-11-10", "2025-11-17"),
        ("last week", "2025-11-10", "2025-11-16"),
        ("this week", "2025-11-17", "2025-11-23"),
        ("next week", "2025-11-24", "2025-11-30"),
        ("last weekend", "2025-11-15", "2025-11-16"),
        ("weekend", "2025-11-15", "2025-11-16"),
        ("this weekend", "2025-11-22", "2025-11-23"),
        ("next weekend", "2025-11-29", "2025-11-30"),
        ("week of Nov 5", "2025-11-03", "2025-11-09"),
        ("the 16th", "2025-11-16", "2025-11-16"),
        ("31st", "2025-10-31", "2025-10-31"),
        ("this month", "2025-11-01", "2025-11-30"),
        ("next month", "2025-12-01", "2025-12-31"),
        ("last November", "2024-11-01", "2024-11-30"),
        ("November", "2025-11-01", "2025-11-30"),
        ("December", "2024-12-01", "2024-12-31"),
        ("next january", "2026-01-01", "2026-01-31"),
        ("Nov 3", "2025-11-03", "2025-11-03"),
        ("3 Nov 2025", "2025-11-03", "2025-11-03"),
        ("3rd of November, 2025", "2025-11-03", "2025-11-03"),
        ("Nov. 3rd, 2025", "2025-11-03", "2025-11-03"),
        ("Nov 17", "2025-11-17", "2025-11-17"),
        ("Nov 18", "2024-11-18", "2024-11-18"),
        ("Feb 29", "2024-02-29", "2024-02-29"),
        ("Tuesday", "2025-11-11", "2025-11-11"),
        ("last tues", "2025-11-11", "2025-11-11"),
        ("monday", "2025-11-10", "2025-11-10"),
        ("this Tuesday", "2025-11-18", "2025-11-18"),
        ("next Monday", "2025-11-24", "2025-11-24"),
        ("2025-11-03", "2025-11-03", "2025-11-03"),
        ("20251103", "2025-11-03", "2025-11-03"),
        ("2025/11/3", "2025-11-03", "2025-11-03"),
        ("2025-W46", "2025-11-10", "2025-11-16"),
        ("2025-11", "2025-11-01", "2025-11-30"),
        ("between Nov 3 and Nov 7", "2025-11-03", "2025-11-07"),
        ("Nov 3 to Nov 7", "2025-11-03", "2025-11-07"),
        ("Nov 3 – yesterday", "2025-11-03", "2025-11-16"),
        ("2025-11-03..2025-11-07", "2025-11-03", "2025-11-07"),
        ("2025-11-03/2025-11-07", "2025-11-03", "2025-11-07"),
        ("from tuesday until today", "2025-11-11", "2025-11-17"),
        ("Nov 3 to Jan 2", "2024-11-03", "2025-01-02"),
        ("December to January 2025", "2024-12-01", "2025-01-31"),
    ],
)
def test_a_phrase_spans_whole_days_of_its_unit(text: str, first: str, last: str) -> None:
    assert read(text) == days(first, last)


@pytest.mark.parametrize(
    ("text", "first", "after"),
    [
        ("last October", "2025-10-01", "2025-11-01"),
        ("october 2025", "2025-10-01", "2025-11-01"),
        ("last month", "2025-10-01", "2025-11-01"),
        ("a month ago", "2025-10-01", "2025-11-01"),
        ("in 2024", "2024-01-01", "2025-01-01"),
        ("2024", "2024-01-01", "2025-01-01"),
        ("last year", "2024-01-01", "2025-01-01"),
        ("2023 to 2024", "2023-01-01", "2025-01-01"),
        ("between March and May", "2025-03-01", "2025-06-01"),
        ("this morning", "2025-11-17", "2025-11-17T12:00"),
        ("yesterday evening", "2025-11-16T18:00", "2025-11-17"),
        ("last night", "2025-11-16T18:00", "2025-11-17T06:00"),
    ],
)
def test_months_years_and_parts_of_a_day_end_where_the_next_begins(
    text: str, first: str, after: str
) -> None:
    assert read(text) == DateRange(ms(first), ms(after) - 1)


@pytest.mark.parametrize(
    ("text", "start", "after"),
    [
        ("since Tuesday", "2025-11-11", None),
        ("since 2 weeks ago", "2025-11-03", None),
        ("after 2024-05-01", "2024-05-02", None),
        ("before March", None, "2025-03-01"),
        ("until 2024-05-01", None, "2024-05-02"),
        ("by October", None, "2025-11-01"),
        ("as of October 1,2025", None, "2025-10-02"),
    ],
)
def test_one_sided_phrases_stay_open_on_the_other_side(
    text: str, start: str | None, after: str | None
) -> None:
    expected = DateRange(ms(start) if start else None, ms(after) - 1 if after else None)
    assert read(text) == expected


def test_hours_and_minutes_run_up_to_now() -> None:
    now = ms("2025-11-17T15:30")
    assert read("3 hours ago") == read("past 3 hours") == DateRange(now - 3 * 3_600_000, now)
    assert read("30 minutes ago") == read("30m") == DateRange(now - 30 * 60_000, now)


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2025-11-17T10:00", "2025-11-17T10:00"),
        ("2025-11-17 10:00:30", "2025-11-17T10:00:30"),
        ("2025-11-17T10:00:00Z", "2025-11-17T11:00"),
        ("2025-11-17T10:00:00+05:30", "2025-11-17T05:30"),
        ("2025-11-17T10:00:00 05:30", "2025-11-17T05:30"),
        ("2025-11-17T10:00:00.123456789Z", "2025-11-17T11:00:00.123"),
        ("1763370000", "2025-11-17T10:00"),
        ("1763370000000", "2025-11-17T10:00"),
        ("now", "2025-11-17T15:30"),
    ],
)
def test_an_instant_begins_and_ends_at_itself(text: str, instant: str) -> None:
    assert read(text) == DateRange(ms(instant), ms(instant))
    assert bound(text, end=False) == bound(text, end=True) == ms(instant)


@pytest.mark.parametrize(
    ("value", "first", "after"),
    [
        ("2025-10-03", "2025-10-03", "2025-10-04"),
        ("2025-10", "2025-10-01", "2025-11-01"),
        ("2024", "2024-01-01", "2025-01-01"),
        (2024, "2024-01-01", "2025-01-01"),
        (20251003, "2025-10-03", "2025-10-04"),
        ("yesterday", "2025-11-16", "2025-11-17"),
        ("last week", "2025-11-10", "2025-11-17"),
        ("3 days ago", "2025-11-14", "2025-11-15"),
        ("3d", "2025-11-14", "2025-11-15"),
        ("2 months ago", "2025-09-17", "2025-09-18"),
    ],
)
def test_an_end_bound_includes_all_that_its_value_names(
    value: str | int, first: str, after: str
) -> None:
    assert bound(value, end=False) == ms(first)
    assert bound(value, end=True) == ms(after) - 1


def test_numbers_are_seconds_or_milliseconds_by_their_size() -> None:
    assert bound(1763370000, end=True) == bound(1763370000000, end=True) == 1763370000000
    assert bound(1763370000.5, end=False) == 1763370000500
    assert bound(0, end=False) == 0


def test_days_are_as_long_as_the_clocks_make_them() -> None:
    def length(day: str, zone: str) -> float:
        found = parse_range(day, now=NOW, tz=ZoneInfo(zone))
        assert found.start is not None
        assert found.end is not None
        return (found.end + 1 - found.start) / 3_600_000

    assert length("2025-03-30", "Europe/Berlin") == 23
    assert length("2025-10-26", "Europe/Berlin") == 25
    assert length("2018-11-04", "America/Sao_Paulo") == 23  # midnight itself does not exist
    assert length("2025-11-17", "Asia/Kathmandu") == 24


def test_a_midnight_that_the_clock_skips_is_the_same_instant_in_every_zone_library() -> None:
    skipped = dateutil_tz.gettz("America/Sao_Paulo")
    assert skipped is not None
    assert parse_range("2018-11-04", now=NOW, tz=skipped) == parse_range(
        "2018-11-04", now=NOW, tz=ZoneInfo("America/Sao_Paulo")
    )


def test_hours_ago_are_hours_even_across_a_clock_change() -> None:
    now = datetime(2025, 3, 30, 4, 0, tzinfo=BERLIN)
    found = parse_range("2 hours ago", now=now, tz=BERLIN)
    assert found.start == ms("2025-03-30T01:00")


def test_now_may_be_in_another_zone_or_wall_time() -> None:
    late = datetime(2025, 11, 16, 23, 30, tzinfo=UTC)  # already the 17th in Berlin
    wall = datetime(2025, 11, 17, 0, 30)  # noqa: DTZ001 - wall time is what is tested
    assert parse_range("today", now=late, tz=BERLIN) == days("2025-11-17", "2025-11-17")
    assert parse_range("today", now=wall, tz=BERLIN) == days("2025-11-17", "2025-11-17")


@pytest.mark.parametrize("text", ["9999-12-31", "9999-12", "9999", "9999-W52"])
def test_the_last_days_of_the_calendar_are_days(text: str) -> None:
    assert bound(text, end=True) == from_iso("9999-12-31T23:59:59.999Z")
    assert bound(text, end=False) <= ms("9999-12-31")


@pytest.mark.parametrize(
    "text",
    ["", "bogus", "since", "2025-02-30", "2025-13", "25:00", "Feb 30", "0 Oct", "20200728121240",
     "9999 years ago", "99999 days", "10/3/2025", "between 2024", "٣ days ago", "x" * 5000],
)  # fmt: skip
def test_a_text_that_is_no_date_is_refused_with_two_examples(text: str) -> None:
    with pytest.raises(InputError) as caught:
        bound(text, end=True)
    assert caught.value.field == "dateStart"
    assert "2025-10-03" in caught.value.message
    assert "3 days ago" in caught.value.message
    with pytest.raises(InputError):
        read(text)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("last blursday", "'blursday' was not understood"),
        ("yesterday evning", "'yesterday' was understood, 'evning' was not"),
        ("February 30", "every word was understood, but there is no such date"),
        ("week of bogus", "'bogus' was not understood"),
    ],
)
def test_a_refusal_says_what_was_understood(text: str, what: str) -> None:
    with pytest.raises(InputError) as caught:
        read(text)
    assert what in caught.value.message


def test_a_range_that_ends_before_it_begins_says_so() -> None:
    with pytest.raises(InputError, match="ends before it begins"):
        read("2025 to 2024")


@pytest.mark.parametrize(
    "value", [True, float("nan"), float("inf"), 10**30, pytest.param(10**5000, id="long")]
)
def test_odd_numbers_are_refused(value: float) -> None:
    with pytest.raises(InputError):
        bound(value, end=False)


# ---- writing -------------------------------------------------------------------------------


def test_local_shows_the_year_only_when_it_is_another() -> None:
    assert local(ms("2025-11-17T17:45"), BERLIN, NOW) == "Nov 17, 5:45 PM"
    assert local(ms("2024-11-07T00:05"), BERLIN, NOW) == "Nov 7, 2024, 12:05 AM"
    assert local(ms("2025-05-01T12:00"), BERLIN, NOW) == "May 1, 12:00 PM"
    new_year = ms("2025-12-31T20:00", ZoneInfo("UTC"))
    assert local(new_year, ZoneInfo("Asia/Tokyo"), NOW) == "Jan 1, 2026, 5:00 AM"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("last week", "Nov 10-16"),
        ("yesterday", "Nov 16"),
        ("this month", "Nov 1-30"),
        ("October", "Oct 1-31"),
        ("October to November", "Oct 1-Nov 30"),
        ("2024", "Jan 1-Dec 31, 2024"),
        ("October 2024", "Oct 1-31, 2024"),
        ("2024-12-30 to 2025-01-02", "Dec 30, 2024-Jan 2"),
        ("since yesterday", "since Nov 16"),
        ("before October", "until Sep 30"),
        ("last night", "Nov 16, 6:00 PM-Nov 17, 6:00 AM"),
        ("2025-10-26", "Oct 26"),
    ],
)
def test_a_range_is_written_by_its_days(text: str, written: str) -> None:
    assert local_range(read(text), BERLIN, NOW) == written


def test_iso_is_utc_with_milliseconds() -> None:
    assert iso(0) == "1970-01-01T00:00:00.000Z"
    assert iso(1763370000123) == "2025-11-17T09:00:00.123Z"
    assert from_iso("2025-11-17") == 1763337600000
    with pytest.raises(InputError):
        from_iso("last week")
    with pytest.raises(InputError):
        iso(10**18)


# ---- properties ----------------------------------------------------------------------------

INSTANTS = st.integers(ms("0001-01-02"), ms("9999-12-30"))
WORDS = st.sampled_from(
    "since before after between and to from until in on the last next this past ago a two 3 12 "
    "2024 2025-10-03 2025-10 Oct may March Tuesday mon week weeks day days d month years today "
    "yesterday now 3d 29 feb 1700000000 T10:00 Z - .. / , ? \" ` 's 99999 0000".split()
)
TEXTS = st.text() | st.lists(WORDS, max_size=8).map(" ".join)
ZONES = st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Pacific/Apia"]).map(ZoneInfo)
NOWS = st.datetimes(datetime(1980, 1, 1), datetime(2090, 1, 1))  # noqa: DTZ001 - wall times


@given(INSTANTS)
def test_iso_round_trips(instant: int) -> None:
    assert from_iso(iso(instant)) == instant
    assert bound(iso(instant), end=True) == instant


@given(TEXTS, NOWS, ZONES)
def test_any_text_is_a_range_in_order_or_an_input_error(
    text: str, now: datetime, zone: ZoneInfo
) -> None:
    try:
        found = parse_range(text, now=now, tz=zone)
    except InputError:
        return
    assert found
    assert found.start is None or found.end is None or found.start <= found.end


@given(TEXTS | st.integers() | st.floats(), NOWS, ZONES)
def test_any_value_bounds_in_order_or_is_an_input_error(
    value: str | float, now: datetime, zone: ZoneInfo
) -> None:
    try:
        start = parse_bound(value, end=False, now=now, tz=zone, field="since")
    except InputError:
        return
    assert start <= parse_bound(value, end=True, now=now, tz=zone, field="since")
