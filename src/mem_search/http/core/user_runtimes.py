"""The runtimes of users: each has its own home, is opened on demand and closed when idle.

Isolation means that one store cannot be reached from another (ADR 0009). Only the embedding model
is shared, which keeps no data. A runtime is leased for one request; while it is leased, or has work
to finish, it stays open.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import shutil
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from mem_search.access.callers import home_of, users_dir
from mem_search.errors import Conflict, Forbidden, MemSearchError, NotFound, StorageError
from mem_search.runtime import EmbeddingModel, Runtime
from mem_search.settings import Settings
from mem_search.storage.opening import erase_store
from mem_search.wiring import open_runtime

log = logging.getLogger(__name__)

IDLE_SECONDS: Final = 300.0
"""Seconds after which an unused runtime is closed."""

MAX_IDLE: Final = 4
"""Idle runtimes that stay open; of more, the longest unused are closed."""

LOOK_SECONDS: Final = 15.0
"""Seconds between two checks for idle runtimes."""

_PATIENCE: Final = 10.0
_REMOVED: Final = ".removed-"


class _UserRuntime:
    """One runtime in the task that opens, holds and closes it."""

    def __init__(
        self, settings: Settings, model: EmbeddingModel, after: asyncio.Task[None] | None
    ) -> None:
        self._leave = asyncio.Event()
        self._opened: asyncio.Future[Runtime] = asyncio.get_running_loop().create_future()
        self._leases = 0
        self.free = asyncio.Event()
        self.free.set()
        self.last_used = 0.0
        self.task = asyncio.create_task(self._hold(settings, model, after), name="user runtime")

    async def opened(self) -> Runtime:
        """Wait until it is open. Raises the reason why it cannot be opened."""
        return await asyncio.shield(self._opened)

    @property
    def idle(self) -> Runtime | None:
        """The runtime if it is open and not leased."""
        opened = self._opened.done() and not self._opened.exception() and not self._leave.is_set()
        return self._opened.result() if opened and self.free.is_set() else None

    def acquire(self) -> None:
        self._leases += 1
        self.free.clear()

    def release(self, now: float) -> None:
        self._leases -= 1
        self.last_used = now
        if not self._leases:
            self.free.set()

    def leave(self) -> None:
        self._leave.set()

    async def _hold(
        self, settings: Settings, model: EmbeddingModel, after: asyncio.Task[None] | None
    ) -> None:
        try:
            if after is not None:  # the same home is still being closed
                await asyncio.wait([after])
            await asyncio.to_thread(_make, settings.home)
            async with open_runtime(settings, shared=model) as runtime:
                self._opened.set_result(runtime)
                await self._leave.wait()
        except MemSearchError as error:
            self._fail(settings, error)
        except Exception as error:
            # A bug while opening must not leave callers waiting; it is logged.
            log.exception("the store in %s did not open or close", settings.home)
            self._fail(settings, MemSearchError(f"internal error: {type(error).__name__}"))

    def _fail(self, settings: Settings, error: MemSearchError) -> None:
        if self._opened.done():
            log.error("cannot close the store in %s: %s", settings.home, error.message)
            return
        self._opened.set_exception(error)
        self._opened.exception()  # mark the error as retrieved: the caller may be gone
        log.error("cannot open the store in %s: %s", settings.home, error.message)


class UserRuntimes:
    """Leases runtimes by user. Call ``close_idle`` now and then, and ``close`` at the end."""

    def __init__(
        self, settings: Settings, model: EmbeddingModel, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings = settings
        self._model = model
        self._clock = clock
        self._held: dict[str, _UserRuntime] = {}
        self._closing: dict[str, asyncio.Task[None]] = {}
        self._removing: set[str] = set()

    @property
    def open(self) -> list[str]:
        """The users whose runtimes are open or being opened."""
        return sorted(self._held)

    @asynccontextmanager
    async def lease(self, user: str, *, may_create: bool = True) -> AsyncIterator[Runtime]:
        """The runtime of ``user`` until the block ends.

        Raises StorageError, Conflict, Forbidden for a user without a home unless ``may_create``.
        """
        if user in self._removing:
            raise Conflict(f"the user {user} is being removed")
        held = self._held.get(user)
        if held is None:
            if not may_create and not home_of(self._settings.home, user).is_dir():
                raise Forbidden(
                    f"{user} has stored nothing yet; a token that may write creates the store"
                )
            held = _UserRuntime(self._settings_of(user), self._model, self._closing.get(user))
            self._held[user] = held
        held.acquire()
        try:
            try:
                runtime = await held.opened()
            except MemSearchError:
                if self._held.get(user) is held:
                    del self._held[user]  # the next request tries again
                raise
            yield runtime
        finally:
            held.release(self._clock())

    async def close_idle(self) -> None:
        """Close runtimes that were idle for long, and surplus idle ones."""
        idle = sorted(
            (held.last_used, user, held) for user, held in self._held.items() if held.idle
        )
        now = self._clock()
        for place, (last_used, user, held) in enumerate(idle):
            is_surplus = len(idle) - place > MAX_IDLE
            if not is_surplus and now - last_used < IDLE_SECONDS:
                continue
            runtime = held.idle
            if runtime is None or await _has_work(runtime):
                continue
            if held.idle and self._held.get(user) is held:  # it may be leased by now
                self._close(user)

    async def wake(self) -> None:
        """Open every home once, so that unfinished work of an earlier worker continues. Idle ones
        are closed again later.
        """
        for user, _ in await asyncio.to_thread(lambda: list(homes(self._settings.home))):
            try:
                async with self.lease(user):
                    pass
            except MemSearchError:
                continue  # it is logged, and reported to the next caller
            await self.close_idle()

    async def close(self) -> None:
        """Close all; unfinished work is resumed when they are opened again."""
        for user in list(self._held):
            self._close(user)
        await self._closed(*self._closing.values())

    async def remove(self, user: str) -> None:
        """Close the runtime of ``user`` and delete their home: this cannot be undone.

        Raises NotFound, Conflict while requests of theirs are answered, StorageError.
        """
        home = home_of(self._settings.home, user)
        if not home.is_dir():
            raise NotFound(f"there is no user {user}", field="user")
        self._removing.add(user)
        try:
            await self._until_free(user)
            if user in self._held:
                self._close(user)
            if closing := self._closing.get(user):
                await self._closed(closing)
            await erase_store(self._settings_of(user))
            await asyncio.to_thread(_delete, home)
        finally:
            self._removing.discard(user)

    async def _until_free(self, user: str) -> None:
        try:
            async with asyncio.timeout(_PATIENCE):
                if held := self._held.get(user):
                    await held.free.wait()
        except TimeoutError:
            raise Conflict(f"requests of {user} are still being answered; try again") from None

    def _close(self, user: str) -> None:
        held = self._held.pop(user)
        held.leave()
        self._closing[user] = held.task

        def closed(task: asyncio.Task[None]) -> None:
            if self._closing.get(user) is task:
                del self._closing[user]

        held.task.add_done_callback(closed)

    @staticmethod
    async def _closed(*tasks: asyncio.Task[None]) -> None:
        if tasks:
            await asyncio.wait(tasks)

    def _settings_of(self, user: str) -> Settings:
        """A user has no machine to follow, and never the collection of the worker's own index."""
        return replace(
            self._settings,
            home=home_of(self._settings.home, user),
            store_owner=f"{self._settings.store_owner}/{user}",
            token="",
            follow=0,
            chroma_url="off" if self._settings.chroma_url else "",
            chroma_token="",
            webhook_allow=(),  # only the owner may allow receivers on this machine
            fetch_allow=(),  # and pages
        )


def homes(home: Path) -> Iterator[tuple[str, Path]]:
    """(user, home) of every user with a store, by name."""
    folder = users_dir(home)
    if folder.is_dir():
        for place in sorted(folder.iterdir()):
            if place.is_dir() and not place.name.startswith("."):
                yield place.name, place


def sweep_removed(home: Path) -> None:
    """Finish removals that an earlier worker left incomplete."""
    for place in users_dir(home).glob(f"{_REMOVED}*"):
        shutil.rmtree(place, ignore_errors=True)


async def _has_work(runtime: Runtime) -> bool:
    """Whether it has scheduled work, or passages that are not indexed yet."""
    try:
        if await runtime.store.statistics.has_due_work():
            return True
        waiting = await runtime.store.indexing.outbox_counts()
    except StorageError:
        return False  # a store that cannot be read need not stay open
    return bool(sum(waiting.values())) and not runtime.ingest.indexer.error


def _make(home: Path) -> None:
    try:
        for folder in (home.parent, home):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"cannot make {home}: {error.strerror}") from error


def _delete(home: Path) -> None:
    """Rename the home first, then delete it, so that half a home is never opened."""
    gone = home.with_name(f"{_REMOVED}{secrets.token_hex(8)}")
    try:
        home.rename(gone)
        shutil.rmtree(gone)
    except OSError as error:
        raise StorageError(f"cannot remove {home}: {error.strerror}") from error
