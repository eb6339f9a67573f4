"""Messages on their way: each until it is accepted, refused or given up, then for a week.

Times are milliseconds since 1970. ``body`` is exactly what is signed and sent, every time.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from mem_search.model.saved_searches import Delivery, DeliveryState

_COLUMNS = "id, event, url, body, state, attempts, next_at, status, error, created_at, ended_at"


def add(
    connection: sqlite3.Connection, delivery: str, event: str, url: str, body: bytes, at: int
) -> None:
    """A new message, due at once; nothing happens for an id that is there already."""
    connection.execute(
        "insert or ignore into webhook_deliveries(id, event, url, body, next_at, created_at)"
        " values(?, ?, ?, ?, ?, ?)",
        (delivery, event, url, body, at, at),
    )


def due(connection: sqlite3.Connection, now: int) -> list[tuple[str, str]]:
    """(id, url) of those to try now, the longest waiting first."""
    return connection.execute(
        "select id, url from webhook_deliveries where state = 'pending' and next_at <= ?"
        " order by next_at, created_at, id",
        (now,),
    ).fetchall()


def next_at(connection: sqlite3.Connection, now: int) -> int | None:
    """When the first one that is not due yet is to be tried; None when there is none."""
    (at,) = connection.execute(
        "select min(next_at) from webhook_deliveries where state = 'pending' and next_at > ?",
        (now,),
    ).fetchone()
    return None if at is None else int(at)


def tried(
    connection: sqlite3.Connection,
    delivery: str,
    *,
    status: int | None,
    error: str,
    again_at: int,
) -> None:
    """It failed and will be tried again."""
    connection.execute(
        "update webhook_deliveries set attempts = attempts + 1, status = ?, error = ?,"
        " next_at = ? where id = ?",
        (status, error, again_at, delivery),
    )


def end(
    connection: sqlite3.Connection,
    delivery: str,
    state: DeliveryState,
    *,
    status: int | None,
    error: str,
    at: int,
) -> None:
    """It was accepted, or will never be."""
    connection.execute(
        "update webhook_deliveries set state = ?, attempts = attempts + 1, status = ?, error = ?,"
        " ended_at = ? where id = ?",
        (state, status, error, at, delivery),
    )


def fetch(connection: sqlite3.Connection, deliveries: Sequence[str]) -> dict[str, Delivery]:
    """Those of these ids that there are."""
    marks = ", ".join("?" * len(deliveries))
    rows = connection.execute(
        f"select {_COLUMNS} from webhook_deliveries where id in ({marks})", tuple(deliveries)
    )
    return {row[0]: _delivery(row) for row in rows}


def expire(connection: sqlite3.Connection, before: int) -> int:
    """Drop what ended before; returns how many."""
    return connection.execute(
        "delete from webhook_deliveries where ended_at < ?", (before,)
    ).rowcount


def _delivery(row: tuple[Any, ...]) -> Delivery:
    return Delivery(*row)
