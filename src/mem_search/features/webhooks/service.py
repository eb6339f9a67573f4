"""Delivers webhook messages: stored first, then sent until accepted, refused or given up.

A receiver gets a message at least once; the id stays the same, so it can recognise repeats.
Queued messages survive a restart. Receivers are served side by side, each one message at a time,
so a slow receiver delays no other.

An attempt is a signed POST, and its outcome a value. It follows no redirects, takes at most ten
seconds, and reads nothing from the reply but the status. ``outgoing`` decides which addresses are
allowed. The secret that signs the messages of this home is stored beside its token.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import json
import logging
import random
import secrets
import time
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from aiohttp import ClientError, ClientSession

from mem_search import regular_file
from mem_search.background import Scheduler
from mem_search.errors import InputError, MemSearchError, StorageError
from mem_search.features.webhooks.sql import DeliveryStore
from mem_search.model.webhooks import Delivery, DeliveryState, Message
from mem_search.outgoing import Lookup, RefusedReceiver, check_url, open_session, refusal_in
from mem_search.settings import Settings
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
        claimed = await self._store.claim([heads[receiver] for receiver in free], now)
        for receiver in free:
            if (delivery := claimed.get(heads[receiver])) is None:
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


PREFIX = "whsec_"
_SECRET_BYTES = 32

SECONDS = 10.0
"""The limit for name lookup, connection, request and reply together."""

GONE = 410
"""The status of a receiver that accepts no more messages."""

_MAX_READ_BYTES = 16 * 1024
"""Bytes of a reply that are read, so that a well-behaved receiver can finish writing it."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """The outcome: ``status`` is None without a reply; ``final`` means that no retry follows."""

    delivered: bool
    status: int | None = None
    error: str = ""
    final: bool = False


MAILTO: Final = "mailto:"
"""How the URL of a receiver begins that gets an e-mail instead."""


class MailSender(Protocol):
    """Sends messages as e-mail: ``mail``."""

    def check(self, address: str) -> None:
        """Raises RefusedReceiver for an address that is not written to."""
        ...

    async def send(self, address: str, message: str, body: bytes) -> Attempt:
        """Send the JSON ``body`` in words. A server that fails raises nothing."""
        ...


class Sender:
    """Sends for one home. Calls ``secret`` for the first message. URLs of ``MAILTO`` go to
    ``mail``.
    """

    def __init__(
        self,
        secret: Callable[[], str],
        allowed: Collection[str] = (),
        *,
        seconds: float = SECONDS,
        lookup: Lookup | None = None,
        mail: MailSender | None = None,
    ) -> None:
        self._secret = secret
        self._mail = mail
        self._allowed = tuple(allowed)
        self._seconds = seconds
        self._lookup = lookup
        self._key: bytes | None = None
        self._session: ClientSession | None = None

    def check(self, url: str) -> None:
        """Raises RefusedReceiver, naming ``webhook_url``, for a URL that is never allowed."""
        try:
            if self._mail is not None and url.startswith(MAILTO):
                self._mail.check(url.removeprefix(MAILTO))
            else:
                check_url(url, self._allowed)
        except InputError as error:
            error.field = "webhook_url"
            raise

    async def send(self, url: str, message: str, body: bytes) -> Attempt:
        """POST the JSON ``body`` as the message with that id. A failing receiver raises nothing."""
        if self._mail is not None and url.startswith(MAILTO):
            return await self._mail.send(url.removeprefix(MAILTO), message, body)
        try:
            checked = check_url(url, self._allowed)
            if self._key is None:
                self._key = key_of(await asyncio.to_thread(self._secret))
            headers = signed(self._key, message, int(time.time()), body)
            async with asyncio.timeout(self._seconds):
                async with self._open().post(
                    checked, data=body, headers=headers, allow_redirects=False
                ) as reply:
                    await reply.content.read(_MAX_READ_BYTES)
                    return _judged(reply.status)
        except RefusedReceiver as error:
            return Attempt(False, error=error.message, final=True)
        except MemSearchError as error:  # our own secret cannot be read: somebody can repair that
            return Attempt(False, error=error.message)
        except TimeoutError:
            return Attempt(False, error=f"no answer within {self._seconds:g} s")
        except (ClientError, OSError, ValueError) as error:
            if refused := refusal_in(error):
                return Attempt(False, error=refused.message, final=True)
            return Attempt(False, error=_said(error))

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()

    def _open(self) -> ClientSession:
        if self._session is None:
            self._session = open_session(
                self._allowed, self._seconds, {"Content-Type": "application/json"}, self._lookup
            )
        return self._session


def _judged(status: int) -> Attempt:
    if 200 <= status < 300:
        return Attempt(True, status)
    if status == GONE:
        return Attempt(False, status, "the receiver accepts no more messages (410)", final=True)
    if 300 <= status < 400:
        return Attempt(False, status, f"answered {status}; redirects are not followed")
    return Attempt(False, status, f"answered {status}")


def _said(error: Exception) -> str:
    text = " ".join(str(error).split())[:200]
    return f"cannot be reached: {text or type(error).__name__}"


def new_secret() -> str:
    """``whsec_`` and 32 random bytes in Base64."""
    return PREFIX + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode("ascii")


def key_of(secret: str) -> bytes:
    """The signing key. Raises InputError for a secret of another form."""
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not secret.startswith(PREFIX) or not key:
        raise InputError(
            f"the webhook secret must be {PREFIX} and Base64; remove its file to get a new one",
            field="webhook_secret",
        )
    return key


def signed(key: bytes, message: str, at: int, body: bytes) -> dict[str, str]:
    """The three headers of a message; ``at`` is the time of sending in seconds since 1970."""
    digest = hmac.new(key, f"{message}.{at}.".encode() + body, hashlib.sha256).digest()
    return {
        "webhook-id": message,
        "webhook-timestamp": str(at),
        "webhook-signature": f"v1,{base64.b64encode(digest).decode('ascii')}",
    }


def webhook_secret(settings: Settings) -> str:
    """``whsec_…``; the first call creates it.

    Raises StorageError when it cannot be stored, InputError when the file has other content.
    """
    file = settings.webhook_secret_file
    try:
        secret = regular_file.read_or_create_secret(file, new_secret)
    except (OSError, UnicodeDecodeError) as error:
        raise StorageError(f"cannot store the webhook secret in {file}: {error}") from error
    key_of(secret)
    return secret
