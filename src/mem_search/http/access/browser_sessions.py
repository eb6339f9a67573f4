"""Logins of browsers: a link that works once, and the cookie that it leaves.

The cookie is signed, not stored: a worker that starts again knows it, and it ends with the home's
token, from which its key is derived. It counts only where the browser itself says that one of our
own pages asks (``Sec-Fetch-Site``, Fetch Metadata): pages of other ports of this machine are the
same site, so that ``SameSite`` alone would let them in.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

LINK_SECONDS: Final = 120
SESSION_SECONDS: Final = 30 * 86_400
MOST_LINKS: Final = 16
"""Links that wait to be opened; the oldest gives way."""


def _utc_seconds() -> int:
    return int(datetime.now(UTC).timestamp())


class BrowserSessions:
    """Makes links and cookies that ``token`` vouches for."""

    def __init__(self, token: str, clock: Callable[[], int] = _utc_seconds) -> None:
        self._key = hmac.digest(token.encode(), b"mem-search viewer", "sha256")
        self._clock = clock
        self._links: dict[str, int] = {}

    def link(self) -> tuple[str, int]:
        """A code that can be redeemed once, and the second of UTC at which it ends."""
        code, ends = secrets.token_urlsafe(24), self._clock() + LINK_SECONDS
        self._links[code] = ends
        while len(self._links) > MOST_LINKS:
            del self._links[next(iter(self._links))]
        return code, ends

    def redeem(self, code: str) -> str | None:
        """The cookie for ``code``; None where it is unknown, used or too old."""
        if self._links.pop(code, 0) <= self._clock():
            return None
        payload = f"{self._clock() + SESSION_SECONDS}.{secrets.token_urlsafe(12)}"
        return f"{payload}.{self._signature(payload)}"

    def is_valid(self, cookie: str) -> bool:
        """Whether ``cookie`` was made here and has not ended."""
        payload, _, signature = cookie.rpartition(".")
        if not hmac.compare_digest(signature.encode(), self._signature(payload).encode()):
            return False
        return int(payload.partition(".")[0]) > self._clock()

    def _signature(self, payload: str) -> str:
        return hmac.new(self._key, payload.encode("utf-8", "replace"), hashlib.sha256).hexdigest()


def cookie_name(port: int) -> str:
    """A name for each port: browsers give a cookie to all ports of a host."""
    return f"mem_search_{port}"
