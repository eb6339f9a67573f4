"""Whether a store has something to do by itself: now, or when its time comes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from mem_search.model.saved_searches import Match, SavedSearch

_COLUMNS = (
    "id, name, request, every_seconds, inbox, webhook_url, created_at, since, newest_record,"
    " ran_at, next_at, error"
)


def create(
    connection: sqlite3.Connection,
    name: str,
    request: Mapping[str, Any],
    *,
    every_seconds: int | None,
    inbox: bool,
    webhook_url: str,
    at: int,
) -> bool:
    """A new one, which tells of what is stored from now on; False when the name is taken."""
    return bool(
        connection.execute(
            "insert or ignore into saved_searches(name, request, every_seconds, inbox,"
            " webhook_url, created_at, since, next_at, newest_record)"
            " select ?, ?, ?, ?, ?, ?, ?, ?, coalesce(max(id), 0) from records",
            (
                name,
                json.dumps(request),
                every_seconds,
                int(inbox),
                webhook_url,
                at,
                at,
                _next(at, every_seconds),
            ),
        ).rowcount
    )


def change(
    connection: sqlite3.Connection,
    name: str,
    request: Mapping[str, Any],
    *,
    every_seconds: int | None,
    inbox: bool,
    webhook_url: str,
    at: int,
) -> bool:
    """Another question, schedule or way to tell; whether there is one of that name.

    What it has told stays told. Another question begins to look from now on.
    """
    return bool(
        connection.execute(
            "update saved_searches set every_seconds = :every, inbox = :inbox,"
            " webhook_url = :url, next_at = :next, error = '',"
            " since = iif(json_extract(request, '$.search') = json_extract(:request, '$.search'),"
            " since, :at), request = :request where name = :name",
            {
                "name": name,
                "request": json.dumps(request),
                "every": every_seconds,
                "inbox": int(inbox),
                "url": webhook_url,
                "next": _next(at, every_seconds),
                "at": at,
            },
        ).rowcount
    )


def get(connection: sqlite3.Connection, name: str) -> SavedSearch | None:
    row = connection.execute(
        f"select {_COLUMNS} from saved_searches where name = ?", (name,)
    ).fetchone()
    return _saved(row) if row else None


def listed(connection: sqlite3.Connection) -> list[SavedSearch]:
    """All of them by name."""
    rows = connection.execute(f"select {_COLUMNS} from saved_searches order by name")
    return [_saved(row) for row in rows]


def remove(connection: sqlite3.Connection, name: str) -> bool:
    """Delete one with its notifications; whether there was one."""
    return bool(connection.execute("delete from saved_searches where name = ?", (name,)).rowcount)


def due(connection: sqlite3.Connection, now: int) -> list[str]:
    """The names of those that should have run by now, the longest waiting first."""
    rows = connection.execute(
        "select name from saved_searches where next_at <= ? order by next_at, id", (now,)
    )
    return [name for (name,) in rows]


def next_at(connection: sqlite3.Connection) -> int | None:
    """When the next one runs; None when none has a schedule."""
    (at,) = connection.execute("select min(next_at) from saved_searches").fetchone()
    return None if at is None else int(at)


def ran(
    connection: sqlite3.Connection, saved: SavedSearch, at: int, *, since: int, error: str = ""
) -> None:
    """It ran, or failed to; its next run is a whole interval later."""
    connection.execute(
        "update saved_searches set ran_at = ?, since = ?, error = ?, next_at = ? where id = ?",
        (at, since, error, _next(at, saved.every_seconds), saved.id),
    )


def untold(
    connection: sqlite3.Connection, saved: SavedSearch, found: Sequence[tuple[int, str]]
) -> list[Match]:
    """Those of ``found``, (number, content hash in hex), that were not told as they are now.

    From now on they are.
    """
    matches = []
    for number, digest in found:
        (told_before,) = connection.execute(
            "select exists(select 1 from saved_told where search_id = ? and record_id = ?)",
            (saved.id, number),
        ).fetchone()
        # A record that was deleted a moment ago is not there to be told of.
        is_untold = connection.execute(
            "insert or ignore into saved_told(search_id, record_id, content_hash)"
            " select ?, id, ? from records where id = ?",
            (saved.id, bytes.fromhex(digest), number),
        ).rowcount
        if is_untold:
            matches.append(Match(number, bool(told_before) or number <= saved.newest_record))
    return matches


def _next(at: int, every_seconds: int | None) -> int | None:
    return None if every_seconds is None else at + 1000 * every_seconds


def _saved(row: tuple[Any, ...]) -> SavedSearch:
    number, name, request, every, inbox, *rest = row
    return SavedSearch(number, name, json.loads(request), every, bool(inbox), *rest)


def has_due_work(connection: sqlite3.Connection) -> bool:
    """An unfinished job or search, a message on its way, or a saved search with a schedule."""
    (planned,) = connection.execute(
        "select exists (select 1 from jobs where state in ('queued', 'running'))"
        " or exists (select 1 from search_jobs where status in ('pending', 'running'))"
        " or exists (select 1 from webhook_deliveries where state = 'pending')"
        " or exists (select 1 from saved_searches where next_at is not null)"
    ).fetchone()
    return bool(planned)
