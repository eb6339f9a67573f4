"""A Chroma server as the index sees it: kept running in the background, with its state.

``process`` owns a child process, ``remote`` watches a server that somebody else runs. Both are
tasks that end only with ``stop``. Only ``wait_ready`` waits for a server.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable

from mem_search.errors import IndexUnavailable
from mem_search.storage.chroma.connection import Connect
from mem_search.storage.vector_index import Protection, State

Opened = Callable[[Connect], Awaitable[None]]
"""Called with the way to a server that has just started; raises IndexUnavailable to refuse it."""

_log = logging.getLogger(__name__)


class Server(ABC):
    """``state`` and, unless it is ready, ``detail``: why not, and what happens next."""

    protection: Protection
    refusal: str = ""
    """Why there is no better protection than this one, in the words of the system."""

    def __init__(self) -> None:
        self.state: State = "down"
        self.detail: str = "the vector index was not started"
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self, opened: Opened) -> None:
        """Keep the server running from now on, also after it was given up. Returns at once."""
        if self._task is None or self._task.done():
            self._set("starting", "the vector index is starting")
            self._task = asyncio.create_task(self._run(opened), name="chroma")

    async def stop(self) -> None:
        """Disconnect from the server, or stop it if it is ours; ``start`` may follow."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        self.state, self.detail = "down", "the vector index is stopped"
        self._changed.set()

    def require_ready(self) -> None:
        """Raise IndexUnavailable with the reason, unless the server is ready."""
        if self.state != "ready":
            raise IndexUnavailable(self.detail)

    async def wait_ready(self, timeout: float) -> None:  # noqa: ASYNC109  the caller's patience
        """Return once it is ready; raise IndexUnavailable after ``timeout`` seconds."""
        try:
            async with asyncio.timeout(timeout):
                while self.state != "ready":
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise IndexUnavailable(self.detail) from None

    def revision(self) -> int | None:
        """A number that every write of Chroma's changes; None where it cannot be known."""
        return None

    @abstractmethod
    def check_after(self, fault: IndexUnavailable) -> None:
        """A call failed with ``fault``: check whether the server still works."""

    def replacement(self) -> Server | None:
        """A second server with empty files, to ``take_over``; None where the files are not ours."""
        return None

    def again(self) -> Server:
        """Another way to the same server, for a second collection."""
        raise IndexUnavailable("a server that is ours has one collection")

    @abstractmethod
    def take_over(self, other: Server) -> None:
        """Take the files of ``other``, which ``replacement`` made; both are stopped. Blocking.

        Raises IndexUnavailable where the files are not ours.
        """

    @abstractmethod
    async def _keep_up(self, opened: Opened) -> None:
        """Until cancelled: get a server, call ``opened``, wait until it fails, repeat."""

    async def _run(self, opened: Opened) -> None:
        try:
            await self._keep_up(opened)
        except Exception as error:  # noqa: BLE001  a defect of ours must not look like a slow start
            _log.exception("keeping Chroma up failed")
            self._set("down", f"the vector index failed: {error!r}; restart mem-search")

    def _set(self, state: State, detail: str = "") -> None:
        if (state, detail) != (self.state, self.detail):
            level = logging.WARNING if state == "down" else logging.INFO
            _log.log(level, "vector index %s", f"{state}: {detail}" if detail else state)
        self.state, self.detail = state, detail
        self._changed.set()
