"""Saved searches, and what they report.

Times are milliseconds since 1970.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class StoredPlan:
    """What to search, when, and where to report; "" is nowhere."""

    request: Mapping[str, Any]
    schedule: str = ""
    inbox: bool = True
    webhook_url: str = ""
    email: str = ""


@dataclass(frozen=True, slots=True)
class SavedSearch:
    """A search that is repeated; without ``schedule`` it runs only on demand."""

    id: int
    name: str
    request: Mapping[str, Any]
    schedule: str
    inbox: bool
    webhook_url: str
    email: str
    created_at: int
    since: int
    newest_record: int
    ran_at: int | None
    next_at: int | None
    error: str


@dataclass(frozen=True, slots=True)
class Match:
    """A record that a saved search reports; ``changed`` when the record existed before."""

    number: int
    changed: bool


MAX_IN_MESSAGE = 100
"""Matches that a webhook message names; its ``count`` counts all of them."""

MAX_LISTED = 1_000
"""Matches of a notification that are stored by number; its ``count`` counts all of them."""


@dataclass(frozen=True, slots=True)
class Notification:
    """What one run of a saved search reported: the best ``matches`` first, ``count`` of all.

    The deliveries are its messages to the webhook and by e-mail.
    """

    id: int
    search: str
    at: int
    count: int
    delivery_id: str | None
    email_delivery_id: str | None
    read_at: int | None
    matches: tuple[Match, ...] = ()
