"""Logins of browsers: a link that works once, and the cookie that it leaves.

The cookie is signed, not stored: a worker that starts again knows it, and it ends with the home's
token, from which its key is derived. The store has the links, and the keys of all homes whose
workers use it, so that any worker takes what another one made. The cookie counts only where the
browser itself says that one of our own pages asks (``Sec-Fetch-Site``, Fetch Metadata): pages of
other ports of this machine are the same site, so that ``SameSite`` alone would let them in.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from mem_search.storage.ports import LoginStore

LINK_SECONDS: Final = 120
SESSION_SECONDS: Final = 30 * 86_400
MOST_LINKS: Final = 16
"""Links that wait to be opened; the oldest gives way."""


def _utc_seconds() -> int:
    return int(datetime.now(UTC).timestamp())


class BrowserSessions:
    """Makes links and cookies that ``token`` vouches for, for all workers of a store."""

    def __init__(
        self, store: LoginStore, token: str, clock: Callable[[], int] = _utc_seconds
    ) -> None:
        self._store = store
        self._key = hmac.digest(token.encode(), b"mem-search viewer", "sha256")
        self._clock = clock

    async def open(self) -> None:
        """Tell the other workers the key; one of an earlier token is gone. Raises StorageError."""
        await self._store.put_key(self._key)

    async def link(self) -> tuple[str, int]:
        """A code that can be redeemed once, and the second of UTC at which it ends."""
        code, ends = secrets.token_urlsafe(24), self._clock() + LINK_SECONDS
        await self._store.keep_link(_digest(code), ends, MOST_LINKS)
        return code, ends

    async def redeem(self, code: str) -> str | None:
        """The cookie for ``code``; None where it is unknown, used or too old."""
        if not await self._store.take_link(_digest(code), self._clock()):
            return None
        payload = f"{self._clock() + SESSION_SECONDS}.{secrets.token_urlsafe(12)}"
        return f"{payload}.{_signature(self._key, payload)}"

    async def is_valid(self, cookie: str) -> bool:
        """Whether a worker of the store made ``cookie``, and it has not ended."""
        payload, _, signature = cookie.rpartition(".")
        if _signed(self._key, payload, signature):
            return self._lasts(payload)
        keys = await self._store.keys()
        return any(_signed(key, payload, signature) for key in keys) and self._lasts(payload)

    def _lasts(self, payload: str) -> bool:
        return int(payload.partition(".")[0]) > self._clock()


def _digest(code: str) -> bytes:
    return hashlib.sha256(code.encode("utf-8", "replace")).digest()


def _signed(key: bytes, payload: str, signature: str) -> bool:
    return hmac.compare_digest(
        signature.encode("utf-8", "replace"), _signature(key, payload).encode()
    )


def _signature(key: bytes, payload: str) -> str:
    return hmac.new(key, payload.encode("utf-8", "replace"), hashlib.sha256).hexdigest()


def cookie_name(store_id: str | None) -> str:
    """A name for each store: browsers give a cookie to all ports of a host, and any worker of the
    store takes it.
    """
    return f"mem_search_{(store_id or '')[:12]}"
