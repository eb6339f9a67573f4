"""A Chroma server as the index sees it: kept up in the background, ready or not, and why not.

Two kinds: ``process`` owns a child, ``remote`` watches somebody else's. Both are tasks that
end only with ``stop``; nothing here waits for a server except ``wait_ready``.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Literal

from mem_search.errors import IndexUnavailable

State = Literal["starting", "ready", "down", "off"]
Opened = Callable[[str], Awaitable[None]]
"""Called with the URL of a server that just came up; raises IndexUnavailable to refuse it."""

_log = logging.getLogger(__name__)


class Server(ABC):
    """``state`` and, unless it is ready, ``detail``: why not and what is being done."""

    def __init__(self) -> None:
        self.state: State = "down"
        self.detail: str = "the vector index was not started"
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self, opened: Opened) -> None:
        """Begin to keep the server up, or begin anew after it was given up. Returns at once."""
        if self._task is None or self._task.done():
            self._set("starting", "the vector index is starting")
            self._task = asyncio.create_task(self._run(opened), name="chroma")

    async def stop(self) -> None:
        """Leave the server, or end it if it is ours; ``start`` may follow."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        self.state, self.detail = "down", "the vector index is stopped"
        self._changed.set()

    def require_ready(self) -> None:
        """Raise IndexUnavailable saying why, unless the server is ready."""
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

    @abstractmethod
    def doubt(self, fault: IndexUnavailable) -> None:
        """A call failed with ``fault``: look whether the server still deserves trust."""

    @abstractmethod
    async def _keep_up(self, opened: Opened) -> None:
        """Until cancelled: have a server, tell ``opened``, wait for it to fail, repeat."""

    async def _run(self, opened: Opened) -> None:
        try:
            await self._keep_up(opened)
        except Exception as error:  # noqa: BLE001  a defect of ours must not pass for a slow start
            _log.exception("keeping Chroma up failed")
            self._set("down", f"the vector index failed: {error!r}; restart mem-search")

    def _set(self, state: State, detail: str = "") -> None:
        if (state, detail) != (self.state, self.detail):
            level = logging.WARNING if state == "down" else logging.INFO
            _log.log(level, "vector index %s", f"{state}: {detail}" if detail else state)
        self.state, self.detail = state, detail
        self._changed.set()
