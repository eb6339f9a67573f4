"""The time zone in which a caller sees and writes dates."""

from __future__ import annotations

from datetime import tzinfo
from functools import cache
from zoneinfo import ZoneInfo

from dateutil.tz import gettz, tzlocal

from mem_search.errors import InputError

Zone = tzinfo


@cache
def zone(name: str) -> Zone:
    """The IANA zone called ``name``; the machine's own for an empty name. Raises InputError."""
    if not name:
        # With its rules, not today's offset: records of last summer keep their hour.
        return gettz() or tzlocal()
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError):  # OSError: names of directories, such as Europe
        raise InputError(
            f"{name[:60]!r} is no time zone; write an IANA name such as Europe/Berlin", field="tz"
        ) from None
