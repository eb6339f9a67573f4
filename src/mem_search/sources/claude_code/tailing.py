"""Reading the new complete lines of a file that other programs append to.

A file is followed by byte offset. When it is another file now (inode), shorter, or holds
other bytes before the offset, it was replaced or cut short, and is read from the start.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from mem_search.errors import SourceError

SUFFIX: Final = ".jsonl"
_OBSERVERS = "observer-sessions"


@dataclass(slots=True)
class Found:
    """Transcripts by relative path, and why other paths are left; both in order."""

    files: dict[str, Path] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)


def transcripts(root: Path) -> Found:
    """What lies at ``root``, a folder or one file. Raises SourceError if it cannot be listed.

    In this order a session comes right before its subagents.
    """
    if root.is_file():
        if root.suffix != SUFFIX:
            raise SourceError(f"{root} is no transcript; transcripts are called *{SUFFIX}")
        return Found(files={root.name: root})
    if not root.is_dir():
        raise SourceError(f"no transcripts at {root}: there is no such file or folder")
    files: dict[str, Path] = {}
    left: dict[str, str] = {}

    def refuse(error: OSError) -> None:
        folder = Path(error.filename)
        if folder == root:
            raise SourceError(f"cannot list {root}: {error.strerror}") from error
        # One closed folder must not hide all the others.
        left[folder.relative_to(root).as_posix()] = f"cannot be listed: {error.strerror}"

    for folder, folders, names in os.walk(root, onerror=refuse):
        for name in [*folders, *(name for name in names if name.endswith(SUFFIX))]:
            path = Path(folder, name)
            relative = path.relative_to(root)
            if path.is_symlink():
                left[relative.as_posix()] = "a link; transcripts are read where they lie"
            elif name in folders:
                continue
            elif any(part.endswith(_OBSERVERS) for part in relative.parts[:-1]):
                left[relative.as_posix()] = "claude-mem watching another session"
            else:
                files[relative.as_posix()] = path
    return Found(files=dict(sorted(files.items())), left=dict(sorted(left.items())))


def session_of(path: Path) -> Path | None:
    """The transcript of the session that a subagent at ``path`` worked for, if there is one."""
    if path.parent.name != "subagents":
        return None
    parent = path.parent.parent.with_name(path.parent.parent.name + SUFFIX)
    return parent if parent.is_file() else None


def is_elsewhere(path: Path, session: str) -> bool:
    """Whether ``session`` has a transcript of its own beside ``path``.

    Lines of it in ``path`` are then copies, made when the session was resumed or forked.
    """
    if not session or path.stem == session or path.stem.startswith("agent-"):
        return False
    # A session id is a name here, never a path.
    return Path(session).name == session and path.with_name(session + SUFFIX).is_file()


LONGEST_LINE: Final = 16 * 1024 * 1024
"""Bytes of a line that is still decoded; longer ones are pictures and never words."""

_CHECKED = 64


@dataclass(slots=True)
class Place:
    """How far a file was read: what the cursor keeps of it.

    ``line`` counts consumed lines, ``check`` is a checksum of the bytes before ``offset``,
    ``first`` one of the first line; ``size`` (bytes) and ``modified`` (ns) are of the file when it
    was last looked at. ``cut`` is its size when it was found cut short, ``known`` how many lines
    had been read by then; both 0 if it never was.
    """

    offset: int = 0
    line: int = 0
    inode: int = 0
    size: int = -1
    modified: int = 0
    check: int = 0
    first: int = 0
    cut: int = 0
    known: int = 0

    def is_current(self, status: os.stat_result) -> bool:
        """Whether nothing changed since the last look."""
        return (self.inode, self.size, self.modified) == (
            status.st_ino,
            status.st_size,
            status.st_mtime_ns,
        )

    def continues_in(self, file: BinaryIO) -> bool:
        """Whether the open ``file`` still begins with all that was read of it."""
        status = os.fstat(file.fileno())
        if self.inode != status.st_ino or status.st_size < self.offset:
            return False
        return zlib.crc32(_before(file, self.offset)) == self.check

    def start(self, file: BinaryIO) -> Place:
        """Where to read the open ``file`` that this place is not in: its start.

        A shorter file that still begins with the same line was cut short, any other replaced.
        """
        size = os.fstat(file.fileno()).st_size
        file.seek(0)
        line = file.readline(LONGEST_LINE)
        begins_so = not line.endswith(b"\n") or zlib.crc32(line) == self.first
        if begins_so and size < max(self.offset, self.cut + 1):
            return Place(cut=size, known=max(self.line, self.known))
        return Place()

    @property
    def is_cut_short(self) -> bool:
        """Whether there is nothing yet behind the place where the file was cut short."""
        return self.offset <= self.cut


@dataclass(slots=True)
class Incomplete:
    """Set when the file ends in the middle of a line."""

    waiting: bool = False


def complete_lines(file: BinaryIO, place: Place, end: Incomplete) -> Iterator[bytes | None]:
    """The complete lines from ``place`` on, None for one that is longer than LONGEST_LINE.

    ``place`` has moved past a line when it is yielded; ``end`` tells afterwards whether an
    incomplete line waits for its rest.
    """
    tail = _before(file, place.offset)
    file.seek(place.offset)
    while piece := file.readline(LONGEST_LINE):
        line: bytes | None = piece
        length = len(piece)
        tail = (tail + piece)[-_CHECKED:]
        while not piece.endswith(b"\n"):
            if not (piece := file.readline(LONGEST_LINE)):
                end.waiting = True
                return
            length += len(piece)
            tail = (tail + piece)[-_CHECKED:]
            line = line + piece if line is not None and length <= LONGEST_LINE else None
        place.offset += length
        place.line += 1
        if place.line == 1:
            place.first = zlib.crc32(line or b"")
        place.check = zlib.crc32(tail)
        yield line


def _before(file: BinaryIO, offset: int) -> bytes:
    start = max(0, offset - _CHECKED)
    file.seek(start)
    return file.read(offset - start)
