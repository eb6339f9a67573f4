"""What a folder holds that may be read: exclusions, hidden files, links, sizes."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pathspec import GitIgnoreSpec

IGNORE_FILE: Final = ".memsearchignore"
"""In any folder; gitignore syntax (https://git-scm.com/docs/gitignore)."""

MOST_BYTES: Final = 100 * 2**20

_ALWAYS: Final = ("node_modules/", "__pycache__/", "~$*", "*~")
"""What nobody wrote to keep; ``!node_modules/`` in an ignore file takes it back."""


Rules = list[tuple[str, GitIgnoreSpec]]
"""Rules by the folder that they are from, the deepest last."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A file or folder: its path below the location, and why it is not read, if so.

    ``stamp`` changes when the content may have changed. ``failed``: it should have been read.
    """

    item: str
    stamp: str
    skipped: str = ""
    failed: bool = False


def walk(root: Path) -> Iterator[Seen]:
    """Everything below ``root`` that is a file, and what is left out, each once."""
    yield from _walk(root, "", [("", GitIgnoreSpec.from_lines(_ALWAYS))], root.resolve())


def folders(root: Path) -> list[Path]:
    """``root`` and the folders below it that are read."""
    found, waiting = [], [(root, "", [("", GitIgnoreSpec.from_lines(_ALWAYS))])]
    while waiting:
        folder, below, rules = waiting.pop()
        try:
            rules = _with_rules_of(folder, below, rules)
            with os.scandir(folder) as entries:
                inner = [each for each in entries if each.is_dir(follow_symlinks=False)]
        except (OSError, ValueError):
            continue  # reading it says so in the ledger
        found.append(folder)
        waiting += [
            (Path(each.path), f"{below}{each.name}/", rules)
            for each in inner
            if not each.name.startswith(".") and not _excluded(f"{below}{each.name}/", rules)
        ]
    return sorted(found)


def look_at(path: Path) -> Seen:
    """One file that a person named: it is read even if it is hidden."""
    return _file(path.name, path.stat())


def _walk(folder: Path, below: str, rules: Rules, root: Path) -> Iterator[Seen]:
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
        rules = _with_rules_of(folder, below, rules)
    except (OSError, ValueError) as error:
        yield _skipped(below or ".", f"the folder cannot be read: {error}", failed=True)
        return
    for entry in entries:
        item = f"{below}{entry.name}"
        if entry.name == IGNORE_FILE:
            continue
        try:
            if entry.name.startswith("."):
                yield _skipped(item, "it is hidden (its name begins with a dot)")
            elif entry.is_symlink():
                yield _skipped(item, _about_link(Path(entry.path), root))
            elif entry.is_dir():
                if by := _excluded(f"{item}/", rules):
                    yield _skipped(item, by)
                else:
                    yield from _walk(Path(entry.path), f"{item}/", rules, root)
            elif by := _excluded(item, rules):
                yield _skipped(item, by)
            else:
                yield _file(item, entry.stat())
        except OSError as error:
            yield _skipped(item, f"it cannot be read: {error.strerror or error}", failed=True)


def _file(item: str, found: os.stat_result) -> Seen:
    if not stat.S_ISREG(found.st_mode):
        return _skipped(item, "it is not a regular file")
    if found.st_size > MOST_BYTES:
        size = f"{found.st_size / 2**20:.0f} MB"
        return _skipped(item, f"it is larger than {MOST_BYTES // 2**20} MB ({size})")
    if Path(item).suffix.lower() == ".pst":
        return _skipped(item, "no source reads it; export its messages from Outlook as .msg files")
    return Seen(item, f"{found.st_mtime_ns}-{found.st_size}")


def _skipped(item: str, why: str, *, failed: bool = False) -> Seen:
    return Seen(item, why, why, failed)


def _with_rules_of(folder: Path, below: str, rules: Rules) -> Rules:
    ignore = folder / IGNORE_FILE
    if not ignore.is_file() or ignore.is_symlink():
        return rules
    lines = ignore.read_text("utf-8", "replace").splitlines()
    return [*rules, (below, GitIgnoreSpec.from_lines(lines))]


def _excluded(item: str, rules: Rules) -> str:
    """Which ignore file excludes the item; the deepest file that says anything decides."""
    for below, spec in reversed(rules):
        said = spec.check_file(item.removeprefix(below)).include
        if said is not None:
            file = f"{below}{IGNORE_FILE}" if spec is not rules[0][1] else "the built-in exclusions"
            return f"it is excluded by {file}" if said else ""
    return ""


def _about_link(link: Path, root: Path) -> str:
    try:
        target = link.resolve(strict=True)
    except (OSError, RuntimeError):
        return "it is a link that leads nowhere"
    if target.is_relative_to(root):
        return f"it is a link to {target.relative_to(root)}, which is read under that name"
    return "it is a link that leaves the folder; add what it leads to by its own path"
