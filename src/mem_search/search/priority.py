"""Priority of searches over background work: a caller waits for a search.

Preparing records is Python code, and Python runs one thread at a time, so during an import a search
would wait at every step. Background work of many small pieces therefore pauses between two pieces.
A pause is short, so the work also continues under searches without end.
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Final

MOST_WAITED: Final = 0.005
"""Seconds; a piece of background work takes one to three milliseconds."""


class SearchPriority:
    """Use ``with priority:`` around a search, and ``give`` between two pieces of other work.
    Searches enter and leave in the thread of the event loop.
    """

    def __init__(self) -> None:
        self._under_way = 0
        self._free = threading.Event()
        self._free.set()

    def __enter__(self) -> None:
        self._under_way += 1
        self._free.clear()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._under_way -= 1
        if not self._under_way:
            self._free.set()

    def give(self) -> None:
        """Blocking: return when no search is running, or after ``MOST_WAITED`` seconds."""
        self._free.wait(MOST_WAITED)
