"""Logins of browsers: a link that works once, and the session that it begins.

A page of the viewer keeps the secret of its session in the storage of its origin and sends it in a
header. That is no cookie, because browsers send a cookie to every port of a host, and so to servers
of other users of this machine. The store has links and sessions by their digests, which are bound
to a place (``browsers.login_place``). A session ends with the worker that began it: when that is
gone, its origin may be somebody else's.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from typing import Final

from mem_search.errors import NotFound
from mem_search.model.access import BrowserSession
from mem_search.storage.sql.access import Logins
from mem_search.text.dates import now_ms

SESSION: Final = "X-Mem-Search-Session"
"""The header of a page that is logged in."""

LINK_SECONDS: Final = 120
MAX_LINKS: Final = 16
"""Links that wait to be opened; the oldest gives way."""

IDLE_MS: Final = 12 * 3_600_000
"""A session that was not used for so long ends: a browser of yesterday is not logged in."""

LIFE_MS: Final = 7 * 86_400_000
"""Every session ends then, also in a tab that asks something all the time."""

MAX_SESSIONS: Final = 32
"""The session that was not used for longest gives way."""

_NOTED_MS: Final = 60_000
"""The last use is stored once in so long, so that most requests only read."""

_BROWSERS: Final = (
    ("Edg", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("Chrom", "Chromium"),
    ("Safari/", "Safari"),
)  # fmt: skip
_SYSTEMS: Final = (
    ("Android", "Android"), ("iPhone", "iOS"), ("Windows", "Windows"), ("Mac OS", "macOS"),
    ("Linux", "Linux"),
)  # fmt: skip
"""What a User-Agent has in it; of several the first."""


class BrowserSessions:
    """Makes links and sessions that ``secret`` vouches for: the home's token and this start."""

    def __init__(self, store: Logins, secret: str, clock: Callable[[], int] = now_ms) -> None:
        self._store = store
        self._key = hmac.digest(secret.encode(), b"mem-search viewer", "sha256")
        self._clock = clock
        self._is_open = False

    async def open(self) -> None:
        """End the sessions of earlier workers of this home. Raises StorageError."""
        await self._store.put_key(self._key)
        self._is_open = True

    async def link(self, place: str) -> tuple[str, int]:
        """A code that can be redeemed once, at ``place``, and when it ends (ms since 1970)."""
        code, ends = secrets.token_urlsafe(24), self._clock() // 1000 + LINK_SECONDS
        await self._store.keep_link(_digest(code, place), ends, MAX_LINKS)
        return code, ends * 1000

    async def redeem(
        self, code: str, place: str, browser: str
    ) -> tuple[BrowserSession, str] | None:
        """A new session and its secret; None for a code that is unknown here, used or too old."""
        now = self._clock()
        if not await self._store.take_link(_digest(code, place), now // 1000):
            return None
        await self._opened()
        secret = secrets.token_urlsafe(32)
        began = BrowserSession(
            secrets.token_hex(4), _digest(secret, place), self._key, browser_in(browser), now, now
        )
        await self._store.begin(began, now - IDLE_MS, MAX_SESSIONS)
        return began, secret

    async def is_valid(self, secret: str, place: str) -> bool:
        """Whether it is the secret of a session that goes on at ``place``."""
        await self._opened()
        session, now = await self._store.session(_digest(secret, place)), self._clock()
        if session is None or not _goes_on(session, now):
            return False
        if now - session.used_at >= _NOTED_MS:
            await self._store.note_session(session.id, now)
        return True

    async def listed(self) -> list[BrowserSession]:
        """The sessions that go on, the last used first."""
        await self._opened()
        now = self._clock()
        return [each for each in await self._store.sessions() if _goes_on(each, now)]

    async def end(self, name: str) -> None:
        """End the session with this id. Raises NotFound."""
        if not await self._store.end_session(name):
            raise NotFound(
                f"there is no session {name[:40]!r}; see: mem-search view --sessions", field="id"
            )

    async def _opened(self) -> None:
        """Until the store knows the key of this worker, sessions of earlier ones would count."""
        if not self._is_open:
            await self.open()


def browser_in(user_agent: str) -> str:
    """``Firefox on Linux``: which browser a User-Agent is, in words that are ours."""
    browser = next((name for sign, name in _BROWSERS if sign in user_agent), "a browser")
    system = next((name for sign, name in _SYSTEMS if sign in user_agent), "")
    return f"{browser} on {system}" if system else browser


def _goes_on(session: BrowserSession, now: int) -> bool:
    """A time in the future, of a clock that was ahead, counts for nothing."""
    return now - IDLE_MS < session.used_at <= now + _NOTED_MS and now - LIFE_MS < session.began_at


def _digest(secret: str, place: str) -> bytes:
    return hashlib.sha256(f"{place} {secret}".encode("utf-8", "replace")).digest()
