"""Webhook messages: stored until accepted, refused or given up, then for a week.

Times are milliseconds since 1970. ``body`` is exactly what is signed and sent, every time.
"""

from __future__ import annotations

from collections.abc import Sequence

from mem_search.model.saved_searches import Delivery, DeliveryState, Message
from mem_search.storage.sqlite.database import Connection, Repository, reads, writes

_COLUMNS = "id, event, url, body, state, attempts, next_at, status, error, created_at, ended_at"


class SqliteDeliveries(Repository):
    """``ports.DeliveryStore`` over the table ``webhook_deliveries``."""

    @reads
    def due(self, connection: Connection, now: int) -> list[tuple[str, str]]:
        return connection.execute(
            "select id, url from webhook_deliveries where state = 'pending' and next_at <= ?"
            " order by next_at, created_at, id",
            (now,),
        ).fetchall()

    @reads
    def next_at(self, connection: Connection, now: int) -> int | None:
        (at,) = connection.execute(
            "select min(next_at) from webhook_deliveries where state = 'pending' and next_at > ?",
            (now,),
        ).fetchone()
        return None if at is None else int(at)

    @writes
    def retry_later(
        self,
        connection: Connection,
        delivery: str,
        *,
        status: int | None,
        error: str,
        again_at: int,
    ) -> None:
        connection.execute(
            "update webhook_deliveries set attempts = attempts + 1, status = ?, error = ?,"
            " next_at = ? where id = ?",
            (status, error, again_at, delivery),
        )

    @writes
    def finish(
        self,
        connection: Connection,
        delivery: str,
        state: DeliveryState,
        *,
        status: int | None,
        error: str,
        at: int,
    ) -> None:
        connection.execute(
            "update webhook_deliveries set state = ?, attempts = attempts + 1, status = ?,"
            " error = ?, ended_at = ? where id = ?",
            (state, status, error, at, delivery),
        )

    @reads
    def claim(
        self, connection: Connection, deliveries: Sequence[str], now: int
    ) -> dict[str, Delivery]:
        return fetch(connection, deliveries)  # nobody else sends

    @reads
    def fetch(self, connection: Connection, deliveries: Sequence[str]) -> dict[str, Delivery]:
        return fetch(connection, deliveries)

    @writes
    def expire(self, connection: Connection, before: int) -> int:
        return connection.execute(
            "delete from webhook_deliveries where ended_at < ?", (before,)
        ).rowcount


def fetch(connection: Connection, deliveries: Sequence[str]) -> dict[str, Delivery]:
    """The existing messages among these ids."""
    marks = ", ".join("?" * len(deliveries))
    rows = connection.execute(
        f"select {_COLUMNS} from webhook_deliveries where id in ({marks})", tuple(deliveries)
    )
    return {row[0]: Delivery(*row) for row in rows}


def add(connection: Connection, message: Message) -> None:
    """Queue ``message``, due at once, unless its id is queued already."""
    connection.execute(
        "insert or ignore into webhook_deliveries(id, event, url, body, next_at, created_at)"
        " values(?, ?, ?, ?, ?, ?)",
        (message.id, message.event, message.url, message.body, message.created_at,
         message.created_at),
    )  # fmt: skip
