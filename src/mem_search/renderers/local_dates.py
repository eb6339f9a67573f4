"""Dates and times as the locale of a person's terminal writes them."""

from __future__ import annotations

from datetime import datetime, tzinfo
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from mem_search.text.dates import at_zone

if TYPE_CHECKING:
    from babel import Locale

_USUAL: Final = "en_US"
"""For a terminal that names no language: ``C``, ``POSIX``, or one that nobody knows."""


def local_day(ms: int, tz: tzinfo, now: datetime, locale: str) -> str:
    """``3. März``, with the year unless it is the current one; of today the time."""
    from babel.dates import format_skeleton  # reads tables: only where one is shown

    when, known = at_zone(ms, tz), _locale(locale)
    today = now.astimezone(tz)
    if when.date() == today.date():
        return local_clock(ms, tz, locale)
    skeleton = "MMMd" if when.year == today.year else "yMMMd"
    return format_skeleton(skeleton, when, tz, locale=known)


def local_clock(ms: int, tz: tzinfo, locale: str) -> str:
    """``10:12``, or ``10:12 AM``."""
    from babel.dates import format_time

    time = format_time(at_zone(ms, tz), "short", tz, _locale(locale))
    return time.replace("\u202f", " ")


def local_date(ms: int, tz: tzinfo, locale: str) -> str:
    """``3. März 2026``."""
    from babel.dates import format_date

    return format_date(at_zone(ms, tz), "medium", _locale(locale))


@lru_cache(maxsize=16)
def _locale(name: str) -> Locale:
    from babel import Locale, UnknownLocaleError

    try:
        return Locale.parse(name)
    except (ValueError, TypeError, UnknownLocaleError):
        return Locale.parse(_USUAL)
