"""The query parameters of the lists of ``/api/v1``."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from mem_search.http.core.parameters import FARTHEST, Parameters, Seen
from mem_search.http.schemas.universal_requests import Id


class Listing(Parameters):
    """A list in pages, the newest first."""

    limit: int = Field(default=20, ge=1, le=100, description="How many at most")
    offset: int = Field(default=0, ge=0, le=FARTHEST, description="How many to skip")


class OperationsListing(Listing):
    """Which operations."""

    session_id: Id = Field(default="", description="Only those of this session")
    operation_type: Literal["search", "fetch", "refine"] | None = Field(
        default=None, description="Only those of this type"
    )


class JobsListing(Listing):
    """Which background searches."""

    status: Literal["pending", "running", "completed", "failed", "cancelled"] | None = Field(
        default=None, description="Only those of this status"
    )


class NotificationsListing(Listing):
    """Which notifications."""

    unread: bool = Field(default=False, description="Only those that were not read")
    search: str = Field(default="", max_length=64, description="Only of this saved search")


class ReplayParameters(Parameters):
    """What a replay answers."""

    results: bool = Field(default=True, description="Whether the new results are in the reply")


class SessionReplayParameters(Parameters):
    """What the replay of a session answers."""

    results: bool = Field(default=False, description="Whether the new results are in the reply")


class ExportParameters(Seen):
    """How a session is written."""

    format: Literal["json", "markdown"] = Field(default="json", description="JSON or Markdown")
    style: Literal["apa", "mla", "chicago"] = Field(
        default="apa", description="How sources are cited"
    )
