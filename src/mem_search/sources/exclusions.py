"""What is left out of a folder that is read: what is no file, what has a name that cannot be
stored, what lies beyond the limits of a folder, and what a person excludes.

A person excludes it with a ``.memsearchignore`` in any of the folders. But whoever wrote the folder
may have written that file as well: patterns that take long to match are refused.
"""

from __future__ import annotations

import errno
import math
import os
import re
import stat
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from pathspec import GitIgnoreSpec

from mem_search.platform import IS_MACOS
from mem_search.regular_file import read_regular_file
from mem_search.text.file_names import is_text

IGNORE_FILE: Final = ".memsearchignore"
"""In any folder; gitignore syntax (https://git-scm.com/docs/gitignore)."""

_FOLDERS: Final = frozenset({"node_modules", "__pycache__"})
_ALWAYS: Final = GitIgnoreSpec.from_lines([*(f"{name}/" for name in _FOLDERS), "~$*", "*~"])
"""What nobody wrote to keep; ``!node_modules/`` in an ignore file takes it back."""

NO_TEXT: Final = "its name is not UTF-8, so it cannot be stored; rename it to have it read"

MAX_ENTRIES: Final = 200_000
"""Files and folders in one folder: about 100 MB of memory while it is listed. A Maildir may have so
many; of a folder with more nothing is read, because nobody could say which of them."""

MAX_DEPTH: Final = 100
"""Folders in folders, below the one that is read."""

_MAX_IGNORE: Final = 2**18
"""Bytes of an ignore file."""

_MAX_RULES: Final = 1_000
_MAX_STEPS: Final = 20_000_000
"""Steps of the matcher for one path and all lines of an ignore file: about a second.

It tries every way in which ``*`` can share the characters of a name, for every way in which ``**``
can share the folders, so the ways multiply.
"""
_NAME_CHARS: Final = 255
_LONG_NAMES: Final = 4096 // _NAME_CHARS + 1
"""Names of that length in the longest path."""

Rules = list[tuple[str, GitIgnoreSpec]]
"""Rules by the folder that they are from, the deepest last."""


def is_regular(path: Path) -> bool:
    """Whether ``path`` is itself a file: no link, and no pipe, whose opening may never end."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:  # gone
        return False


class Exclusions:
    """The rules below ``root``; a folder's own are read when something in it is asked about."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._rules: dict[str, Rules] = {}

    def why(self, item: str) -> str:
        """Why ``item`` is not read: its name, or the ignore file that excludes it; "" if it is.

        ``item`` is a path below the root that ends with ``/`` for a folder; its parents are read.
        Raises OSError for an ignore file that cannot be read: better to read nothing than what a
        person excludes.
        """
        if not is_text(item):
            return NO_TEXT
        folder, _, name = item.rstrip("/").rpartition("/")
        rules = self.rules_in(folder)
        if len(rules) == 1 and name not in _FOLDERS and name[:2] != "~$" and name[-1:] != "~":
            return ""  # nearly always: matching patterns takes longer than listing the folder
        for below, spec in reversed(rules):
            said = spec.check_file(_matched(item.removeprefix(below))).include
            if said is not None:
                by = "the built-in exclusions" if spec is _ALWAYS else f"{below}{IGNORE_FILE}"
                return f"it is excluded by {by}" if said else ""
        return ""

    def has(self, path: Path, *, is_folder: bool) -> bool:
        """Whether what lies at ``path`` below the root is excluded."""
        return bool(self.why(path.relative_to(self._root).as_posix() + "/" * is_folder))

    def rules_in(self, folder: str) -> Rules:
        """The rules in ``folder``, a path below the root or ""; raises OSError."""
        if folder not in self._rules:
            above = self.rules_in(folder.rpartition("/")[0]) if folder else [("", _ALWAYS)]
            ignore = self._root / folder / IGNORE_FILE
            own: Rules = []
            if not ignore.is_symlink() and ignore.exists():
                content = read_regular_file(ignore, _MAX_IGNORE, follow=False)
                try:
                    text = _matched(content.decode("utf-8", "replace"))
                    lines = _checked(text.replace("\r\n", "\n").split("\n"))
                    own = [(f"{folder}/" if folder else "", GitIgnoreSpec.from_lines(lines))]
                except (ValueError, re.error) as error:
                    raise OSError(errno.EINVAL, f"{ignore} cannot be used: {error}") from error
            self._rules[folder] = [*above, *own]
        return self._rules[folder]


def _matched(text: str) -> str:
    """A name, or an ignore file, as they are compared: programs of macOS write an accent as a sign
    of its own, which no keyboard types, and its folders have ``Private`` under ``private``, too.
    """
    composed = unicodedata.normalize("NFC", text)
    return composed.casefold() if IS_MACOS else composed


def is_folder_of_maildir(path: str | Path) -> bool:
    """Whether messages lie in it: then a name that begins with a dot hides nothing (Maildir++)."""
    return Path(path, "cur").is_dir()


def walk(
    root: Path, refuse: Callable[[OSError], None] = lambda _: None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """The folders at and below ``root``, as ``os.walk`` gives them, within the limits of a folder.

    ``refuse`` gets the error of a folder that is not read; its ``filename`` is the folder.
    """
    waiting = [(str(root), 0)]
    while waiting:
        folder, depth = waiting.pop()
        try:
            entries = entries_of(folder, depth)
        except FileNotFoundError:  # gone since it was listed
            continue
        except OSError as error:
            refuse(error)
            continue
        folders = [entry.name for entry in entries if _is_folder(entry)]
        inner = set(folders)
        names = [entry.name for entry in entries if entry.name not in inner]
        links = {entry.name for entry in entries if entry.is_symlink()}
        yield folder, folders, names
        waiting += [
            (os.path.join(folder, name), depth + 1)  # noqa: PTH118  a Path for each is slow
            for name in reversed(folders)
            if name not in links
        ]


def entries_of(folder: str | Path, depth: int) -> list[os.DirEntry[str]]:
    """What is in a folder that lies so deep. Raises OSError, also beyond the limits of a folder."""
    if depth > MAX_DEPTH:
        why = f"lies deeper than {MAX_DEPTH} folders; add it by its own path"
        raise OSError(errno.ELOOP, why, str(folder))
    listed = []
    with os.scandir(folder) as entries:
        for entry in entries:
            listed.append(entry)
            if len(listed) > MAX_ENTRIES:
                why = f"has more than {MAX_ENTRIES:,} entries; spread them over folders"
                raise OSError(errno.EFBIG, why, str(folder))
    return listed


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a loop of links
        return False


def _checked(lines: list[str]) -> list[str]:
    """The lines of an ignore file. Raises ValueError for more than can be matched quickly."""
    if len(lines) > _MAX_RULES:
        raise ValueError(f"it has more than {_MAX_RULES:,} lines")
    steps = 0
    for number, line in enumerate(lines, 1):
        steps += _steps(line.strip())
        if steps > _MAX_STEPS:
            raise ValueError(
                f"line {number} makes it take too long to match: too many * in a part of a path,"
                " or too many **; make several simpler lines of it, or remove some"
            )
    return lines


def _steps(line: str) -> int:
    """The ways in which a line can match the longest path."""
    if not line or line.startswith("#"):
        return 0
    parts = line.removeprefix("!").rstrip("/").split("/")
    deep = sum("**" in part for part in parts)
    anywhere = len(parts) == 1  # a line without a slash is for every folder
    long_names = math.comb(_LONG_NAMES, deep + anywhere)
    for part in parts:
        stars = 0 if part == "**" else len(re.findall(r"\*+", part))
        long_names *= math.comb(_NAME_CHARS, stars)
    return max(long_names, math.comb(MAX_DEPTH, deep + anywhere))
