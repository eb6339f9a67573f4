"""Messages on their way: stored first, then tried until accepted, refused or given up.

A message is at the receiver at least once; its id stays the same, so that the receiver can tell
a repeated one. What waits is in the store and survives the worker. Receivers are told side by
side, each one message after the other: who is slow is waited for by nobody else.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import uuid
from collections.abc import Mapping
from typing import Any

from mem_search.errors import StorageError
from mem_search.model.saved_searches import Delivery, DeliveryState
from mem_search.scheduler import Scheduler
from mem_search.storage.sqlite import webhook_deliveries as stored
from mem_search.storage.sqlite.database import Database
from mem_search.text import dates
from mem_search.text.dates import now_ms
from mem_search.webhooks.sending import Sender

log = logging.getLogger(__name__)

MOST_ATTEMPTS = 8
"""With these pauses the last one comes about eight hours after the first."""

FIRST_PAUSE = 5.0
FACTOR = 4.0
JITTER = 0.25
"""A pause is up to this share longer or shorter: many that failed at once come apart."""

AT_ONCE = 8
"""Receivers that are told at the same time."""

KEEP_MS = 7 * 24 * 3600 * 1000
_RETRY_SECONDS = 5.0


def pause(attempts: int, chance: float) -> float:
    """Seconds to wait after the ``attempts``-th attempt; ``chance`` is in 0..1."""
    return FIRST_PAUSE * FACTOR ** (attempts - 1) * (1 + JITTER * (2 * chance - 1))


def new_message(event: str, at: int, data: Mapping[str, Any]) -> tuple[str, bytes]:
    """The id and the body of a message about what happened ``at`` (ms).

    Both are for ``stored.add``, in the transaction of what the message tells about.
    """
    body = {"type": event, "timestamp": dates.iso(at), "data": data}
    text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return f"msg_{uuid.uuid4().hex}", text.encode("utf-8", "backslashreplace")


class Deliveries:
    """Delivers what ``stored.add`` keeps. ``run`` until cancelled; ``wake`` after adding."""

    def __init__(self, database: Database, sender: Sender) -> None:
        self._database = database
        self._sender = sender
        self._agenda = Scheduler("webhooks", self._begin_due, retry=_RETRY_SECONDS)
        self._attempts = asyncio.TaskGroup()
        self._busy: set[str] = set()

    def check(self, url: str) -> None:
        """Raises RefusedReceiver, naming ``webhook_url``, for a URL that can never be asked."""
        self._sender.check(url)

    def wake(self) -> None:
        """There is something new to deliver."""
        self._agenda.wake()

    async def run(self) -> None:
        """Deliver what is due, then wait for what comes due or is added; once."""
        async with self._attempts:
            await self._agenda.run()

    async def close(self) -> None:
        """Close connections; what waits is delivered after the next start."""
        await self._sender.close()

    async def _begin_due(self) -> int | None:
        """Begin with what is due for those who are free; when the next one is due.

        Whoever becomes free wakes the agenda, so what has to wait for that is no next one.
        """
        now, busy = now_ms(), set(self._busy)  # before reading: who ends meanwhile is read as due
        await self._database.write(stored.expire, now - KEEP_MS)
        heads: dict[str, str] = {}
        for message, url in await self._database.read(stored.due, now):
            heads.setdefault(_receiver(url), message)
        free = [receiver for receiver in heads if receiver not in busy][: AT_ONCE - len(busy)]
        found = await self._database.read(stored.fetch, [heads[receiver] for receiver in free])
        for receiver in free:
            self._busy.add(receiver)
            self._attempts.create_task(self._attend(receiver, found[heads[receiver]]))
        return await self._database.read(stored.next_at, now)

    async def _attend(self, receiver: str, delivery: Delivery) -> None:
        try:
            await self._deliver(delivery)
        except StorageError as error:
            log.warning("webhook %s was tried, which could not be stored: %s", delivery.id, error)
            await asyncio.sleep(_RETRY_SECONDS)  # it is still due, and would be sent at once
        finally:
            self._busy.discard(receiver)
            self._agenda.wake()

    async def _deliver(self, delivery: Delivery) -> None:
        attempt = await self._sender.send(delivery.url, delivery.id, delivery.body)
        count = delivery.attempts + 1
        if attempt.delivered:
            await self._end(delivery, "delivered", attempt.status, "")
        elif attempt.final or count >= MOST_ATTEMPTS:
            why = attempt.error if attempt.final else f"given up after {count}: {attempt.error}"
            log.warning("webhook %s was not delivered: %s", delivery.id, why)
            await self._end(delivery, "failed", attempt.status, why)
        else:
            again = now_ms() + int(1000 * pause(count, random.random()))
            await self._database.write(
                stored.tried,
                delivery.id,
                status=attempt.status,
                error=attempt.error,
                again_at=again,
            )

    async def _end(
        self, delivery: Delivery, state: DeliveryState, status: int | None, error: str
    ) -> None:
        await self._database.write(
            stored.end, delivery.id, state, status=status, error=error, at=now_ms()
        )


def _receiver(url: str) -> str:
    """Whom a message is for: scheme, host and port of its URL."""
    return "/".join(url.split("/", 3)[:3]).lower()
