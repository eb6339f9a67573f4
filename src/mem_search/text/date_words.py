"""The grammar of dates in words, in the calendar of one time zone.

A phrase is computed as wall time and then converted to instants, so a day has 23 or 25 hours
where the clocks change. A phrase spans its own unit, both ends included: ``october`` the month,
``2024`` the year, ``yesterday`` the day. A weekday, a month or a day without a year is the latest
one that has begun, because everything stored is in the past; today's weekday means a week ago.

Input is lower-case ASCII with single spaces: ``dates`` normalizes other text and words the
errors. ValueError and OverflowError mean that there is no such date.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Final

from dateutil.relativedelta import relativedelta

from mem_search.model import DateRange
from mem_search.patterns import pattern
from mem_search.text import calendar_words
from mem_search.text.calendar_words import MONTH as _MONTH
from mem_search.text.calendar_words import month_number

Span = tuple[int, int]
"""First and last millisecond, both included."""

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAY: Final = timedelta(days=1)
WEEKDAYS: Final = "monday tuesday wednesday thursday friday saturday sunday".split()
COUNTS: Final = "one two three four five six seven eight nine ten eleven twelve".split()
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks", "y": "years"}
_HOURS: Final = {"morning": (0, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 24)}

WEEKDAY: Final = rf"(?:{'|'.join(WEEKDAYS)})"
COUNT: Final = rf"(?:[0-9]{{1,5}}|an?|{'|'.join(COUNTS)})"
UNIT: Final = r"(?:min(?:ute)?s?|h(?:ou)?rs?|days?|weeks?|months?|years?)"
_NTH: Final = r"[0-3]?[0-9](?:st|nd|rd|th)?"


@dataclass(frozen=True, slots=True)
class Clock:
    """Reads phrases relative to ``now`` in the calendar of ``tz``."""

    now: datetime
    tz: tzinfo

    @property
    def today(self) -> date:
        return self.now.date()

    def ms(self, wall: datetime) -> int:
        """The instant of a wall time; of one that the clock skips, the instant after the gap."""
        moment = wall.replace(tzinfo=self.tz)
        if moment.astimezone(UTC).astimezone(self.tz).replace(tzinfo=None) != wall:
            # Imported here: it takes longer than everything else in this module, and gaps are rare.
            from dateutil.tz import resolve_imaginary

            moment = resolve_imaginary(moment)
        return to_ms(moment)

    def days(self, first: date, length: relativedelta) -> Span:
        """From midnight of ``first`` for ``length``, at most to the end of the calendar."""
        start = self.ms(datetime.combine(first, time.min))
        try:
            end = self.ms(datetime.combine(first + length, time.min)) - 1
        except (ValueError, OverflowError):  # "until 9999-12-31" means without end
            end = to_ms(datetime.max.replace(tzinfo=UTC))
        return start, max(start, end)  # a day that a time zone skipped has no length

    def day(self, day: date) -> Span:
        return self.days(day, relativedelta(days=1))

    def week(self, day: date) -> Span:
        return self.days(day - day.weekday() * _DAY, relativedelta(weeks=1))

    def month(self, year: int, month: int) -> Span:
        return self.days(date(year, month, 1), relativedelta(months=1))

    def year(self, year: int) -> Span:
        return self.days(date(year, 1, 1), relativedelta(years=1))

    def hours(self, day: date, first: int, after: int) -> Span:
        start = datetime.combine(day, time.min)
        return (
            self.ms(start + timedelta(hours=first)),
            self.ms(start + timedelta(hours=after)) - 1,
        )

    def unit(self, unit: str, day: date) -> Span:
        match unit:
            case "weeks":
                return self.week(day)
            case "months":
                return self.month(day.year, day.month)
            case "years":
                return self.year(day.year)
            case _:
                return self.day(day)

    def back(self, unit: str, count: int) -> date | int:
        """``count`` units before now: a date, or milliseconds for minutes and hours."""
        if unit in {"minutes", "hours"}:
            return to_ms(self.now) - count * (60_000 if unit == "minutes" else 3_600_000)
        return self.today + _step(unit, -count)

    def range(self, words: str) -> DateRange | None:
        """The range of a whole phrase; None when it is not understood."""
        if (span := self.atom(words)) is not None:
            return DateRange(*span)
        if (days := _BETWEEN_DAYS.fullmatch(words)) and (span := self.atom(days[1])) is not None:
            return DateRange(*span)
        if two := _BETWEEN.fullmatch(words) or _FROM_TO.fullmatch(words):
            return self.between(two[1], two[2])
        if one := _PREFIXED.fullmatch(words):
            return self.prefixed(one[1], one[2])
        return None

    def between(self, first: str, last: str) -> DateRange | None:
        end = self.atom(last, bound=True)
        if end is None:
            return None
        clock = self
        if _RECURRING.fullmatch(first):  # "October to February" means the October before it
            moment = EPOCH + timedelta(milliseconds=end[0])
            clock = Clock(moment.astimezone(self.tz), self.tz)
        start = clock.atom(first, bound=True)
        return None if start is None else DateRange(start[0], end[1])

    def prefixed(self, word: str, rest: str) -> DateRange | None:
        open_ended = word not in {"at", "in", "on", "during", "from", "over", "within", "of", "for"}
        span = self.atom(rest, bound=open_ended)
        if span is None:
            return None
        match word:
            case "since":
                return DateRange(start=span[0])
            case "after":
                return DateRange(start=span[1] + 1)
            case "before":
                return DateRange(end=span[0] - 1)
            case "until" | "till" | "through" | "up to" | "by" | "as of":
                return DateRange(end=span[1])
            case _:
                return DateRange(*span)

    def atom(self, words: str, *, bound: bool = False) -> Span | None:
        """What one date without ``since`` or ``to`` spans.

        As a bound, ``2 months ago`` is that very day; else it is that whole month.
        """
        for form, read in _ATOMS:
            if match := form.fullmatch(words):
                return read(self, match, bound)
        return None


def from_epoch(number: float) -> int:
    """Milliseconds of an epoch number: seconds below 1e11 (the year 5138), else milliseconds.

    Raises ValueError or OverflowError for nan and infinity.
    """
    return round(number * 1000 if abs(number) < 1e11 else number)


def to_ms(moment: datetime) -> int:
    """An aware time as milliseconds since the epoch, rounded down."""
    return (moment - EPOCH) // timedelta(milliseconds=1)


# One function for each form of phrase; _ATOMS at the end maps forms to functions.


def _word(clock: Clock, match: re.Match[str], _bound: bool) -> Span:
    match match[0]:
        case "now":
            return to_ms(clock.now), to_ms(clock.now)
        case "yesterday":
            return clock.day(clock.today - _DAY)
        case "day before yesterday":
            return clock.day(clock.today - 2 * _DAY)
        case "tomorrow":
            return clock.day(clock.today + _DAY)
        case "last night":  # it lasts until this morning
            evening = clock.hours(clock.today - _DAY, *_HOURS["night"])
            return evening[0], clock.hours(clock.today, 0, 6)[1]
        case _:
            return clock.day(clock.today)


def _part_of_day(clock: Clock, match: re.Match[str], _bound: bool) -> Span:
    day = clock.today - _DAY if match[1] == "yesterday" else clock.today
    return clock.hours(day, *_HOURS["night" if match[0] == "tonight" else match[2]])


def _number(clock: Clock, match: re.Match[str], _bound: bool) -> Span:
    digits = match[0]
    if re.fullmatch("[0-9]{4}", digits):
        return clock.year(int(digits))
    if re.fullmatch("[12][0-9]{3}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])", digits):
        return clock.day(date.fromisoformat(digits))
    value = float(digits) if "." in digits or "e" in digits else int(digits)
    if abs(value) >= 1e13:  # after 2286 in ms: probably a date without separators
        raise ValueError(digits)
    instant = from_epoch(value)
    return instant, instant


def _iso_date(clock: Clock, match: re.Match[str], _bound: bool) -> Span:
    year, month, day = int(match[1]), int(match[2]), match[3]
    return clock.month(year, month) if day is None else clock.day(date(year, month, int(day)))


def _iso_week(clock: Clock, match: re.Match[str], _bound: bool) -> Span:
    return clock.week(date.fromisocalendar(int(match[1]), int(match[2]), 1))


def _iso_datetime(clock: Clock, match: re.Match[str], _bound: bool) -> Span:
    # A "+" that was not percent-encoded arrives as a space.
    text = re.sub(r" ([0-9]{2}:?[0-9]{2})$", r"+\1", f"{match[1]}T{match[2]}".upper())
    moment = datetime.fromisoformat(text)
    instant = clock.ms(moment) if moment.tzinfo is None else to_ms(moment)
    return instant, instant


def _ago(clock: Clock, match: re.Match[str], bound: bool) -> Span:
    unit = _unit(match["unit"])
    then = clock.back(unit, _count(match["count"]))
    if isinstance(then, int):
        return then, then if bound else max(then, to_ms(clock.now))
    return clock.day(then) if bound else clock.unit(unit, then)


def _rolling(clock: Clock, match: re.Match[str], bound: bool) -> Span:
    """``past 3 days`` spans three days before today, and today."""
    if bound and match[0][0].isdigit():  # --until 3d is one day, like --since 3d
        return _ago(clock, match, bound)
    then = clock.back(_unit(match["unit"]), _count(match["count"] or "a"))
    if isinstance(then, int):
        return then, max(then, to_ms(clock.now))
    return clock.day(then)[0], clock.day(clock.today)[1]


def _relative(clock: Clock, match: re.Match[str], _bound: bool) -> Span:
    step = {"last": -1, "previous": -1, "next": 1}.get(match[1], 0)
    unit = match[2] + "s"
    return clock.unit(unit, clock.today + _step(unit, step))


def _weekday(clock: Clock, match: re.Match[str], _bound: bool) -> Span:
    ahead = [name[:3] for name in WEEKDAYS].index(match[2][:3]) - clock.today.weekday()
    if match[1] == "next":
        ahead = (ahead - 1) % 7 + 1
    elif match[1] != "this":
        ahead = ahead % 7 - 7
    return clock.day(clock.today + ahead * _DAY)


def _weekend(clock: Clock, match: re.Match[str], _bound: bool) -> Span:
    saturday = clock.today + (5 - clock.today.weekday()) * _DAY
    weeks = {"last": -1, "next": 1}.get(match[1], 0)
    if match[1] in (None, "past") and saturday > clock.today:
        weeks = -1
    return clock.days(saturday + 7 * weeks * _DAY, relativedelta(days=2))


def _week_of(clock: Clock, match: re.Match[str], _bound: bool) -> Span:
    first = EPOCH + timedelta(milliseconds=_first(clock, match[1]))
    return clock.week(first.astimezone(clock.tz).date())


def _first(clock: Clock, words: str) -> int:
    span = None if words.startswith("week of ") else clock.atom(words)
    if span is None:
        raise ValueError(words)
    return span[0]


def _nth(clock: Clock, match: re.Match[str], _bound: bool) -> Span:
    """``3rd``: the latest day with this number in its month."""
    day = int(match[1])
    for months in range(3):  # of two months in a row one has 31 days, but not yet this one
        first = clock.today.replace(day=1) - relativedelta(months=months)
        if 1 <= day <= monthrange(first.year, first.month)[1]:
            latest = first.replace(day=day)
            if latest <= clock.today:
                return clock.day(latest)
    raise ValueError(match[0])


def _month(clock: Clock, match: re.Match[str], _bound: bool) -> Span:
    month, today = month_number(match[2]), clock.today
    year = today.year
    match match[1]:
        case "last":
            year -= month >= today.month
        case "next":
            year += month <= today.month
        case None:
            year -= month > today.month
    return clock.month(year, month)


def _month_year(clock: Clock, match: re.Match[str], _bound: bool) -> Span:
    return clock.month(int(match[2]), month_number(match[1]))


def _month_day(clock: Clock, match: re.Match[str], _bound: bool) -> Span:
    month, day = month_number(match["month"]), int(re.sub("[a-z]", "", match["day"]))
    if match["year"]:
        return clock.day(date(int(match["year"]), month, day))
    # Within nine years there is a 29th of February, even around 2100.
    for year in range(clock.today.year, clock.today.year - 9, -1):
        if 1 <= day <= monthrange(year, month)[1] and date(year, month, day) <= clock.today:
            return clock.day(date(year, month, day))
    raise ValueError(match[0])


def _long(clock: Clock, match: re.Match[str], _bound: bool) -> Span:
    """A season, a quarter, a holiday, or two days of a month."""
    said = calendar_words.read(match[0], clock.today)
    if said is None:
        raise ValueError(match[0])
    return clock.days(*said)


def _count(word: str) -> int:
    if word.isdigit():
        return int(word)
    return 1 if word in {"a", "an"} else COUNTS.index(word) + 1


def _unit(word: str) -> str:
    return "months" if word.startswith("mo") else _UNITS[word[0]]


def _step(unit: str, count: int) -> relativedelta:
    match unit:
        case "days":
            return relativedelta(days=count)
        case "weeks":
            return relativedelta(weeks=count)
        case "months":
            return relativedelta(months=count)
        case _:
            return relativedelta(years=count)


_Reader = Callable[[Clock, re.Match[str], bool], Span]
_SHORT_WEEKDAY: Final = rf"(?:{WEEKDAY}|tues|thurs?|{'|'.join(day[:3] for day in WEEKDAYS)})"
_YEAR: Final = "[0-9]{4}"
_ATOMS: Final[tuple[tuple[re.Pattern[str], _Reader], ...]] = tuple(
    (pattern(form), read)
    for form, read in (
        ("now|today|yesterday|day before yesterday|tomorrow|last night", _word),
        (r"(?:(this|yesterday) (morning|afternoon|evening))|tonight", _part_of_day),
        (r"-?[0-9]{1,20}(?:\.[0-9]{1,9})?(?:e\+?[0-9]{1,2})?", _number),
        (r"([0-9]{4})[-/]([0-9]{1,2})(?:[-/]([0-9]{1,2}))?", _iso_date),
        (r"([0-9]{4})-?w([0-9]{2})", _iso_week),
        (r"([0-9]{4}-?[0-9]{2}-?[0-9]{2})[t ]([0-9][0-9:.,z+\- ]*)", _iso_datetime),
        (rf"(?P<count>{COUNT}) (?P<unit>{UNIT}) ago", _ago),
        (r"(?P<count>[0-9]{1,5}) ?(?P<unit>mo|[mhdwy])", _rolling),
        (rf"(?:last|past|previous) (?P<count>{COUNT}) (?P<unit>{UNIT})", _rolling),
        (rf"past(?P<count>) (?P<unit>{UNIT})", _rolling),
        (r"last(?P<count>) (?P<unit>minute|hour|day)", _rolling),
        ("(last|previous|this|current|next) (week|month|year)", _relative),
        ("(?:(last|past|this|next) )?weekend", _weekend),
        ("week of ([^/]{1,40})", _week_of),
        (calendar_words.FORM, _long),
        ("([0-3]?[0-9])(?:st|nd|rd|th)", _nth),
        (rf"(?:(last|this|next) )?({_SHORT_WEEKDAY})", _weekday),
        (rf"(?:(last|this|next) )?({_MONTH})\.?", _month),
        (rf"({_MONTH})\.?,? ({_YEAR})", _month_year),
        (rf"(?P<month>{_MONTH})\.? (?P<day>{_NTH})(?:,? (?P<year>{_YEAR}))?", _month_day),
        (rf"(?P<day>{_NTH}) (?:of )?(?P<month>{_MONTH})\.?(?:,? (?P<year>{_YEAR}))?", _month_day),
    )
)
_RECURRING: Final = pattern(rf"{_SHORT_WEEKDAY}|(?:{_NTH} )?{_MONTH}\.?(?: {_NTH})?")
_BETWEEN_DAYS: Final = pattern("(?:between|from) (.+(?:and|to|until|till|through|-).+)")
_BETWEEN: Final = pattern("(?:between|from) (.+?) (?:and|to|until|till|through|-) (.+)")
_FROM_TO: Final = pattern(r"(.+?)(?: (?:to|until|till|through|-) |\.\.|/)(.+)")
_PREFIXED: Final = pattern(
    "(since|after|before|until|till|through|up to|by|as of"
    "|at|in|on|during|from|over|within|of|for) (.+)"
)
