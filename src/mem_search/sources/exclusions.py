"""What is left out of a folder that is read: what is no file, what has a name that cannot be
stored, and what a person excludes.

A person excludes it with a ``.memsearchignore`` in any of the folders.
"""

from __future__ import annotations

import errno
import re
import stat
from pathlib import Path
from typing import Final

from pathspec import GitIgnoreSpec

from mem_search.text.file_names import is_text

IGNORE_FILE: Final = ".memsearchignore"
"""In any folder; gitignore syntax (https://git-scm.com/docs/gitignore)."""

_FOLDERS: Final = frozenset({"node_modules", "__pycache__"})
_ALWAYS: Final = GitIgnoreSpec.from_lines([*(f"{name}/" for name in _FOLDERS), "~$*", "*~"])
"""What nobody wrote to keep; ``!node_modules/`` in an ignore file takes it back."""

NO_TEXT: Final = "its name is not UTF-8, so it cannot be stored; rename it to have it read"

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
            said = spec.check_file(item.removeprefix(below)).include
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
            if ignore.is_file() and not ignore.is_symlink():
                lines = ignore.read_text("utf-8", "replace").splitlines()
                try:
                    own = [(f"{folder}/" if folder else "", GitIgnoreSpec.from_lines(lines))]
                except (ValueError, re.error) as error:
                    raise OSError(errno.EINVAL, f"{ignore} cannot be used: {error}") from error
            self._rules[folder] = [*above, *own]
        return self._rules[folder]
