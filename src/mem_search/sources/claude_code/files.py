"""Transcript files: which there are, and the new complete lines of one that grows.

The cursor has the byte offset up to which a file was read. If the file has another inode now, is
shorter, or has other bytes before the offset, it was replaced or truncated and is read from its
start.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from mem_search.errors import SourceError
from mem_search.sources.exclusions import Exclusions, is_regular, walk
from mem_search.text.file_names import as_text

NAME: Final = "claude-code"
SUFFIX: Final = ".jsonl"
_OBSERVERS = "observer-sessions"


def projects_folder(home: Path, environ: Mapping[str, str]) -> Path:
    """Where Claude Code keeps its transcripts: a folder for each directory it was started in."""
    configured = environ.get("CLAUDE_CONFIG_DIR")
    return (Path(configured) if configured else home / ".claude") / "projects"


def transcript_of(session: str) -> str:
    """The transcript of the session with this id that this user's Claude Code wrote; "" for none.

    Only letters, digits and - are looked up: an id never leads to another folder.
    """
    if not session.replace("-", "").isalnum():
        return ""
    home = Path(os.environ.get("HOME") or Path.home())
    name = session + SUFFIX
    try:
        with os.scandir(projects_folder(home, os.environ)) as entries:
            folders = [Path(entry.path) for entry in entries if entry.is_dir()]
    except OSError:  # Claude Code was never used here
        return ""
    return next((str(each / name) for each in folders if (each / name).is_file()), "")


@dataclass(slots=True)
class Transcripts:
    """Transcripts by relative path, and the reasons why other paths are left; both sorted.

    Of the transcripts that are ``kept`` only a copy is left. One that is a location ``alone`` may
    have been named by any program of the machine, and not by a person.
    """

    files: dict[str, Path] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()
    alone: bool = False


def transcripts(root: Path) -> Transcripts:
    """The transcripts at ``root``, a folder or one file. Raises SourceError if it cannot be listed.

    Sorted by path, so a session comes right before its subagents.
    """
    if root.is_file():
        if root.suffix != SUFFIX:
            raise SourceError(f"{root} is not a transcript; transcripts are called *{SUFFIX}")
        return Transcripts(files={root.name: root}, alone=True)
    if not root.is_dir():
        raise SourceError(f"no transcripts at {root}: there is no such file or folder")
    files: dict[str, Path] = {}
    left: dict[str, str] = {}

    def refuse(error: OSError) -> None:
        folder = Path(error.filename)
        if folder == root:
            raise SourceError(f"cannot list {root}: {error.strerror}") from error
        # A folder without permission must not hide the others.
        left[folder.relative_to(root).as_posix()] = f"cannot be listed: {error.strerror}"

    excluded, linked = Exclusions(root), list[Path]()
    try:
        for folder, folders, names in walk(root, refuse):
            for name in [*folders, *(name for name in names if name.endswith(SUFFIX))]:
                path = Path(folder, name)
                relative = path.relative_to(root)
                if path.is_symlink() and name in folders and folder == str(root):
                    linked.append(path)
                    folders.remove(name)
                elif path.is_symlink():
                    left[relative.as_posix()] = (
                        "a symbolic link; only the file that it points to is read"
                    )
                elif why := excluded.why(f"{relative.as_posix()}{'/' * (name in folders)}"):
                    left[relative.as_posix()] = why
                elif name in folders:
                    continue
                elif not is_regular(path):
                    left[relative.as_posix()] = "no regular file"
                elif any(part.endswith(_OBSERVERS) for part in relative.parts[:-1]):
                    left[relative.as_posix()] = "a session of claude-mem's own observer"
                else:
                    files[relative.as_posix()] = path
            folders[:] = [
                n for n in folders if Path(folder, n).relative_to(root).as_posix() not in left
            ]
    except OSError as error:  # an ignore file cannot be read
        raise SourceError(f"cannot list {root}: {error}") from error
    _add_linked(root, linked, files, left)
    told = {as_text(item): why for item, why in sorted(left.items())}
    return Transcripts(files=dict(sorted(files.items())), left=told)


def _add_linked(
    root: Path, linked: Sequence[Path], files: dict[str, Path], left: dict[str, str]
) -> None:
    """Add what lies behind links of ``root`` to folders, which people make to have transcripts
    elsewhere; each folder once, and none of somebody else.
    """
    seen = {os.path.realpath(root)}
    for link in linked:
        name, target = link.name, os.path.realpath(link)
        inside = any(target == each or target.startswith(f"{each}/") for each in seen)
        try:
            is_own = os.stat(target).st_uid in (os.geteuid(), 0)  # noqa: PTH116
            if inside or not is_own:
                left[name] = "a link to a folder that is " + (
                    "read anyway" if inside else "another user's"
                )
                continue
            seen.add(target)
            inner = transcripts(Path(target))
        except (OSError, SourceError) as error:
            left[name] = f"the folder that it leads to cannot be read: {error}"
            continue
        files |= {f"{name}/{item}": path for item, path in inner.files.items()}
        left |= {f"{name}/{item}": why for item, why in inner.left.items()}


def parent_session(path: Path) -> Path | None:
    """The transcript of the session that started the subagent at ``path``, if there is one."""
    if path.parent.name != "subagents":
        return None
    parent = path.parent.parent.with_name(path.parent.parent.name + SUFFIX)
    return parent if parent.is_file() else None


def session_named_by(path: Path) -> str:
    """The session whose transcript is called so; "" for a subagent, which has its parent's."""
    return "" if path.stem.startswith("agent-") else path.stem


_MAX_ID_BYTES: Final = 200
"""Bytes; file systems allow 255 for a name."""


def has_own_transcript(path: Path, session: str) -> bool:
    """Whether ``session`` has a transcript of its own beside ``path``.

    Its lines in ``path`` are then copies, made when the session was resumed or forked.
    """
    if not session or path.stem == session or path.stem.startswith("agent-"):
        return False
    # The id comes from a transcript: it must be a name, not a path, and one that a file can have.
    is_name = Path(session).name == session and len(session.encode()) <= _MAX_ID_BYTES
    return is_name and path.with_name(session + SUFFIX).is_file()


MAX_FILE_BYTES: Final = 16 * 2**30
"""Bytes of a transcript."""

MAX_LINE_BYTES: Final = 16 * 1024 * 1024
"""Bytes. A longer line holds a picture and is not decoded."""

_CHECKED = 64


@dataclass(slots=True)
class Place:
    """How far a file was read, as the cursor stores it.

    ``line`` is the number of lines read. ``check`` is a checksum of the bytes before ``offset``,
    ``first`` one of the first line. ``size`` (bytes) and ``modified`` (ns) are those of the file at
    the last reading. ``cut`` is the size at which the file was found truncated and ``known`` the
    number of lines that had been read before; both are 0 if it never was.
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
        """Whether the file did not change since the last reading."""
        return (self.inode, self.size, self.modified) == (
            status.st_ino,
            status.st_size,
            status.st_mtime_ns,
        )

    def continues_in(self, file: BinaryIO) -> bool:
        """Whether the open ``file`` still begins with everything that was read of it."""
        status = os.fstat(file.fileno())
        if self.inode != status.st_ino or status.st_size < self.offset:
            return False
        return zlib.crc32(_before(file, self.offset)) == self.check

    def start(self, file: BinaryIO) -> Place:
        """The start of the open ``file``, which does not continue this place.

        A shorter file with the same first line was truncated; any other was replaced.
        """
        size = os.fstat(file.fileno()).st_size
        file.seek(0)
        line = file.readline(MAX_LINE_BYTES)
        begins_so = not line.endswith(b"\n") or zlib.crc32(line) == self.first
        if begins_so and size < max(self.offset, self.cut + 1):
            return Place(cut=size, known=max(self.line, self.known))
        return Place()

    @property
    def is_cut_short(self) -> bool:
        """Whether the file is not yet longer than when it was found truncated."""
        return self.offset <= self.cut


@dataclass(slots=True)
class Incomplete:
    """Whether the file ends in the middle of a line, and what is there of it, if it is not long."""

    waiting: bool = False
    line: bytes = b""


def complete_lines(file: BinaryIO, place: Place, end: Incomplete) -> Iterator[bytes | None]:
    """The complete lines from ``place`` on, None for one that is longer than MAX_LINE_BYTES.

    ``place`` is after a line when that line is yielded. In the end ``end`` says whether the last
    line is incomplete.
    """
    tail = _before(file, place.offset)
    file.seek(place.offset)
    while piece := file.readline(MAX_LINE_BYTES):
        line: bytes | None = piece
        length = len(piece)
        tail = (tail + piece)[-_CHECKED:]
        while not piece.endswith(b"\n"):
            if not (piece := file.readline(MAX_LINE_BYTES)):
                end.waiting, end.line = True, line or b""
                return
            length += len(piece)
            tail = (tail + piece)[-_CHECKED:]
            line = line + piece if line is not None and length <= MAX_LINE_BYTES else None
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
