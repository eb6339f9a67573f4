"""How long a test waits for an event before it fails, and how it waits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

T = TypeVar("T")

PATIENCE: Final = 300.0
"""Seconds. Only a failure waits so long; a busy machine may take a minute for what takes one."""


def until(found: Callable[[], T]) -> T:
    """Call ``found`` until its answer is true; returns the answer."""
    deadline = time.monotonic() + PATIENCE
    while not (answer := found()):
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.05)
    return answer


async def comes_true(condition: Callable[[], object]) -> None:
    """Let the event loop run until ``condition`` is true, which may be another process's doing."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110  nothing tells of it
            await asyncio.sleep(0.02)


async def becomes(ask: Callable[[], Awaitable[T]], wanted: Callable[[T], object] = bool) -> T:
    """Ask again until the answer is as ``wanted``; returns that answer."""
    async with asyncio.timeout(PATIENCE):
        while not wanted(answer := await ask()):  # noqa: ASYNC110  nothing tells of it
            await asyncio.sleep(0.02)
    return answer
