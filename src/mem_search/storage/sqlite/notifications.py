"""The inbox: what saved searches have told, with the records as they stand now.

A record that was forgotten is gone from here too. Times are milliseconds since 1970.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from mem_search.model.saved_searches import Match, Notification

MOST_LISTED = 1_000
"""Matches of one notification that are kept by name; ``count`` counts all of them."""


_SELECT = (
    "select n.id, s.name, n.at, n.count, n.delivery_id, n.read_at from notifications n"
    " join saved_searches s on s.id = n.search_id"
)


def add(
    connection: sqlite3.Connection,
    search: int,
    at: int,
    matches: Sequence[Match],
    *,
    inbox: bool,
    delivery: str | None,
) -> int:
    """Keep what was told; returns its number."""
    cursor = connection.execute(
        "insert into notifications(search_id, at, count, inbox, delivery_id) values(?, ?, ?, ?, ?)",
        (search, at, len(matches), int(inbox), delivery),
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


def newest(
    connection: sqlite3.Connection,
    search: str,
    limit: int,
    offset: int,
    *,
    unread: bool,
) -> tuple[list[Notification], int]:
    """A page of the inbox, the newest first, and how many there are; ``search`` empty is any."""
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
        f"{_SELECT} where {condition} order by n.id desc limit ? offset ?",
        (*values, limit, offset),
    )
    return [_whole(connection, row) for row in rows.fetchall()], total


def get(connection: sqlite3.Connection, notification: int) -> Notification | None:
    row = connection.execute(f"{_SELECT} where n.id = ?", (notification,)).fetchone()
    return _whole(connection, row) if row else None


def read(connection: sqlite3.Connection, notification: int, at: int) -> bool:
    """It was read, unless it had been; whether there is one of that number."""
    return bool(
        connection.execute(
            "update notifications set read_at = coalesce(read_at, ?) where id = ?",
            (at, notification),
        ).rowcount
    )


def remove(connection: sqlite3.Connection, notification: int) -> bool:
    """Delete one; whether there was one. What it told stays told."""
    return bool(
        connection.execute("delete from notifications where id = ?", (notification,)).rowcount
    )


def _whole(connection: sqlite3.Connection, row: tuple[Any, ...]) -> Notification:
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
