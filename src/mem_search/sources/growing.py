"""How far a file of lines was read, so that a session that grows is read from there on.

The place is after a line that is complete. It holds as long as the file is the same one (its
inode), is no shorter, and has the same bytes at its start and before the place; else it is read
from its start. What the reader and others know there are JSON values, which the cursor keeps.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final

from mem_search.regular_file import open_regular_file

STATES_KEPT: Final = 16
"""Files of which the cursor keeps where to go on. A session rarely grows after so many newer ones.
"""
_START: Final = 65_536
"""Bytes at the start of the file that have to be the same."""
_END: Final = 4_096
"""Bytes before the place that have to be."""


class Rewritten(Exception):
    """What came after the place changes what was read before it: the file begins again."""


@dataclass(slots=True)
class Growing:
    """The place in one file. ``known`` is what was known there, by the name of who knows it."""

    offset: int = 0
    line: int = 0
    known: dict[str, Any] = field(default_factory=dict)
    left: dict[str, Any] = field(default_factory=dict)
    """What the next reading needs, once the end of the file was reached; empty without a reader
    that can go on there."""
    _goes_on: bool = False
    _awaits: list[str] = field(default_factory=list)
    _held: tuple[int, int] | None = None
    _end: dict[str, Any] = field(default_factory=dict)
    _keepers: dict[str, Callable[[], Any]] = field(default_factory=dict)

    @classmethod
    def at(cls, file: BinaryIO, stored: Mapping[str, Any]) -> Growing | None:
        """The place that was ``stored``; None if the open ``file`` does not continue it."""
        if "offset" not in stored:
            return None
        status = os.fstat(file.fileno())
        offset, inode, check = stored["offset"], stored["inode"], stored["check"]
        if inode != status.st_ino or status.st_size < offset or _check(file, offset) != check:
            return None
        place = cls(offset, stored["line"], deepcopy(stored["known"]))
        place._awaits = [*stored.get("awaits", ())]
        return place

    def remember(self, name: str, state: dict[str, Any], *not_kept: str) -> dict[str, Any]:
        """``state`` as it was when the file was left; it is kept again. So a reader can go on."""
        state.update(deepcopy(self.known.get(name, {})))
        self._goes_on = True
        self.keep(name, lambda: {key: state[key] for key in state if key not in not_kept})
        return state

    def keep(self, name: str, keeper: Callable[[], Any]) -> None:
        """``keeper`` gives what is to be known at the place that the file is left at."""
        self._keepers[name] = keeper

    def hold(self) -> None:
        """What begins at the place may change: the file is left here, once ``let_go`` is called."""
        self._held = self.offset, self.line

    def let_go(self) -> None:
        """What is known now is what is known where the file is left."""
        if self._end:
            known = deepcopy({name: keeper() for name, keeper in self._keepers.items()})
            self.left = {**self.left, **self._end, "known": known}

    def forget(self, *, really: bool = True) -> None:
        """The reading cannot go on where it is left: the next one begins at the start."""
        self._goes_on = not really

    def wait_for(self, *words: str) -> None:
        """The file is read from its start once one is there whose name has one of the ``words``."""
        self._awaits += words

    def leave(self, file: BinaryIO) -> None:
        """All complete lines of ``file`` were read."""
        self.left = {"awaits": self._awaits} if self._awaits else {}
        if self._goes_on:
            offset, line = self._held or (self.offset, self.line)
            inode, check = os.fstat(file.fileno()).st_ino, _check(file, offset)
            self._end = {"offset": offset, "line": line, "inode": inode, "check": check}
            if self._held is None:
                self.let_go()

    def count(self, taken: Mapping[str, bool]) -> int:
        """How many records the file has given, with those that were ``taken`` in this reading: ids,
        and whether the next reading gives them again.
        """
        known = self.known
        records: int = known.get("records", 0) + len(taken.keys() - set(known.get("again", ())))
        if "known" in self.left:
            again = [each for each, is_again in taken.items() if is_again]
            self.left["known"] |= {"records": records, "again": again}
        return records


def _check(file: BinaryIO, offset: int) -> int:
    file.seek(0)
    start = zlib.crc32(file.read(min(offset, _START)))
    file.seek(max(0, offset - _END))
    return zlib.crc32(file.read(min(offset, _END)), start)


def continued(path: Path, stored: Mapping[str, Any]) -> Growing | None:
    """Where the reading of a file goes on that was left as ``stored``; None if it begins again."""
    try:
        with open_regular_file(path, follow=False) as file:
            return Growing.at(file, stored)
    except OSError:  # reading it says so
        return None


def keep_newest(known: dict[str, list[Any]]) -> None:
    """Keep where to go on in the files that changed last: their entries are a stamp that begins
    with when (ns), how far they were read, and perhaps the place. What they wait for stays.
    """
    places = [item for item, entry in known.items() if entry[2:] and "known" in entry[2]]
    if len(places) > STATES_KEPT:
        oldest = min(places, key=lambda item: int(known[item][0].partition("-")[0]))
        awaits = known[oldest].pop().get("awaits")
        known[oldest] += [{"awaits": awaits}] if awaits else []


def stamp_of(path: Path) -> tuple[str, int] | None:
    """What changes with the file, and its size; the log of a database belongs to it."""
    try:
        status = path.stat()
    except OSError:  # gone since it was listed
        return None
    stamp = f"{status.st_mtime_ns}-{status.st_size}"
    if path.suffix == ".db":
        with suppress(OSError):  # mostly there is none
            log = path.with_name(f"{path.name}-wal").stat()
            stamp += f"-{log.st_mtime_ns}-{log.st_size}" if log.st_size else ""
    return stamp, status.st_size
