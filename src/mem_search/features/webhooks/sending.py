"""One attempt to deliver one message: a signed POST, and its outcome as a value.

It follows no redirects, takes at most ten seconds, and reads nothing from the reply but the status.
``outgoing`` decides which addresses are allowed, ``service`` when to try again. The secret that
signs the messages of this home is stored beside its token.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

from aiohttp import ClientError, ClientSession

from mem_search import secret_file
from mem_search.errors import InputError, MemSearchError, StorageError
from mem_search.outgoing import Lookup, RefusedReceiver, check_url, open_session, refusal_in
from mem_search.settings import Settings

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


class Sender:
    """Sends for one home. Calls ``secret`` for the first message."""

    def __init__(
        self,
        secret: Callable[[], str],
        allowed: Collection[str] = (),
        *,
        seconds: float = SECONDS,
        lookup: Lookup | None = None,
    ) -> None:
        self._secret = secret
        self._allowed = tuple(allowed)
        self._seconds = seconds
        self._lookup = lookup
        self._key: bytes | None = None
        self._session: ClientSession | None = None

    def check(self, url: str) -> None:
        """Raises RefusedReceiver, naming ``webhook_url``, for a URL that is never allowed."""
        try:
            check_url(url, self._allowed)
        except InputError as error:
            error.field = "webhook_url"
            raise

    async def send(self, url: str, message: str, body: bytes) -> Attempt:
        """POST the JSON ``body`` as the message with that id. A failing receiver raises nothing."""
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
        secret = secret_file.read_or_create(file, new_secret)
    except (OSError, UnicodeDecodeError) as error:
        raise StorageError(f"cannot store the webhook secret in {file}: {error}") from error
    key_of(secret)
    return secret
