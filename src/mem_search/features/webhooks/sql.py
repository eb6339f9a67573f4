"""Webhook messages: stored until accepted, refused or given up, then for a week.

Times are milliseconds since 1970. ``body`` is exactly what is signed and sent, every time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mem_search.model.webhooks import Delivery, DeliveryState, Message
from mem_search.storage.sql.connection import (
    FREE,
    Connection,
    Repository,
    reads,
    writes_beside,
)

COLUMNS: Final = (
    "id, event, url, body, state, attempts, next_at, status, error, created_at, ended_at"
)


class DeliveryStore(Repository):
    """Queued webhook messages."""

    @reads
    def due(self, connection: Connection, now: int) -> list[tuple[str, str]]:
        """(id, url) of messages that are due, the longest waiting first."""
        rows = connection.execute(
            "select id, url from webhook_deliveries where state = 'pending' and next_at <= %s"
            " order by next_at, created_at, id",
            (now,),
        )
        return [(delivery, url) for delivery, url in rows]

    @writes_beside
    def claim(
        self, connection: Connection, deliveries: Sequence[str], now: int
    ) -> dict[str, Delivery]:
        """Those of these messages that are due and no other living worker is sending.

        They are this worker's until ``retry_later`` or ``finish``.
        """
        rows = connection.execute(
            f"select {COLUMNS} from webhook_deliveries where id = any(%s::text[])"
            f" and state = 'pending' and next_at <= %s and {FREE} for update skip locked",
            (list(deliveries), now),
        )
        claimed = {row[0]: Delivery(*row) for row in rows}
        connection.claim("webhook_deliveries", list(claimed))
        return claimed

    @reads
    def next_at(self, connection: Connection, now: int) -> int | None:
        """When the next message becomes due; None when there is none."""
        (at,) = connection.one(
            "select min(next_at) from webhook_deliveries where state = 'pending' and next_at > %s",
            (now,),
        )
        return None if at is None else int(at)

    @writes_beside
    def retry_later(
        self,
        connection: Connection,
        delivery: str,
        *,
        status: int | None,
        error: str,
        again_at: int,
    ) -> None:
        """The attempt failed; the next one is at ``again_at``."""
        connection.execute(
            "update webhook_deliveries set attempts = attempts + 1, status = %s, error = %s,"
            " next_at = %s, worker = null where id = %s and state = 'pending'",
            (status, error, again_at, delivery),
        )

    @writes_beside
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
        """The message was accepted or given up; store its final state."""
        connection.execute(
            "update webhook_deliveries set state = %s, attempts = attempts + 1, status = %s,"
            " error = %s, ended_at = %s, worker = null where id = %s and state = 'pending'",
            (state, status, error, at, delivery),
        )

    @reads
    def fetch(self, connection: Connection, deliveries: Sequence[str]) -> dict[str, Delivery]:
        """The existing messages among these ids."""
        return fetch(connection, deliveries)

    @writes_beside
    def expire(self, connection: Connection, before: int) -> int:
        """Delete messages that ended before; returns how many."""
        return connection.execute(
            "delete from webhook_deliveries where ended_at < %s", (before,)
        ).rowcount


def fetch(connection: Connection, deliveries: Sequence[str]) -> dict[str, Delivery]:
    """The existing messages among these ids."""
    rows = connection.execute(
        f"select {COLUMNS} from webhook_deliveries where id = any(%s::text[])", (list(deliveries),)
    )
    return {row[0]: Delivery(*row) for row in rows}


def add(connection: Connection, message: Message) -> None:
    """Queue ``message``, due at once, unless its id is queued already."""
    connection.execute(
        "insert into webhook_deliveries(id, event, url, body, next_at, created_at)"
        " values(%s, %s, %s, %s, %s, %s) on conflict do nothing",
        (message.id, message.event, message.url, message.body, message.created_at,
         message.created_at),
    )  # fmt: skip
