"""A search in the background. Times are milliseconds since 1970."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

SearchJobStatus = Literal["pending", "running", "completed", "failed", "cancelled"]


UNFINISHED: tuple[SearchJobStatus, ...] = ("pending", "running")


@dataclass(frozen=True, slots=True)
class SearchJob:
    """A background search. ``done`` of ``total`` steps are done, ``step`` is the current one.

    ``result`` is the reply as JSON text, as a search in the foreground would have sent it.
    """

    id: str
    status: SearchJobStatus
    request: Mapping[str, Any]
    surface: str
    webhook_url: str
    delivery_id: str | None
    step: str
    done: int
    total: int
    result: str | None
    error: str
    created_at: int
    started_at: int | None
    completed_at: int | None
