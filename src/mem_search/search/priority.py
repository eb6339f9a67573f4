"""Who waits for a search is there, who waits for an import is not: searches go first.

Making records ready is Python, and Python runs one thread at a time: beside an import a search
waited for its turn at every step. So whoever works through many small pieces in the background
gives way between two of them, for a moment only: under searches without end it still gets on.
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Final

MOST_WAITED: Final = 0.005
"""Seconds; a piece of background work takes one to three milliseconds itself."""


class SearchPriority:
    """``with priority:`` around a search, ``give`` between two pieces of other work.

    Searches enter and leave in one thread, that of the loop.
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
        """Blocking: return when no search is under way, or after ``MOST_WAITED`` seconds."""
        self._free.wait(MOST_WAITED)
