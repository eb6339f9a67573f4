"""The files that somebody works on, from the list that git keeps of its files (``.git/index``).

Git compares contents, for which it may run programs that the repository names. Here sizes and times
are compared, and the content only where nothing but the time differs. So a file counts that was
changed since it was committed or checked out, and one that was staged since the last commit.
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from mem_search.git.places import MAX_PATH_BYTES, REF, Place, Refused, find, real_path, settings_of
from mem_search.regular_file import read_regular_file

MAX_INDEX_BYTES: Final = 64 * 2**20
"""Of the index: half a million files."""

MAX_COMPARED_BYTES: Final = 4 * 2**20
"""Of one file whose content is compared."""

MAX_CHANGED: Final = 50
"""Files that are found; more are no sign of what somebody works on."""

_HEAD: Final = struct.Struct(">4sII")
_ENTRY: Final = struct.Struct(">10I")
_FLAGS: Final = struct.Struct(">H")
_EXTENDED, _ASSUMED, _STAGE = 0x4000, 0x8000, 0x3000
_SKIPPED: Final = 0x4000  # of the extended flags: not in the work tree on purpose
_LINK, _FILE = 0o120000, 0o100000


@dataclass(frozen=True, slots=True)
class _Entry:
    """A file of the index, as it was when git last looked at it."""

    name: str
    seconds: int
    nanoseconds: int
    mode: int
    size: int
    hash: bytes
    in_conflict: bool


def changed_files(directory: str, seconds: float) -> tuple[str, ...]:
    """Files of the repository around ``directory`` that were changed, by their paths in it.

    What was found after ``seconds``; nothing outside a repository, or where it cannot be read.
    """
    until = time.monotonic() + seconds
    changed: list[str] = []
    try:
        place = find(real_path(directory))
        if place is None or place.refused:
            return ()
        content = read_regular_file(place.gitdir / "index", MAX_INDEX_BYTES)
        sha256 = settings_of(place.common).get("extensions.objectformat") == "sha256"
        look = _Look(place, "sha256" if sha256 else "sha1")
        for entry in _entries(content, 32 if sha256 else 20, until):
            if len(changed) == MAX_CHANGED:
                break
            try:
                if look.is_changed(entry):
                    changed.append(entry.name)
            except OSError:
                continue  # it went meanwhile, or is too long to be compared
    except (OSError, Refused, ValueError, struct.error, IndexError):
        return tuple(changed)  # no index, or one that ends too early
    return tuple(dict.fromkeys(changed))


class _Look:
    """Compares files of one work tree with what git knows of them."""

    def __init__(self, place: Place, algorithm: str) -> None:
        self._root, self._algorithm = place.checkout, algorithm
        self._objects = place.common / "objects"
        self._since = _last_commit(place)
        self._folders: list[tuple[str, bool]] = []
        """The folders of the last file, each below the one before, and whether each is inside."""

    def is_changed(self, entry: _Entry) -> bool:
        if entry.in_conflict:
            return True
        if not self._is_inside(entry.name.rpartition("/")[0]):
            return False
        try:
            now = os.lstat(f"{self._root}/{entry.name}")
        except (FileNotFoundError, NotADirectoryError):
            return True
        except OSError:
            return False
        if stat.S_IFMT(now.st_mode) != stat.S_IFMT(entry.mode):
            return True
        if stat.S_ISREG(now.st_mode) and (now.st_mode ^ entry.mode) & 0o100:
            return True
        same_time = int(now.st_mtime) == entry.seconds and (
            not entry.nanoseconds or now.st_mtime_ns % 10**9 == entry.nanoseconds
        )
        # Git writes no size for a file that was changed in the moment of its last look.
        if not same_time and (entry.size and now.st_size & 0xFFFFFFFF != entry.size):
            return True
        if not same_time and self._hash(now, entry.name) != entry.hash:
            return True
        return self._is_staged(entry)

    def _is_staged(self, entry: _Entry) -> bool:
        """Whether git was given this content after the last commit: then it lies in a file.

        The file was written after it, too: several may have the same content, as empty ones have.
        """
        name = entry.hash.hex()
        if not entry.size or entry.seconds + entry.nanoseconds / 1e9 <= self._since:
            return False
        try:
            given = os.lstat(f"{self._objects}/{name[:2]}/{name[2:]}").st_mtime
        except OSError:
            return False
        return given > self._since > 0

    def _is_inside(self, folder: str) -> bool:
        """Whether the folder is one of the work tree, and not behind a link."""
        names = folder.split("/") if folder else []
        same = 0
        for name, (known, _) in zip(names, self._folders, strict=False):
            if name != known:
                break
            same += 1
        del self._folders[same:]
        fine = not self._folders or self._folders[-1][1]
        for name in names[same:]:
            above = "".join(f"{known}/" for known, _ in self._folders)
            fine = fine and name not in ("", ".", "..", ".git") and self._is_folder(above + name)
            self._folders.append((name, fine))
        return fine

    def _is_folder(self, path: str) -> bool:
        """Whether it is a folder, or gone with what was in it."""
        try:
            return stat.S_ISDIR(os.lstat(f"{self._root}/{path}").st_mode)
        except OSError:
            return True

    def _hash(self, now: os.stat_result, name: str) -> bytes:
        """What git would call the content of the file now. Raises OSError for a longer one."""
        path = f"{self._root}/{name}"
        if stat.S_ISLNK(now.st_mode):
            content = os.fsencode(os.readlink(path))  # noqa: PTH115
        else:
            content = read_regular_file(path, MAX_COMPARED_BYTES, follow=False)
        head = f"blob {len(content)}\0".encode()
        return hashlib.new(self._algorithm, head + content, usedforsecurity=False).digest()


def _last_commit(place: Place) -> float:
    """When HEAD was moved last, in seconds since 1970; 0 where nothing says it."""
    names = [place.gitdir / "logs" / "HEAD"]
    if (branch := place.head.removeprefix(REF)) != place.head:
        names.append(place.common / branch)
    times = []
    for file in names:
        try:
            times.append(file.lstat().st_mtime)
        except OSError:
            continue
    return max(times, default=0.0)


def _entries(content: bytes, hash_size: int, until: float) -> Iterator[_Entry]:
    """The files of an index, as far as they are found ``until`` then, of the monotonic clock.

    Raises ValueError, struct.error or IndexError for a broken one.
    """
    signature, version, count = _HEAD.unpack_from(content)
    if signature != b"DIRC" or version not in (2, 3, 4):
        raise ValueError("no index of git")
    at, name = _HEAD.size, b""
    for _ in range(count):
        if time.monotonic() > until:
            return
        start = at
        fields = _ENTRY.unpack_from(content, at)
        at += _ENTRY.size
        digest = content[at : at + hash_size]
        (flags,) = _FLAGS.unpack_from(content, at + hash_size)
        at += hash_size + _FLAGS.size
        more = 0
        if flags & _EXTENDED and version > 2:
            (more,) = _FLAGS.unpack_from(content, at)
            at += _FLAGS.size
        if version == 4:
            at, removed = _number(content, at)
            if removed > len(name):
                raise ValueError("more is removed of a name than it has")
            end = content.index(b"\0", at, at + MAX_PATH_BYTES)
            name = name[: len(name) - removed] + content[at:end]
            at = end + 1
        else:
            end = content.index(b"\0", at, at + MAX_PATH_BYTES)
            name = content[at:end]
            at = start + ((end - start) // 8 + 1) * 8
        if len(name) >= MAX_PATH_BYTES:
            raise ValueError("a name is longer than a path can be")
        text = os.fsdecode(name)
        mode = fields[6]
        if flags & _ASSUMED or more & _SKIPPED or stat.S_IFMT(mode) not in (_LINK, _FILE):
            continue
        if name[:1] == b"/" or text.rpartition("/")[2] in ("", ".", "..", ".git"):
            continue
        yield _Entry(text, fields[2], fields[3], mode, fields[9], digest, bool(flags & _STAGE))


def _number(content: bytes, at: int) -> tuple[int, int]:
    """A number of variable length, as version 4 writes how much of the last name to remove."""
    value = content[at] & 127
    while content[at] & 128:
        if value > MAX_PATH_BYTES:
            raise ValueError("a number is larger than the length of a name")
        at += 1
        value = ((value + 1) << 7) | (content[at] & 127)
    return at + 1, value
