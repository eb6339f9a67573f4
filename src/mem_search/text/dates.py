"""Dates as people write them to milliseconds, and milliseconds to dates as people read them.

``parse_range`` and ``parse_bound`` read a value that must be a date. ``find_dates`` looks for one
in a query, and misses a date rather than take a word of the query. ``date_words`` has the grammar.
Only ``now_ms`` reads the clock; elsewhere ``now`` is an argument, aware or as wall time in ``tz``.
"""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

from mem_search.errors import InputError
from mem_search.model import DateRange
from mem_search.text.date_words import COUNT, EPOCH, MONTHS, UNIT, WEEKDAY, Clock, to_ms

_DATE_TIME = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}):(\d{2})(?:\.(\d+))?([Zz]|[+-]\d{2}:\d{2})", re.ASCII
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
    return InputError("is no RFC 3339 date and time; write 2026-01-31T12:00:00Z", field="date")


_LONGEST: Final = 100

# The phrases that find_dates recognizes: they can hardly mean anything else.
_LONG_MONTH: Final = "|".join(name for name in MONTHS if name != "may")
_CAPITAL_MONTH: Final = "|".join(name.title()[:3] for name in MONTHS if name != "may")
_ANY_MONTH: Final = rf"(?:{'|'.join(MONTHS)}|sept|{_CAPITAL_MONTH.lower()})\.?"
# "may" is a verb, and code has "dec" and "mar": alone they need a capital.
_SURE_MONTH: Final = rf"(?:{_LONG_MONTH}|(?-i:May|Sept|(?:{_CAPITAL_MONTH})\.?))"
_YEAR: Final = "(?:19[89]|20[0-9])[0-9]"
# "in 2000 files": a number before a plural or a unit is no year.
_NO_COUNT: Final = r"(?:as|is|was|has|does|this|its|us|vs|across|versus)\b"
_LONE_YEAR: Final = rf"{_YEAR}(?!\s+(?!{_NO_COUNT})(?:[a-z]+s|token|record|[kmg]?b|px)\b)"
_NTH: Final = "[0-3]?[0-9](?:st|nd|rd|th)?"
_MONTH_YEAR: Final = rf"{_ANY_MONTH}(?:,\s?|\s){_YEAR}"
_DAY_YEAR: Final = rf"(?:{_ANY_MONTH}\s{_NTH}|{_NTH}\s(?:of\s)?{_ANY_MONTH})(?:,\s?|\s){_YEAR}"
_DAY: Final = rf"(?:{_DAY_YEAR}|{_ANY_MONTH}\s{_NTH}|{_NTH}\s(?:of\s)?{_ANY_MONTH})"
_ISO: Final = rf"{_YEAR}-[01][0-9](?:-[0-3][0-9])?"
_EXPLICIT: Final = "|".join(
    (
        r"day\sbefore\syesterday|yesterday\s(?:morning|afternoon|evening)|yesterday|today|tonight",
        r"this\s(?:morning|afternoon|evening)|last\snight|(?:this|last|past)\s(?:week|month|year)",
        rf"{COUNT}\s{UNIT}\sago|(?:last|past)\s{COUNT}\s{UNIT}|past\s(?:day|hour)",
        rf"(?:last|this)\s(?:{_SURE_MONTH}|{WEEKDAY})",
        rf"{_DAY_YEAR}|{_MONTH_YEAR}|(?-i:(?:{_CAPITAL_MONTH})[a-z]*)\s{_NTH}",
    )
)
_POINT: Final = rf"(?:the\s)?(?:{_EXPLICIT}|{_ISO}|{_DAY}|{WEEKDAY}|{_SURE_MONTH}|{_LONE_YEAR})"
_QUOTED: Final = re.compile(r'"[^"]*(?:"|\Z)|“[^”]*(?:”|\Z)|`[^`]*(?:`|\Z)')
# "the week before March" is one week, not all time before March.
_DISTANCE: Final = re.compile(rf"\b(?:{UNIT}|{WEEKDAY}|night|morning)\s$", re.IGNORECASE)
_CLOSING: Final = tuple("?!.,;:)]}")
_PHRASE: Final = re.compile(
    rf"""(?<![\w\-./@\#:])
    (?P<date> (?:between|from)\s{_POINT}\s(?:and|to|until|till|-)\s{_POINT}
      | (?:since|after|before|until|till|as\sof)\s{_POINT}
      | by\s(?:{_DAY}|{_ISO}|{_MONTH_YEAR})
      | (?:in|during)\s(?:{_ISO}|{_MONTH_YEAR}|{_SURE_MONTH}|{_LONE_YEAR})
      | (?:on|from)\s(?:{_DAY}|{_ISO}|{_MONTH_YEAR}|{WEEKDAY})
      | from\s{_LONE_YEAR}(?!\s(?:to|until|till|-)\s)
      | (?:(?:in|on|during|from|over|within|of|for)\s)?(?:the\s)?(?:{_EXPLICIT})
    )(?:['’]s)?(?![\w\-/@\#]|\.\w)""",
    re.VERBOSE | re.IGNORECASE,
)


def parse_range(text: str, *, now: datetime, tz: tzinfo, field: str = "dateRange") -> DateRange:
    """The range that ``text`` names: ``last October``, ``since Tuesday``, ``X to Y``, ``2024``.

    ``since`` and ``until`` include the date, ``after`` and ``before`` exclude it. Raises
    InputError naming ``field`` when ``text`` is no date, or ends before it begins.
    """
    clock = Clock(_aware(now, tz), tz)
    words = _normalise(text)
    try:
        found = clock.range(words)
    except (ValueError, OverflowError):
        found = None
    if found is None:
        raise _refusal(text, field)
    if found.start is not None and found.end is not None and found.start > found.end:
        raise InputError(
            f"{clipped(text)} ends before it begins: give the earlier date first", field=field
        )
    return found


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
        span = clock.atom(_normalise(text), bound=True)
    except (ValueError, OverflowError):
        span = None
    if span is None:
        raise _refusal(text, field)
    return span[1] if end else span[0]


def _refusal(text: str, field: str) -> InputError:
    return InputError(
        f"{clipped(text)} is not a date; write 2025-10-03 or '3 days ago', for example", field=field
    )


def clipped(text: str) -> str:
    """``text`` in quotes for a message, cut after 60 characters."""
    return repr(text if len(text) <= 60 else text[:60] + "…")


def _aware(now: datetime, tz: tzinfo) -> datetime:
    return now.replace(tzinfo=tz) if now.tzinfo is None else now.astimezone(tz)


def _normalise(text: str) -> str:
    """Lower case with single spaces; empty when it cannot be a date anyway."""
    if len(text) > _LONGEST:
        return ""
    words = " ".join(text.translate({0x2013: "-", 0x2014: "-"}).lower().split())
    words = re.sub(r",(?=[0-9]{4}\b)", ", ", words)
    return re.sub(r"\bthe ", "", words).strip(" ?!,;") if words.isascii() else ""


def find_dates(text: str, now: datetime, tz: tzinfo) -> tuple[DateRange, str, str]:
    """The first clear date phrase in a question: (range, text without it, the phrase).

    Finds ``since Tuesday``, ``last October``, ``in 2024``, ``3 days ago``; takes no lone month,
    weekday, year or ISO date, and nothing inside double quotes or backticks. Without one the
    answer is (DateRange(), text, "").
    """
    quoted = [match.span() for match in _QUOTED.finditer(text)]
    for match in _PHRASE.finditer(text):
        start, end = match.span()
        if any(start < after and first < end for first, after in quoted):
            continue
        if match["date"][:6].lower().startswith(("before", "after")) and _DISTANCE.search(
            text[max(0, start - 12) : start]
        ):
            continue
        try:
            found = parse_range(match["date"], now=now, tz=tz)
        except InputError:  # "on 31 February" remains in the query as words
            continue
        return found, _without(text, start, end), text[start:end]
    return DateRange(), text, ""


def _without(text: str, start: int, end: int) -> str:
    before, after = text[:start].rstrip(), text[end:].lstrip()
    if not before:
        return after.lstrip(" ,;:").rstrip()
    return (before + ("" if after.startswith(_CLOSING) else " ") + after).rstrip()


def now_ms() -> int:
    """The current time in milliseconds since 1970."""
    return int(time.time() * 1000)


def iso(ms: int) -> str:
    """RFC 3339 in UTC with milliseconds: ``2025-11-17T17:45:00.000Z``."""
    return _to_datetime(ms).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


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


def local(ms: int, tz: tzinfo, now: datetime) -> str:
    """``Nov 17, 5:45 PM``, and ``Nov 17, 2024, 5:45 PM`` unless the year is the current one."""
    try:
        when = _to_datetime(ms).astimezone(tz)
    except OverflowError:  # the first or last day of the calendar
        when = _to_datetime(ms)
    year = "" if when.year == now.astimezone(tz).year else f" {when.year},"
    hour, half = when.hour % 12 or 12, "AM" if when.hour < 12 else "PM"
    return f"{MONTHS[when.month - 1].title()[:3]} {when.day},{year} {hour}:{when:%M} {half}"


def _to_datetime(ms: int) -> datetime:
    try:
        return EPOCH + timedelta(milliseconds=ms)
    except OverflowError:
        raise InputError(
            f"{ms} is no time in milliseconds between the years 1 and 9999", field="date"
        ) from None
