"""Dates as people write them to milliseconds, and milliseconds to dates as people read them.

``parse_range`` and ``parse_bound`` read a value that must be a date. ``question_times`` looks for
times in a question. ``date_words`` has the grammar.
Only ``now_ms`` reads the clock; elsewhere ``now`` is an argument, aware or as wall time in ``tz``.
"""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

from mem_search.errors import InputError
from mem_search.model import DateRange
from mem_search.patterns import pattern
from mem_search.text.calendar_words import MONTHS
from mem_search.text.date_words import COUNTS, EPOCH, UNIT, WEEKDAYS, Clock, to_ms

_DATE_TIME = pattern(
    r"(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}):(\d{2})(?:\.(\d+))?([Zz]|[+-]\d{2}:\d{2})", re.ASCII
)
_MOMENT = pattern(
    r"(\d{4}-\d{2}-\d{2})"
    r"(?:[Tt ](\d{2}:\d{2})(?::(\d{2})(?:[.,](\d+))?)?([Zz]|[+-]\d{2}:?\d{2})?)?",
    re.ASCII,
)


def read_rfc3339(text: str) -> int:
    """An RFC 3339 time as milliseconds since 1970, rounded down. Raises InputError."""
    match = _DATE_TIME.fullmatch(text)
    if match is None:
        raise _rfc3339_refusal()
    day, minute, second, fraction, offset = match.groups()
    leap = second == "60"  # RFC 3339 allows leap seconds, datetime does not
    clock = f"{minute}:{'59' if leap else second}.{(fraction or '')[:3]:0<3}"
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}{offset.upper()}")
        return to_ms(moment + timedelta(seconds=leap))
    except (ValueError, OverflowError):
        raise _rfc3339_refusal() from None


def _rfc3339_refusal() -> InputError:
    return InputError(
        "is not an RFC 3339 date and time; write 2026-01-31T12:00:00Z, or 2026-01-31", field="date"
    )


def read_moment(text: str, tz: tzinfo, *, end: bool = False) -> tuple[int, bool]:
    """A date, or a date and time, as milliseconds since 1970; and whether it says its offset.

    Without one it is in ``tz``, as Python's ``isoformat`` writes it. A day is its first
    millisecond, with ``end`` its last. Raises InputError.
    """
    match = _MOMENT.fullmatch(text.strip())
    if match is None or match[3] == "60":
        return read_rfc3339(text), True
    day, minute, second, fraction, offset = match.groups()
    clock = f"{minute or '00:00'}:{second or '00'}.{(fraction or '')[:3]:0<3}"
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}{(offset or '').upper()}")
        if minute is None and end:
            moment = moment.replace(hour=23, minute=59, second=59, microsecond=999_000)
        return to_ms(moment if moment.tzinfo else moment.replace(tzinfo=tz)), bool(offset)
    except (ValueError, OverflowError):
        raise _rfc3339_refusal() from None


_MAX_CHARS: Final = 100
_KNOWN: Final = frozenset(
    f"{' '.join((*MONTHS, *WEEKDAYS, *COUNTS))} a an ago"
    f" {' '.join(name[:3] for name in (*MONTHS, *WEEKDAYS))}"
    " and as at before after between by current during for from in last next now of on over past"
    " previous since the this through till to today tomorrow tonight until up weekend within"
    " yesterday morning afternoon evening night day sept tues thur thurs".split()
)
_MAX_WORDS: Final = 12


def parse_range(text: str, *, now: datetime, tz: tzinfo, field: str = "dateRange") -> DateRange:
    """The range that ``text`` names: ``last October``, ``since Tuesday``, ``X to Y``, ``2024``.

    ``since`` and ``until`` include the date, ``after`` and ``before`` exclude it. Raises
    InputError naming ``field`` when ``text`` is no date, or ends before it begins.
    """
    clock = Clock(_aware(now, tz), tz)
    words = normalised(text)
    try:
        span = clock.range(words)
    except (ValueError, OverflowError):
        span = None
    if span is None:
        raise _refusal(text, field, clock)
    if span.start is not None and span.end is not None and span.start > span.end:
        raise InputError(
            f"{clipped(text)} ends before it begins: give the earlier date first", field=field
        )
    return span


def parse_bound(
    value: str | int | float, *, end: bool, now: datetime, tz: tzinfo, field: str
) -> int:
    """One end of a range: the first millisecond that ``value`` spans, or the last.

    Numbers and strings of digits are epoch seconds or milliseconds by their magnitude, except
    four digits (a year) and eight that form a date (20251003). Raises InputError naming ``field``.
    """
    try:
        text = str(value)
    except ValueError:  # Python converts no integer of more than 4300 digits
        text = "a number that long"
    clock = Clock(_aware(now, tz), tz)
    try:
        span = clock.atom(normalised(text), bound=True)
    except (ValueError, OverflowError):
        span = None
    if span is None:
        raise _refusal(text, field, clock)
    return span[1] if end else span[0]


def _refusal(text: str, field: str, clock: Clock) -> InputError:
    why = _misunderstood(normalised(text), clock)
    return InputError(
        f"{clipped(text)} is not a date{why}; write 2025-10-03 or '3 days ago', for example",
        field=field,
    )


def _misunderstood(words: str, clock: Clock) -> str:
    """What of a text that is no date was understood, as the end of a sentence; or empty."""
    tokens = words.split()[:_MAX_WORDS]
    strange = [word for word in tokens if not _is_known(word)]
    if tokens and not strange:
        return ": every word was understood, but there is no such date"
    for length in range(len(tokens) - 1, 0, -1):
        for at in range(len(tokens) - length + 1):
            part = " ".join(tokens[at : at + length])
            try:
                span = None if part.isdigit() else clock.range(part)
            except (ValueError, OverflowError):
                span = None
            if span is not None:
                others = " ".join((*tokens[:at], *tokens[at + length :]))
                return f": {part!r} was understood, {others!r} was not"
    return f": {strange[0]!r} was not understood" if len(strange) < len(tokens) else ""


def _is_known(word: str) -> bool:
    """Whether the word has a meaning in some date."""
    bare = word.strip(",.")
    numbers = rf"[0-3]?[0-9](?:st|nd|rd|th)?|[0-9]{{4}}|{UNIT}|[0-9-]{{6,10}}"
    return bare in _KNOWN or re.fullmatch(numbers, bare) is not None


def clipped(text: str) -> str:
    """``text`` in quotes for a message, cut after 60 characters."""
    return repr(text if len(text) <= 60 else text[:60] + "…")


def _aware(now: datetime, tz: tzinfo) -> datetime:
    return now.replace(tzinfo=tz) if now.tzinfo is None else now.astimezone(tz)


def normalised(text: str) -> str:
    """Lower case with single spaces; empty when it cannot be a date anyway."""
    if len(text) > _MAX_CHARS:
        return ""
    words = " ".join(text.translate({0x2013: "-", 0x2014: "-"}).lower().split())
    words = re.sub(r",(?=[0-9]{4}\b)", ", ", words)
    return re.sub(r"\bthe ", "", words).strip(" ?!,;") if words.isascii() else ""


def now_ms() -> int:
    """The current time in milliseconds since 1970."""
    return int(time.time() * 1000)


FIRST_TIME, LAST_TIME = -62_135_596_800_000, 253_402_300_799_999
"""Milliseconds since 1970 of the first and the last moment that has a date: years 1 and 9999."""


def stored_time(ms: object) -> int:
    """A time as it is in a store. Raises ValueError for what is none: the store was damaged."""
    if isinstance(ms, int) and FIRST_TIME <= ms <= LAST_TIME:
        return ms
    raise ValueError(f"{ms!r} is not a time between the years 1 and 9999")


def iso(ms: int) -> str:
    """RFC 3339 in UTC with milliseconds: ``2025-11-17T17:45:00.000Z``."""
    return _to_datetime(ms).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def iso_in(ms: int, tz: tzinfo) -> str:
    """RFC 3339 by a clock in ``tz``: ``2025-11-17T18:45:00+01:00``."""
    try:
        when = _to_datetime(ms).astimezone(tz)
    except OverflowError:  # the first or last day of the calendar
        when = _to_datetime(ms)
    return when.isoformat(timespec="milliseconds" if ms % 1000 else "seconds")


def from_iso(text: str) -> int:
    """Milliseconds of an ISO 8601 date or time; UTC where it has no offset.

    Raises InputError.
    """
    try:
        moment = datetime.fromisoformat(text.strip())
        return to_ms(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except ValueError:
        raise InputError(
            f"{clipped(text)} is not an ISO 8601 time; write 2025-10-03 or 2025-10-03T17:45:00Z",
            field="date",
        ) from None


def to_the_minute(ms: int, tz: tzinfo) -> str:
    """``2026-11-24 16:27``, by a clock in ``tz``."""
    return iso(as_utc(ms, tz))[:16].replace("T", " ")


def local(ms: int, tz: tzinfo, now: datetime) -> str:
    """``Nov 17, 5:45 PM``, and ``Nov 17, 2024, 5:45 PM`` unless the year is the current one."""
    when = at_zone(ms, tz)
    year = "" if when.year == now.astimezone(tz).year else f" {when.year},"
    hour, half = when.hour % 12 or 12, "AM" if when.hour < 12 else "PM"
    return f"{MONTHS[when.month - 1].title()[:3]} {when.day},{year} {hour}:{when:%M} {half}"


def at_zone(ms: int, tz: tzinfo) -> datetime:
    """The time by a clock in ``tz``; in UTC on the first and the last day of the calendar."""
    try:
        return _to_datetime(ms).astimezone(tz)
    except OverflowError:
        return _to_datetime(ms)


def local_range(span: DateRange, tz: tzinfo, now: datetime) -> str:
    """``Nov 9-15``, ``Nov 28-Dec 4``, ``Nov 22``, ``since Nov 9``, ``Nov 22, 6:00 PM-Nov 23, …``.

    The year is there unless it is the current one.
    """
    if span.start is None or span.end is None:
        if span.start is not None:
            return f"since {_moment(span.start, tz, now, first=True)}"
        return f"until {_moment(span.end, tz, now, first=False)}" if span.end is not None else ""
    first = _moment(span.start, tz, now, first=True)
    last = _moment(span.end, tz, now, first=False)
    if first == last:
        return first
    month, _, day = last.partition(" ")
    number, _, year = first.removeprefix(f"{month} ").partition(", ")
    if number.isdigit() and year == day.partition(", ")[2]:  # of one month
        return f"{month} {number}-{day}"
    if year and first.endswith(year) and last.endswith(f", {year}"):
        return f"{first.removesuffix(f', {year}')}-{last}"
    return f"{first}-{last}"


def _moment(at: int, tz: tzinfo, now: datetime, *, first: bool) -> str:
    """``Nov 9``; with the time where a range does not begin or end with a day."""
    edge = at if first else at + 1
    text = local(at if first else edge, tz, now)
    if text.endswith(", 12:00 AM"):
        return local(at, tz, now).rpartition(", ")[0]
    return text


def as_utc(ms: int, tz: tzinfo) -> int:
    """The time that a clock in UTC shows the same as a clock in ``tz`` does at ``ms``."""
    try:
        return to_ms(_to_datetime(ms).astimezone(tz).replace(tzinfo=UTC))
    except OverflowError:  # the first or last day of the calendar
        return ms


def _to_datetime(ms: int) -> datetime:
    try:
        return EPOCH + timedelta(milliseconds=ms)
    except OverflowError:
        raise InputError(
            f"{ms} is not a time in milliseconds between the years 1 and 9999", field="date"
        ) from None
