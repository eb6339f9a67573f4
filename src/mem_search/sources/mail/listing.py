"""The files below a location that may be mail, and why others are left out."""

from __future__ import annotations

import errno
import stat
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from mem_search.patterns import pattern
from mem_search.sources.exclusions import IGNORE_FILE, Exclusions, is_folder_of_maildir
from mem_search.sources.exclusions import walk as bounded_walk
from mem_search.sources.mail.holdings import mark_of

SUFFIXES: Final = (".eml", ".mbox", ".msg", ".emlx", ".mbx")
INDEX: Final = ".msf"
_IS_INDEX: Final = "an index of Thunderbird: it holds no message that its mailbox has not"
DELETED: Final = "it was deleted in its mail program, which has not yet removed it"
_MAILDIR: Final = frozenset({"cur", "new"})
_FLAGS: Final = pattern(r"[:;!]2,([A-Za-z]*)\Z")
"""At the end of the name of a message in a Maildir; Windows allows no colon there."""
_DELETED_BY_MH: Final = pattern(r",\d+")


@dataclass(frozen=True, slots=True)
class File:
    """A file and its ``name`` in the ledger. ``mark`` changes with its content, but not when a
    Maildir message is moved from ``new`` to ``cur`` or gets flags."""

    name: str
    path: Path
    size: int
    modified: int
    changed: int
    mark: str
    is_named: bool
    """Whether a person named it, or its own name says that it is mail."""
    in_maildir: bool


@dataclass(slots=True)
class Listing:
    """The files at a location, sorted by name, and why other paths are left."""

    files: list[File]
    left: dict[str, str] = field(default_factory=dict)
    unseen: list[str] = field(default_factory=list)
    """What could not be looked at: whether its files are gone is not known."""

    def is_gone(self, names: Collection[str]) -> list[str]:
        """Those of ``names`` that are surely no longer there."""
        here = {file.name for file in self.files}
        unseen = tuple(f"{name}/" for name in self.unseen)
        return sorted(
            name
            for name in names
            if name not in here and name not in self.unseen and not name.startswith(unseen)
        )


def files_at(root: Path, upload: str) -> Listing:
    """What is at ``root``. Raises OSError."""
    if stat.S_ISREG(root.stat().st_mode):
        return Listing([_file(upload or root.name, root, is_named=True)])
    if not root.is_dir():
        raise OSError(errno.EINVAL, "it is neither a file nor a folder")
    files: list[File] = []
    left: dict[str, str] = {}
    unseen: list[str] = []

    def name_of(path: str | Path) -> str:
        return Path(path).relative_to(root).as_posix().encode("utf-8", "replace").decode()

    def refuse(error: OSError) -> None:
        if Path(error.filename) == root:
            raise error
        unseen.append(name_of(error.filename))
        left[unseen[-1]] = f"cannot be listed: {error.strerror}"

    for folder, names in walk(root, refuse, left):
        for name in names:
            path = Path(folder, name)
            try:
                if path.is_symlink():
                    left[name_of(path)] = "a symbolic link; only the file it points to is read"
                elif name.lower().endswith(INDEX):
                    left[name_of(path)] = _IS_INDEX
                elif _DELETED_BY_MH.fullmatch(name) or (
                    is_in_maildir(path) and (flags := _FLAGS.search(name)) and "T" in flags[1]
                ):
                    left[name_of(path)] = DELETED
                elif name.startswith(".") or not path.is_file():
                    left[name_of(path)] = "hidden, or no regular file"
                else:
                    is_named = path.suffix.lower() in SUFFIXES or is_in_maildir(path)
                    files.append(_file(name_of(path), path, is_named=is_named))
            except OSError as error:  # gone, or moved within a Maildir: the next reading has it
                unseen.append(name_of(path))
                left[unseen[-1]] = f"cannot be read: {error.strerror}"
    return Listing(sorted(files, key=lambda file: file.name), left, unseen)


def walk(
    root: Path, refuse: Callable[[OSError], None], left: dict[str, str]
) -> Iterator[tuple[str, list[str]]]:
    """The folders that are read, with the names of their files; ``left`` gets what is excluded.

    Raises OSError for an ignore file that cannot be read.
    """
    excluded = Exclusions(root)

    def is_read(path: Path, end: str = "") -> bool:
        # A name that is no text is no reason: a mail is not called by it.
        item = path.relative_to(root).as_posix().encode("utf-8", "replace").decode()
        if why := excluded.why(f"{item}{end}"):
            left[item] = why
        return not why

    for folder, folders, names in bounded_walk(root, refuse):
        if {"cur", "new"} <= set(folders):  # of a Maildir: what lies in tmp is being delivered
            folders[:] = [name for name in folders if name != "tmp"]
        folders[:] = [n for n in folders if n[0] != "." or is_folder_of_maildir(Path(folder, n))]
        folders[:] = [name for name in folders if is_read(Path(folder, name), "/")]
        yield folder, [n for n in names if n != IGNORE_FILE and is_read(Path(folder, n))]


def is_in_maildir(path: Path) -> bool:
    return path.parent.name in _MAILDIR and (
        _FLAGS.search(path.name) is not None or (path.parent.parent / "tmp").is_dir()
    )


def _file(name: str, path: Path, *, is_named: bool) -> File:
    status = path.stat()
    key = name
    if path.parent.name in _MAILDIR:
        key = f"{name.rpartition('/')[0].rpartition('/')[0]}/{_FLAGS.sub('', path.name)}"
    mark = mark_of(key, str(status.st_size), str(status.st_mtime_ns))
    times = status.st_mtime_ns, status.st_ctime_ns
    return File(name, path, status.st_size, *times, mark, is_named, is_in_maildir(path))
