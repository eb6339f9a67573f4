"""Delivers webhook messages: stored first, then sent until accepted, refused or given up.

A receiver gets a message at least once; the id stays the same, so it can recognise repeats.
Queued messages survive a restart. Receivers are served side by side, each one message at a time,
so a slow receiver delays no other.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from mem_search.errors import StorageError
from mem_search.features.webhooks.sending import Sender
from mem_search.features.webhooks.sql import DeliveryStore
from mem_search.model.webhooks import Delivery, DeliveryState, Message
from mem_search.scheduler import Scheduler
from mem_search.text import dates
from mem_search.text.dates import now_ms

log = logging.getLogger(__name__)

MAX_ATTEMPTS = 8
"""With these pauses the last attempt is about eight hours after the first."""

FIRST_PAUSE = 5.0
FACTOR = 4.0
JITTER = 0.25
"""A pause is up to this share longer or shorter, so that retries spread out."""

AT_ONCE = 8
"""Receivers that are served at the same time."""

KEEP_MS = 7 * 24 * 3600 * 1000
_RETRY_SECONDS = 5.0


def pause(attempts: int, chance: float) -> float:
    """Seconds to wait after the ``attempts``-th attempt; ``chance`` is in 0..1."""
    return FIRST_PAUSE * FACTOR ** (attempts - 1) * (1 + JITTER * (2 * chance - 1))


def new_message(event: str, url: str, at: int, data: Mapping[str, Any]) -> Message:
    """A message for ``url`` about what happened ``at`` (ms).

    The store queues it in the transaction of what it reports.
    """
    body = {"type": event, "timestamp": dates.iso(at), "data": data}
    text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    encoded = text.encode("utf-8", "backslashreplace")
    return Message(f"msg_{uuid.uuid4().hex}", event, url, encoded, at)


class Deliveries:
    """Delivers the queued messages. ``run`` until cancelled; ``wake`` after queueing one."""

    def __init__(self, store: DeliveryStore, sender: Sender) -> None:
        self._store = store
        self._sender = sender
        self._scheduler = Scheduler("webhooks", self._begin_due, retry=_RETRY_SECONDS)
        self._attempts = asyncio.TaskGroup()
        self._busy: set[str] = set()

    def check(self, url: str) -> None:
        """Raises RefusedReceiver, naming ``webhook_url``, for a URL that is never allowed."""
        self._sender.check(url)

    def wake(self) -> None:
        """Call this after queueing a message."""
        self._scheduler.wake()

    async def run(self) -> None:
        """Deliver messages when they are due, until cancelled. Call it once."""
        async with self._attempts:
            await self._scheduler.run()

    async def fetch(self, deliveries: Sequence[str]) -> dict[str, Delivery]:
        """The states of these messages, without those that do not exist."""
        return await self._store.fetch(deliveries) if deliveries else {}

    async def close(self) -> None:
        """Close connections; queued messages are delivered after the next start."""
        await self._sender.close()

    async def _begin_due(self) -> int | None:
        """Start one delivery for each free receiver; returns when the next message is due.

        A receiver that becomes free wakes the scheduler, so its messages do not count.
        """
        # Copied before the store is read: a delivery that ends meanwhile is read as due.
        now, busy = now_ms(), set(self._busy)
        await self._store.expire(now - KEEP_MS)
        heads: dict[str, str] = {}
        for message, url in await self._store.due(now):
            heads.setdefault(_receiver(url), message)
        free = [receiver for receiver in heads if receiver not in busy][: AT_ONCE - len(busy)]
        found = await self._store.claim([heads[receiver] for receiver in free], now)
        for receiver in free:
            if (delivery := found.get(heads[receiver])) is None:
                continue  # another worker is sending it
            self._busy.add(receiver)
            self._attempts.create_task(self._attend(receiver, delivery))
        return await self._store.next_at(now)

    async def _attend(self, receiver: str, delivery: Delivery) -> None:
        try:
            await self._deliver(delivery)
        except StorageError as error:
            log.warning("webhook %s was tried, which could not be stored: %s", delivery.id, error)
            await asyncio.sleep(_RETRY_SECONDS)  # it is still due, and would be sent at once
        except Exception:
            # The group of attempts ends with an error, and with it all that are sent.
            log.exception("webhook %s", delivery.id)
            await asyncio.sleep(_RETRY_SECONDS)
        finally:
            self._busy.discard(receiver)
            self._scheduler.wake()

    async def _deliver(self, delivery: Delivery) -> None:
        attempt = await self._sender.send(delivery.url, delivery.id, delivery.body)
        count = delivery.attempts + 1
        if attempt.delivered:
            await self._end(delivery, "delivered", attempt.status, "")
        elif attempt.final or count >= MAX_ATTEMPTS:
            why = attempt.error if attempt.final else f"given up after {count}: {attempt.error}"
            log.warning("webhook %s was not delivered: %s", delivery.id, why)
            await self._end(delivery, "failed", attempt.status, why)
        else:
            again = now_ms() + int(1000 * pause(count, random.random()))
            await self._store.retry_later(
                delivery.id,
                status=attempt.status,
                error=attempt.error,
                again_at=again,
            )

    async def _end(
        self, delivery: Delivery, state: DeliveryState, status: int | None, error: str
    ) -> None:
        await self._store.finish(delivery.id, state, status=status, error=error, at=now_ms())


def _receiver(url: str) -> str:
    """The receiver of a message: scheme, host and port of its URL."""
    return "/".join(url.split("/", 3)[:3]).lower()
