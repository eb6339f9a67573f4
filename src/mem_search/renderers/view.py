"""How a reader sees records: in which time zone, at which moment, with which kinds.

Listings are pure functions of values and a ``View``, so that a snapshot of one never ages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from mem_search.contracts import RecordKind
from mem_search.text import dates

_LONG_AGO = datetime(4, 1, 1, tzinfo=UTC)
"""Seen from here, no record is of this year: its date is written with the year."""


@dataclass(frozen=True, slots=True)
class View:
    """``kinds`` finds a kind by its name (``records.by_name``); ``now`` is aware.

    Times are milliseconds since 1970.
    """

    kinds: Callable[[str], RecordKind]
    tz: tzinfo
    now: datetime

    def date(self, at: int) -> str:
        """``Nov 17, 5:45 PM``, with the year when it is not the current one."""
        return dates.local(at, self.tz, self.now)

    def full_date(self, at: int) -> str:
        """``Nov 17, 2025, 5:45 PM``."""
        return dates.local(at, self.tz, _LONG_AGO)

    def day(self, at: int) -> str:
        """``Nov 17, 2025``."""
        return self.full_date(at).rpartition(", ")[0]

    def time(self, at: int) -> str:
        """``5:45 PM``."""
        return self.full_date(at).rpartition(", ")[2]
