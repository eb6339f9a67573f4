"""The columns with text from outside, beside the records and what is derived from them.

Every store has these tables and columns under the same names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

TEXTS: Final[Mapping[str, tuple[str, ...]]] = {
    "archives": ("name", "research", "pages", "statistics"),
    "cursors": ("location", "label", "options", "cursor", "error"),
    "ledger": ("location", "item", "reason"),
    "jobs": ("params", "message", "result"),
    "search_log": ("query", "filters"),
    "search_operations": ("session_id", "query", "request", "report"),
    "search_jobs": ("request", "result", "error"),
    "saved_searches": ("name", "request", "error"),
    "scopes": ("name", "filter"),
    "webhook_deliveries": ("body", "error"),
}
"""Table → columns."""

SEALED: Final = (
    ("search_jobs", "webhook_url"), ("saved_searches", "webhook_url"),
    ("webhook_deliveries", "url"),
)  # fmt: skip
"""Columns with the URLs of webhooks, which are sealed."""

KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "archives": ("name",),
    "cursors": ("source", "location"),
    "ledger": ("source", "location", "item"),
    "saved_searches": ("name",),
    "scopes": ("name",),
}
"""Table → the columns that no two rows have alike, where texts of ``TEXTS`` are among these."""

WITHOUT_CASE: Final = ("saved_searches", "scopes")
"""Tables whose names are alike without regard to case."""
