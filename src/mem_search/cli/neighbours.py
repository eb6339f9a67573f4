"""Programs that this worker runs beside: what is told of them, and what is taken back from them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Final

from mem_search.cli.local_checks import Finding
from mem_search.features.claude_mem import cli as claude_mem

_NEIGHBOURS: Final = (claude_mem,)
SOURCES: Final = tuple(each.SOURCE for each in _NEIGHBOURS)
"""The sources that read what they store."""


def named(source: str) -> ModuleType | None:
    """The command line of the program with this source."""
    return next((each for each in _NEIGHBOURS if source == each.SOURCE), None)


def tell(port: int) -> None:
    """Print on standard error how a worker on ``port`` gets on with each that is there."""
    for each in _NEIGHBOURS:
        each.tell(port)


def findings(port: int) -> Iterator[Finding]:
    """How each that is installed gets on with a worker on ``port``."""
    for each in _NEIGHBOURS:
        if (finding := each.finding(port, os.environ, os.getuid())) is not None:
            yield finding


def to_take_back() -> Iterator[tuple[str, Callable[[], list[str]]]]:
    """What was written into settings of theirs: its name, and what takes it back."""
    for each in _NEIGHBOURS:
        if each.is_redirected(os.environ):
            folder = each.folder_of(os.environ)
            yield (
                f"{each.SOURCE}: the port in its settings",
                partial(_taken_back, each.take_back, folder),
            )


def _taken_back(take_back: Callable[[Path], str], folder: Path) -> list[str]:
    return [take_back(folder)]
