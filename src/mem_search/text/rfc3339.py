"""Moments as programs exchange them: RFC 3339 ``date-time``, and nothing that looks like it.

People's dates are ``dates``; a contract between programs has one spelling, with a day, a time
and an offset, so that nobody has to guess what a number or a bare day means.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from mem_search.errors import InputError
from mem_search.text.date_words import to_ms

_DATE_TIME = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}):(\d{2})(?:\.(\d+))?([Zz]|[+-]\d{2}:\d{2})", re.ASCII
)


def read(text: str) -> int:
    """Milliseconds since 1970; finer fractions are dropped. Raises InputError."""
    match = _DATE_TIME.fullmatch(text)
    if match is None:
        raise _refusal()
    day, minute, second, fraction, offset = match.groups()
    leap = second == "60"  # RFC 3339 knows leap seconds, datetime does not
    clock = f"{minute}:{'59' if leap else second}.{(fraction or '')[:3]:0<3}"
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}{offset.upper()}")
        return to_ms(moment + timedelta(seconds=leap))
    except (ValueError, OverflowError):
        raise _refusal() from None


def _refusal() -> InputError:
    return InputError("is no RFC 3339 date and time; write 2026-01-31T12:00:00Z", field="date")
