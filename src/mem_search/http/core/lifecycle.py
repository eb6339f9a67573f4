"""The runtime of one app. It opens in the background, so that the worker answers at once.

It opens in two steps: what answers searches, then everything else, once that is asked for or the
first searches are over (``app``). A request that comes earlier waits for what it needs, and
is answered with 503 when that takes long. When it cannot be opened, every request is answered with
the reason. The process of the worker awaits ``Lifecycle.complete``.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, suppress
from typing import TYPE_CHECKING, Final, Literal, TypeVar

from aiohttp import web

from mem_search.access.callers import RateLimits
from mem_search.access.tokens import Tokens
from mem_search.embedders import Opener, open_embedder
from mem_search.errors import MemSearchError, StorageError, Unavailable
from mem_search.http.access.browser_sessions import BrowserSessions
from mem_search.model.access import HOUR
from mem_search.runtime import Runtime, Starting
from mem_search.search_wiring import open_search
from mem_search.settings import Settings
from mem_search.storage import archive
from mem_search.text.dates import now_ms

if TYPE_CHECKING:
    from mem_search.http.core.user_runtimes import UserRuntimes

OPENING_SECONDS: float = 5.0
"""So long a request waits for a store that is being opened."""

log = logging.getLogger(__name__)
P = TypeVar("P")


class Lifecycle:
    """Holds the runtime while the app lives. ``instance`` names this run of the worker.

    ``key`` proves to clients that this worker answers (``access/proof``); empty when it stops.
    ``url`` is where it listens; empty where that is not known. ``viewer`` is the origin of the
    viewer, ``no_viewer`` says why there is none.
    """

    def __init__(self, settings: Settings, opener: Opener = open_embedder, token: str = "") -> None:
        self.settings = settings
        self._opener = opener
        self._token = token
        self.instance = secrets.token_hex(16)
        self.key = secrets.token_hex(32)
        self.url = ""
        self.viewer = ""
        self.no_viewer = "this worker has not opened its address"
        self._since = time.monotonic()
        self.store_id: str | None = None
        self.error: MemSearchError | None = None
        self._runtime: Runtime | None = None
        self._users: UserRuntimes | None = None
        self._tokens: Tokens | None = None
        self._limits: RateLimits | None = None
        self._sessions: BrowserSessions | None = None
        self._settled = asyncio.Event()
        self._wanted = asyncio.Event()
        self._completed = asyncio.Event()
        self._leave = asyncio.Event()

    @property
    def runtime(self) -> Runtime:
        """The runtime of the owner; a handler uses ``Call.runtime`` instead.

        Raises Starting before it is open, or the reason why it could not be opened.
        """
        return self._ready(self._runtime)

    @property
    def users(self) -> UserRuntimes:
        """The runtimes of users. Raises as ``runtime`` does."""
        return self._ready(self._users)

    @property
    def tokens(self) -> Tokens:
        """The tokens of users. Raises as ``runtime`` does."""
        return self._ready(self._tokens)

    @property
    def limits(self) -> RateLimits:
        """What callers may still ask. Raises as ``runtime`` does."""
        return self._ready(self._limits)

    @property
    def sessions(self) -> BrowserSessions:
        """Logins of browsers. Raises as ``runtime`` does."""
        return self._ready(self._sessions)

    def _ready(self, part: P | None) -> P:
        if part is not None:
            return part
        if self.error is not None:
            error = Unavailable(f"the worker cannot open its store: {self.error.message}")
            if isinstance(self.error, Unavailable):
                error.code = self.error.code
            raise error
        raise Starting("the worker is opening its store; try again in a second")

    @property
    def state(self) -> Literal["ok", "starting", "failed"]:
        if self._runtime is not None:
            return "ok"
        return "starting" if self.error is None else "failed"

    @property
    def unwritable(self) -> str:
        """Why nothing can be stored at the moment; empty when it can be, or is not open."""
        return "" if self._runtime is None else self._runtime.store.unwritable

    @property
    def uptime(self) -> float:
        """Seconds since this app was built."""
        return round(time.monotonic() - self._since, 3)

    async def ready(self) -> Runtime:
        """Wait until the runtime is open with its features. Raises the reason when it cannot be."""
        self._wanted.set()
        await self.complete()
        return self.runtime

    async def complete(self) -> None:
        """The same without asking for the features: they open when somebody does."""
        await self._completed.wait()
        if self.error is not None:
            raise self.error

    async def settled(self, seconds: float | None = None, *, complete: bool = False) -> None:
        """Wait until it is open, or known that it cannot be opened; at most so many seconds.

        ``complete`` asks for its features and waits for them, too.
        """
        if complete:
            self._wanted.set()
        known = self._completed if complete else self._settled
        if not known.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await known.wait()

    async def hold(self) -> None:
        """Open, wait for ``close``, then close, all in one task."""
        try:
            async with open_search(self.settings, opener=self._opener) as runtime:
                self.store_id = await runtime.store.statistics.store_id()
                await self._open_to(runtime)
        except MemSearchError as error:
            self._fail(error)
        except Exception as error:
            # A bug while opening must not leave callers waiting; it is logged.
            log.exception("the store did not open or close")
            self._fail(MemSearchError(f"internal error: {type(error).__name__}"))
        finally:
            self._completed.set()  # also where it is closed before anybody wanted the features

    async def _open_to(self, runtime: Runtime) -> None:
        """Answer searches, and everything once it is wanted, until ``close``."""
        self._tokens = Tokens(runtime.store.tokens)
        self._limits = RateLimits(runtime.store.limits)
        self._sessions = BrowserSessions(runtime.store.logins, f"{self._token} {self.instance}")
        try:
            await self._sessions.open()
            await runtime.store.limits.expire(now_ms() - 1000 * HOUR)
        except StorageError as error:  # a disk that is full is no reason to answer nothing
            log.warning("old limits and sessions of browsers are not cleared yet: %s", error)
        self._runtime = runtime
        self._settled.set()
        try:
            await self._wanted.wait()
            if not self._leave.is_set():
                async with await asyncio.to_thread(_features, runtime):
                    await self._open_to_users(runtime, self._tokens)
        finally:
            self._runtime = None
            await self._store_uses(self._tokens)

    async def _open_to_users(self, runtime: Runtime, tokens: Tokens) -> None:
        """Serve until ``close``, then close users' runtimes before the one that they share with."""
        from mem_search.http.core.user_runtimes import UserRuntimes, sweep_removed

        await asyncio.to_thread(sweep_removed, self.settings.home)
        await asyncio.to_thread(archive.sweep, self.settings.home)
        self._users = users = UserRuntimes(self.settings, runtime.model)
        looking = asyncio.create_task(self._look_after(users, tokens), name="users")
        self._completed.set()
        try:
            await self._leave.wait()
        finally:
            self._runtime = None
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)
            await users.close()

    async def _look_after(self, users: UserRuntimes, tokens: Tokens) -> None:
        """Close idle runtimes and store the last use of tokens, until cancelled."""
        from mem_search.http.core.user_runtimes import LOOK_SECONDS

        await users.wake()
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self._store_uses(tokens)
                await users.close_idle()
            except Exception:  # the next round tries again
                log.exception("idle users are looked after later")

    @staticmethod
    async def _store_uses(tokens: Tokens) -> None:
        try:
            await tokens.flush()
        except StorageError as error:
            log.warning("the last use of tokens is not stored yet: %s", error)

    def close(self) -> None:
        """Let ``hold`` end."""
        self._leave.set()
        self._wanted.set()

    def _fail(self, error: MemSearchError) -> None:
        doing = "close" if self._settled.is_set() and self._leave.is_set() else "open"
        log.error("cannot %s the store: %s", doing, error.message)
        self._runtime = None
        self.error = error
        self._settled.set()


def _features(runtime: Runtime) -> AbstractAsyncContextManager[None]:
    """``wiring.open_features``; imports it, which takes long."""
    from mem_search.http.core import user_runtimes  # noqa: F401 - loads with it
    from mem_search.wiring import open_features

    return open_features(runtime)


LIFECYCLE: Final = web.AppKey("lifecycle", Lifecycle)


async def run_lifecycle(app: web.Application) -> AsyncIterator[None]:
    """Cleanup context: opens the runtime when the app starts and closes it when the app ends."""
    lifecycle = app[LIFECYCLE]
    task = asyncio.create_task(lifecycle.hold(), name="runtime")
    yield
    lifecycle.close()
    await task
