"""Saved searches, which records each has reported, and the inbox of their notifications.

A record that was forgotten disappears from the inbox too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mem_search.model import Record
from mem_search.model.saved_searches import (
    MOST_IN_MESSAGE,
    MOST_LISTED,
    Match,
    Message,
    Notification,
    SavedSearch,
)
from mem_search.storage.sqlite import records, webhook_deliveries
from mem_search.storage.sqlite.database import Connection, Repository, reads, writes

_COLUMNS = (
    "id, name, request, every_seconds, inbox, webhook_url, created_at, since, newest_record,"
    " ran_at, next_at, error"
)


_NOTIFICATIONS = (
    "select n.id, s.name, n.at, n.count, n.delivery_id, n.read_at from notifications n"
    " join saved_searches s on s.id = n.search_id"
)


class SqliteSavedSearches(Repository):
    """``ports.SavedSearchStore`` over ``saved_searches``, ``saved_told`` and ``notifications``."""

    @writes
    def create(
        self,
        connection: Connection,
        name: str,
        request: Mapping[str, Any],
        *,
        every_seconds: int | None,
        inbox: bool,
        webhook_url: str,
        at: int,
    ) -> bool:
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

    @writes
    def change(
        self,
        connection: Connection,
        name: str,
        request: Mapping[str, Any],
        *,
        every_seconds: int | None,
        inbox: bool,
        webhook_url: str,
        at: int,
    ) -> bool:
        return bool(
            connection.execute(
                "update saved_searches set every_seconds = :every, inbox = :inbox,"
                " webhook_url = :url, next_at = :next, error = '',"
                " since = iif(json_extract(request, '$.search')"
                " = json_extract(:request, '$.search'), since, :at),"
                " request = :request where name = :name",
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

    @reads
    def get(self, connection: Connection, name: str) -> SavedSearch | None:
        row = connection.execute(
            f"select {_COLUMNS} from saved_searches where name = ?", (name,)
        ).fetchone()
        return _saved(row) if row else None

    @reads
    def listed(self, connection: Connection) -> list[SavedSearch]:
        rows = connection.execute(f"select {_COLUMNS} from saved_searches order by name")
        return [_saved(row) for row in rows]

    @writes
    def remove(self, connection: Connection, name: str) -> bool:
        return bool(
            connection.execute("delete from saved_searches where name = ?", (name,)).rowcount
        )

    @reads
    def due(self, connection: Connection, now: int) -> list[str]:
        rows = connection.execute(
            "select name from saved_searches where next_at <= ? order by next_at, id", (now,)
        )
        return [name for (name,) in rows]

    @reads
    def next_at(self, connection: Connection) -> int | None:
        (at,) = connection.execute("select min(next_at) from saved_searches").fetchone()
        return None if at is None else int(at)

    @writes
    def note_failure(self, connection: Connection, saved: SavedSearch, at: int, error: str) -> None:
        _ran(connection, saved, at, since=saved.since, error=error)

    @writes
    def finish_run_and_notify(
        self,
        connection: Connection,
        saved: SavedSearch,
        found: Sequence[tuple[int, str]],
        *,
        at: int,
        since: int,
        message: Callable[[Sequence[Match], Mapping[int, Record]], Message] | None = None,
    ) -> tuple[tuple[Match, ...], int | None]:
        matches = _new_matches(connection, saved, found)
        _ran(connection, saved, at, since=since)
        if not matches:
            return (), None
        queued = None
        if message is not None:
            named = [match.number for match in matches[:MOST_IN_MESSAGE]]
            queued = message(matches, records.fetch(connection, named))
            webhook_deliveries.add(connection, queued)
        return tuple(matches), _notify(connection, saved, at, matches, queued)

    @reads
    def notifications(
        self, connection: Connection, search: str, limit: int, offset: int, *, unread: bool
    ) -> tuple[list[Notification], int]:
        terms = [
            "n.inbox",
            *(["n.read_at is null"] if unread else []),
            *(["s.name = ?"] if search else []),
        ]
        condition = " and ".join(terms)
        values = (search,) if search else ()
        (total,) = connection.execute(
            "select count(*) from notifications n join saved_searches s on s.id = n.search_id"
            f" where {condition}",
            values,
        ).fetchone()
        rows = connection.execute(
            f"{_NOTIFICATIONS} where {condition} order by n.id desc limit ? offset ?",
            (*values, limit, offset),
        )
        return [_notification(connection, row) for row in rows.fetchall()], total

    @writes
    def mark_read(self, connection: Connection, notification: int, at: int) -> Notification | None:
        connection.execute(
            "update notifications set read_at = coalesce(read_at, ?) where id = ?",
            (at, notification),
        )
        row = connection.execute(f"{_NOTIFICATIONS} where n.id = ?", (notification,)).fetchone()
        return _notification(connection, row) if row else None

    @writes
    def dismiss(self, connection: Connection, notification: int) -> bool:
        return bool(
            connection.execute("delete from notifications where id = ?", (notification,)).rowcount
        )


def _ran(
    connection: Connection, saved: SavedSearch, at: int, *, since: int, error: str = ""
) -> None:
    """The next run is a whole interval after ``at``."""
    connection.execute(
        "update saved_searches set ran_at = ?, since = ?, error = ?, next_at = ? where id = ?",
        (at, since, error, _next(at, saved.every_seconds), saved.id),
    )


def _notify(
    connection: Connection,
    saved: SavedSearch,
    at: int,
    matches: Sequence[Match],
    message: Message | None,
) -> int:
    """Store the notification; returns its number."""
    cursor = connection.execute(
        "insert into notifications(search_id, at, count, inbox, delivery_id) values(?, ?, ?, ?, ?)",
        (saved.id, at, len(matches), int(saved.inbox), message.id if message else None),
    )
    assert cursor.lastrowid is not None
    connection.executemany(
        "insert into notification_matches(notification_id, place, record_id, changed)"
        " values(?, ?, ?, ?)",
        [
            (cursor.lastrowid, place, match.number, int(match.changed))
            for place, match in enumerate(matches[:MOST_LISTED])
        ],
    )
    return cursor.lastrowid


def _new_matches(
    connection: Connection, saved: SavedSearch, found: Sequence[tuple[int, str]]
) -> list[Match]:
    """Those of ``found``, (number, content hash in hex), that were not reported with this content;
    marks them as reported.
    """
    matches = []
    for number, digest in found:
        (reported,) = connection.execute(
            "select exists(select 1 from saved_told where search_id = ? and record_id = ?)",
            (saved.id, number),
        ).fetchone()
        # A record that was deleted a moment ago cannot be reported.
        is_new = connection.execute(
            "insert or ignore into saved_told(search_id, record_id, content_hash)"
            " select ?, id, ? from records where id = ?",
            (saved.id, bytes.fromhex(digest), number),
        ).rowcount
        if is_new:
            matches.append(Match(number, bool(reported) or number <= saved.newest_record))
    return matches


def _next(at: int, every_seconds: int | None) -> int | None:
    return None if every_seconds is None else at + 1000 * every_seconds


def _saved(row: tuple[Any, ...]) -> SavedSearch:
    number, name, request, every, inbox, *rest = row
    return SavedSearch(number, name, json.loads(request), every, bool(inbox), *rest)


def _notification(connection: Connection, row: tuple[Any, ...]) -> Notification:
    number, search, at, count, delivery, read_at = row
    matches = connection.execute(
        "select record_id, changed from notification_matches where notification_id = ?"
        " order by place",
        (number,),
    )
    return Notification(
        id=number,
        search=search,
        at=at,
        count=count,
        delivery_id=delivery,
        read_at=read_at,
        matches=tuple(Match(record, bool(changed)) for record, changed in matches),
    )
