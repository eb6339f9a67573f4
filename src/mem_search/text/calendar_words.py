"""Seasons, quarters, holidays and two days of a month, as days of the calendar. Pure.

What has no year is the latest that has begun. Seasons are those of the northern half, three whole
months each; a winter has the year in which it begins.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from typing import Final

from dateutil.easter import easter
from dateutil.relativedelta import relativedelta

from mem_search.patterns import pattern

Days = tuple[date, relativedelta]
"""The first day, and how long it lasts."""

MONTHS: Final = (
    "january february march april may june july august september october november december"
).split()
MONTH: Final = rf"(?:{'|'.join(MONTHS)}|sept|{'|'.join(name[:3] for name in MONTHS)})"
_YEAR: Final = "[0-9]{4}"
_NTH: Final = "[0-3]?[0-9](?:st|nd|rd|th)?"
_TO: Final = " ?(?:and|to|until|till|through|-) ?"

_SEASONS: Final = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
"""Season → its first month."""

_ORDINALS: Final = {
    "first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4,
}  # fmt: skip
AROUND: Final = 5
"""Days before and after a holiday that are around it."""

_HOLIDAYS: Final[dict[str, tuple[Callable[[int], date], int]]] = {
    "christmas": (lambda year: date(year, 12, 24), 3),
    "xmas": (lambda year: date(year, 12, 24), 3),
    "christmas eve": (lambda year: date(year, 12, 24), 1),
    "boxing day": (lambda year: date(year, 12, 26), 1),
    "new year's eve": (lambda year: date(year, 12, 31), 1),
    "new year's day": (lambda year: date(year, 1, 1), 1),
    "new year": (lambda year: date(year, 1, 1), 1),
    "easter": (lambda year: easter(year) - timedelta(days=2), 4),
    "pentecost": (lambda year: easter(year) + timedelta(days=49), 2),
    "halloween": (lambda year: date(year, 10, 31), 1),
    "thanksgiving": (lambda year: _nth_weekday(year, 11, weekday=3, nth=4), 1),
    "valentine's day": (lambda year: date(year, 2, 14), 1),
    "midsummer": (lambda year: date(year, 6, 20), 7),
}
"""Holiday → its first day in a year, and how many days it lasts."""

SEASON: Final = "(?:spring|summer|autumn|fall|winter)"
HOLIDAY: Final = f"(?:{'|'.join(sorted(_HOLIDAYS, key=len, reverse=True))})"

_SEASON_FORM: Final = (
    rf"(?:(?P<season_of>last|this|next) )?(?P<season>{SEASON})"
    rf"(?: (?:of )?(?P<season_year>{_YEAR}))?"
)
_PART_FORM: Final = (
    rf"(?:(?P<part>[qh])(?P<nth>[1-4])|(?P<said>last|this|next|{'|'.join(_ORDINALS)})"
    rf" (?P<unit>quarter|half))(?:,? (?:of )?(?P<part_year>{_YEAR}))?"
)
_HOLIDAY_FORM: Final = (
    rf"(?P<around>around )?(?P<last>last )?(?P<holiday>{HOLIDAY})"
    rf"(?: (?:of )?(?P<holiday_year>{_YEAR}))?"
)
_MONTH_FIRST: Final = (
    rf"(?P<m1>{MONTH})\.? (?P<a1>{_NTH}){_TO}(?P<b1>{_NTH})(?:,? (?P<y1>{_YEAR}))?"
)
_DAYS_FIRST: Final = (
    rf"(?P<a2>{_NTH}){_TO}(?P<b2>{_NTH}) (?:of )?(?P<m2>{MONTH})\.?(?:,? (?P<y2>{_YEAR}))?"
)
FORM: Final = f"{_SEASON_FORM}|{_PART_FORM}|{_HOLIDAY_FORM}|{_MONTH_FIRST}|{_DAYS_FIRST}"
"""What ``read`` understands: lower-case ASCII with single spaces."""

_FORM: Final = pattern(FORM)


def read(words: str, today: date) -> Days | None:
    """The days that ``words`` name; None for other words. Raises ValueError for no such day."""
    match = _FORM.fullmatch(words)
    if match is None:
        return None
    if match["season"]:
        return _season(match["season_of"] or "", match["season"], match["season_year"], today)
    if match["holiday"]:
        return _holiday(match, today)
    if match["part"] or match["unit"]:
        return _part(match, today)
    place = "1" if match["m1"] else "2"
    return _two_days(*(match[name + place] for name in "maby"), today=today)


def month_number(name: str) -> int:
    """1 of ``jan`` and ``january``."""
    return [month[:3] for month in MONTHS].index(name[:3]) + 1


def _season(which: str, name: str, year: str | None, today: date) -> Days:
    length = relativedelta(months=3)
    if year:
        return date(int(year), _SEASONS[name], 1), length
    start = date(today.year, _SEASONS[name], 1)
    if which == "next":
        return start + relativedelta(years=start <= today), length
    if which == "this" and start.month != 12:
        return start, length
    if start > today:
        start -= relativedelta(years=1)
    if which == "last" and start + length > today:  # it is not over
        start -= relativedelta(years=1)
    return start, length


def _part(match: re.Match[str], today: date) -> Days:
    """A quarter or a half of a year."""
    months = 6 if match["unit"] == "half" or match["part"] == "h" else 3
    length, now = relativedelta(months=months), (today.month - 1) // months
    steps = {"last": -1, "this": 0, "next": 1}
    if (said := match["said"]) in steps:
        return date(today.year, now * months + 1, 1) + length * steps[said], length
    nth = int(match["nth"]) if match["nth"] else _ORDINALS[said]
    year = int(match["part_year"]) if match["part_year"] else today.year - (nth - 1 > now)
    return date(year, (nth - 1) * months + 1, 1), length


def _holiday(match: re.Match[str], today: date) -> Days:
    first, days = _HOLIDAYS[match["holiday"]]
    year = match["holiday_year"]
    start = first(int(year) if year else today.year)
    if not year and (start > today or (match["last"] and start + timedelta(days=days) > today)):
        start = first(today.year - 1)
    wider = AROUND if match["around"] else 0
    return start - timedelta(days=wider), relativedelta(days=days + 2 * wider)


def _two_days(month: str, first: str, last: str, year: str | None, *, today: date) -> Days:
    """``december 26 and 28 2025``."""
    one, other = (int(re.sub("[a-z]", "", each)) for each in (first, last))
    start = date(int(year) if year else today.year, month_number(month), one)
    if not year and start > today:
        start = start.replace(year=today.year - 1)
    end = start.replace(day=other)
    if end < start:
        raise ValueError(f"{first} is after {last}")
    return start, relativedelta(days=(end - start).days + 1)


def _nth_weekday(year: int, month: int, *, weekday: int, nth: int) -> date:
    first = date(year, month, 1)
    return first + timedelta(days=(weekday - first.weekday()) % 7 + 7 * (nth - 1))
