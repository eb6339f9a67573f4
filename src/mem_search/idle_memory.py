"""Gives memory back to the system once the worker rests.

The C library keeps what was freed in its heaps, because the next search may want it. After an
import, or after some hundred searches, that is more than the rest of a small worker.
"""

from __future__ import annotations

import asyncio
import ctypes
import time
from collections.abc import Awaitable, Callable
from typing import Final

PAUSE: Final = 1.0
"""Seconds between two looks."""

_RESTS: Final = 0.05
"""Share of one processor below which the worker rests: its timers and its health."""

_WORTH: Final = 0.2
"""Seconds of processor time since the last time; what is less leaves little in the heaps."""


async def give_back() -> None:
    """Give back what the heaps of the C library do not use; only glibc keeps that much."""
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
        await asyncio.to_thread(trim, 0)


async def give_back_when_idle(
    give: Callable[[], Awaitable[None]] = give_back,
    clock: Callable[[], float] = time.process_time,
    pause: float = PAUSE,
) -> None:
    """``give``, once after each work, until cancelled."""
    given = spent = clock()
    while True:
        await asyncio.sleep(pause)
        before, spent = spent, clock()
        if spent - before < _RESTS * PAUSE and spent - given >= _WORTH:
            await give()
            given = spent = clock()
