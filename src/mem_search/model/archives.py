"""An archive of research: a folder of reports, a folder of saved pages, and when they are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Archive:
    """``research`` and ``pages`` are folders, either may be "". Times are in ms since 1970.

    ``schedule`` is a cron expression or "", ``next_at`` the next run of it. ``statistics`` are
    those of the last run, which ended at ``indexed_at``.
    """

    name: str
    research: str = ""
    pages: str = ""
    schedule: str = ""
    watch: bool = False
    next_at: int | None = None
    indexed_at: int | None = None
    statistics: Mapping[str, Any] = field(default_factory=dict)
