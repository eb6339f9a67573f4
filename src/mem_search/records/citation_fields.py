"""The author and dates of a record, from its metadata. Sources use many names for the same fact.
Nothing is guessed: a year or a month alone stays one, and values of another type are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from mem_search.errors import InputError
from mem_search.patterns import pattern
from mem_search.text import dates
from mem_search.text.calendar_words import MONTHS
from mem_search.text.date_words import from_epoch, to_ms

AUTHORS = ("author", "authors", "byline", "creator")
PUBLISHED = (
    "published_at", "published_date", "date_published", "datePublished", "publication_date",
    "published",
)  # fmt: skip
ACCESSED = ("last_opened_at", "last_accessed", "accessed_at", "retrieved_at")
NAMES = frozenset((*AUTHORS, *PUBLISHED, *ACCESSED))

_DAY = pattern(r"\d{4}-\d{2}-\d{2}(?:$|[Tt ])")
_MAIL = pattern(r"(?:\w{3},\s+)?\d{1,2}\s+\w{3}\s+\d{4}\s+\d{2}:\d{2}", re.ASCII)
"""The header ``Date`` of an e-mail (RFC 5322)."""
_MIN_EPOCH = 100_000_000
"""A smaller number may be a year or a day written without its dashes."""
_YEAR, _MONTH, _NTH = r"(?P<year>[12]\d{3})", r"(?P<month>[^\W\d_]{3,9}\.?)", r"(?P<day>\d{1,2})"
_NUMBER = r"(?P<month>\d{1,2})"
_WRITTEN = tuple(
    pattern(form + r"\Z", re.ASCII)
    for form in (
        _YEAR,
        rf"{_YEAR}[-/.]{_NUMBER}",
        rf"{_NUMBER}/{_YEAR}",
        rf"{_MONTH},? {_YEAR}",
        rf"{_YEAR},? {_MONTH}",
        rf"{_YEAR}/{_NUMBER}/{_NTH}",
        rf"{_MONTH} {_NTH}(?:st|nd|rd|th)?,? {_YEAR}",
        rf"{_NTH}(?:st|nd|rd|th|\.)? {_MONTH},? {_YEAR}",
        rf"{_YEAR},? {_MONTH} {_NTH}",
    )
)
"""Dates as people and reference managers write them, with a year, a month or a day at their end.
Days as numbers after the month are read only with the year first: 3/5/2024 is two days."""


def words(metadata: Mapping[str, Any], *names: str) -> str:
    """The first of ``names`` that is a text, or a list of texts, on one line; else ""."""
    for name in names:
        if (value := metadata.get(name)) is None:
            continue
        items = value if isinstance(value, list) else [value]
        texts = [" ".join(item.split()) for item in items if isinstance(item, str) and item.strip()]
        if texts:
            return "; ".join(texts)
    return ""


def first_time(metadata: Mapping[str, Any], *names: str) -> int | None:
    """The first of ``names`` that is a date or a time, in milliseconds."""
    for name in names:
        if (value := metadata.get(name)) is not None and (at := _read_time(value)) is not None:
            return at
    return None


def first_month(metadata: Mapping[str, Any], *names: str) -> tuple[int, ...]:
    """The first of ``names`` that is a year or a month alone: (year,) or (year, month); else ()."""
    for name in names:
        value = metadata.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if isinstance(value, str) and 0 < len(parts := _written(value)) < 3:
            return parts
    return ()


def _written(text: str) -> tuple[int, ...]:
    """(year, month, day) as far as ``text`` has them; () for anything else."""
    text = " ".join(text[:_MAX_DATE_CHARS].split())
    for form in _WRITTEN:
        if match := form.match(text):
            parts = match.groupdict()
            month = parts.get("month")
            numbers = [int(parts["year"])]
            if month is not None:
                numbers.append(int(month) if month.isdecimal() else _month(month))
            if (day := parts.get("day")) is not None:
                numbers.append(int(day))
            try:
                date(*(*numbers, 1, 1)[:3])
            except ValueError:
                return ()
            return tuple(numbers)
    return ()


_MAX_DATE_CHARS = 40
"""Characters of a written date; a longer text is none."""


def _month(word: str) -> int:
    """The number of an English month, also of its first three letters; 0 for another word."""
    word = word.rstrip(".").lower()
    known = (at for at, name in enumerate(MONTHS, 1) if word in (name, name[:3], name[:4]))
    return next(known, 0)


def _read_time(value: object) -> int | None:
    try:
        match value:
            case str() if _DAY.match(value.strip()):
                return dates.from_iso(value.strip().upper())
            case str() if _MAIL.match(value.strip()):
                sent = parsedate_to_datetime(value.strip())
                return to_ms(sent if sent.tzinfo else sent.replace(tzinfo=UTC))
            case str() if len(parts := _written(value)) == 3:
                return to_ms(datetime(*parts, tzinfo=UTC))  # type: ignore[misc,arg-type]
            case int() | float() if not isinstance(value, bool) and value >= _MIN_EPOCH:
                at = from_epoch(value)
                dates.iso(at)  # a time that cannot be formatted is not valid
                return at
    except (ValueError, OverflowError, InputError, TypeError, IndexError):
        return None
    return None
