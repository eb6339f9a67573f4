"""One attempt to deliver one message: a signed POST, and its outcome as a value.

It follows no redirects, uses no proxies or cookies, takes at most ten seconds, and reads nothing
from the reply but the status. ``receivers`` decides which addresses are allowed, ``deliveries``
when to try again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

from aiohttp import ClientError, ClientSession, ClientTimeout, DummyCookieJar, TCPConnector

from mem_search import __version__
from mem_search.errors import InputError, MemSearchError
from mem_search.webhooks.receivers import CheckedResolver, Lookup, RefusedReceiver, check_url
from mem_search.webhooks.signing import key_of, signed

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
            connector = TCPConnector(
                resolver=CheckedResolver(self._allowed, self._lookup),
                use_dns_cache=False,  # every connection uses addresses that were checked for it
                force_close=True,
            )
            self._session = ClientSession(
                connector=connector,
                cookie_jar=DummyCookieJar(),
                timeout=ClientTimeout(total=self._seconds),
                trust_env=False,  # a proxy could connect to any address
                auto_decompress=False,
                headers={
                    "Content-Type": "application/json",
                    "User-Agent": f"mem-search/{__version__}",
                },
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


def refusal_in(error: BaseException | None) -> RefusedReceiver | None:
    """The refusal inside an error: aiohttp wraps what the resolver raises."""
    while error is not None and not isinstance(error, RefusedReceiver):
        error = error.__cause__ or error.__context__
    return error


def _said(error: Exception) -> str:
    text = " ".join(str(error).split())[:200]
    return f"cannot be reached: {text or type(error).__name__}"
