"""Homes that are filled once and then copied: taking records in costs more than opening a store."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Hashable
from pathlib import Path

from mem_search.wiring import Runtime, open_runtime
from patience import PATIENCE
from runtimes import settled, small


class FilledHomes:
    """Homes below ``folder``, by what they hold."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[Hashable, Path] = {}
        self.copied: set[Path] = set()
        """Homes that were made by ``copy``."""

    async def copy(
        self, name: Hashable, fill: Callable[[Runtime], Awaitable[object]], home: Path
    ) -> None:
        """Make ``home`` as ``fill`` leaves a new one; ``name`` says what that is."""
        if (made := self._made.get(name)) is None:
            made = self._folder / f"{len(self._made)}"
            async with open_runtime(small(made)) as runtime:
                assert len(_once()) == 2, "wiring names them otherwise"
                await fill(runtime)
                await settled(runtime)
            self._made[name] = made
        await asyncio.to_thread(shutil.copytree, made, home)
        self.copied.add(home)


async def begun() -> None:
    """Wait for what a runtime does once when it opens, over records that this test may damage."""
    if once := _once():
        await asyncio.wait(once, timeout=PATIENCE)


def _once() -> list[asyncio.Task[object]]:
    """Of ``wiring.open_features``, what has not ended."""
    return [each for each in asyncio.all_tasks() if each.get_name() in ("vectors", "derived")]
