"""Times as they stand in a line of the exchange format; ``text.dates.iso`` writes them."""

from __future__ import annotations

from mem_search.errors import InputError
from mem_search.text import dates

_SECONDS_BELOW = 100_000_000_000
"""A smaller number is seconds (until the year 5138), a larger one milliseconds (from 1973)."""


def read_time(value: object) -> int | None:
    """Milliseconds since 1970 of an ISO 8601 string or an epoch number; None stays None.

    A string without an offset is UTC, so that a file means the same on every machine. Raises
    ValueError for anything else, and outside the years 1 to 9999.
    """
    try:
        match value:
            case None:
                return None
            case str():
                at = dates.from_iso(value.upper())
            case int() | float() if not isinstance(value, bool):
                at = round(value * 1000 if abs(value) < _SECONDS_BELOW else value)
            case _:
                raise ValueError
        dates.iso(at)  # what cannot be written must not be stored
    except (ValueError, OverflowError, InputError):
        raise ValueError(
            f"{value!r:.60} is no time; write 2026-01-31T12:00:00Z, or seconds or milliseconds"
            " since 1970"
        ) from None
    return at
