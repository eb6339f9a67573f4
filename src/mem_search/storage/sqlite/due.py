"""Whether a store has something to do by itself: now, or when its time comes."""

from __future__ import annotations

import sqlite3


def has_plans(connection: sqlite3.Connection) -> bool:
    """An unfinished job or search, a message on its way, or a saved search with a schedule."""
    (planned,) = connection.execute(
        "select exists (select 1 from jobs where state in ('queued', 'running'))"
        " or exists (select 1 from search_jobs where status in ('pending', 'running'))"
        " or exists (select 1 from webhook_deliveries where state = 'pending')"
        " or exists (select 1 from saved_searches where next_at is not null)"
    ).fetchone()
    return bool(planned)
