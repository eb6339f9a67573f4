"""What a folder holds that may be read: exclusions, hidden files, links, sizes."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from mem_search.sources.exclusions import IGNORE_FILE, Exclusions, entries_of, is_folder_of_maildir
from mem_search.text.file_names import as_text

MAX_BYTES: Final = 100 * 2**20


@dataclass(frozen=True, slots=True)
class Seen:
    """A file or folder: its path below the location, and why it is not read, if so.

    ``stamp`` changes when the content may have changed. ``failed``: it should have been read.
    ``is_large``: it is skipped for its size alone, so another source may read it.
    """

    item: str
    stamp: str
    skipped: str = ""
    failed: bool = False
    is_large: bool = False


def walk(root: Path) -> Iterator[Seen]:
    """Everything below ``root`` that is a file, and what is left out, each once."""
    yield from _walk(root, "", Exclusions(root), root.resolve())


def folders(root: Path) -> list[Path]:
    """``root`` and the folders below it that are read."""
    paths, waiting, excluded = [], [(root, "")], Exclusions(root)
    while waiting:
        folder, below = waiting.pop()
        try:
            entries = entries_of(folder, below.count("/"))
            inner = [each for each in entries if each.is_dir(follow_symlinks=False)]
            waiting += [
                (Path(each.path), f"{below}{each.name}/")
                for each in inner
                if not each.name.startswith(".") and not excluded.why(f"{below}{each.name}/")
            ]
        except OSError:
            continue  # reading it says so in the ledger
        paths.append(folder)
    return sorted(paths)


def look_at(path: Path) -> Seen:
    """One file that a person named: it is read even if it is hidden."""
    return _file(path.name, path.stat())


def _walk(folder: Path, below: str, excluded: Exclusions, root: Path) -> Iterator[Seen]:
    try:
        entries = sorted(entries_of(folder, below.count("/")), key=lambda entry: entry.name)
        excluded.rules_in(below.rstrip("/"))  # raises where its ignore file cannot be read
    except OSError as error:
        yield _skipped(
            below or ".", f"the folder cannot be read: {error.strerror or error}", failed=True
        )
        return
    for entry in entries:
        item = f"{below}{entry.name}"
        if entry.name == IGNORE_FILE:
            continue
        try:
            if entry.name.startswith("."):
                if is_folder_of_maildir(entry.path):
                    continue  # the source of mail reads it
                yield _skipped(item, "it is hidden (its name begins with a dot)")
            elif entry.is_symlink():
                yield _skipped(item, _about_link(Path(entry.path), root))
            elif entry.is_dir():
                if by := excluded.why(f"{item}/"):
                    yield _skipped(item, by)
                else:
                    yield from _walk(Path(entry.path), f"{item}/", excluded, root)
            elif by := excluded.why(item):
                yield _skipped(item, by)
            else:
                yield _file(item, entry.stat())
        except OSError as error:
            yield _skipped(item, f"it cannot be read: {error.strerror or error}", failed=True)


def _file(item: str, status: os.stat_result) -> Seen:
    if not stat.S_ISREG(status.st_mode):
        return _skipped(item, "it is not a regular file")
    if status.st_size > MAX_BYTES:
        size = f"{status.st_size / 2**20:.0f} MB"
        why = f"it is larger than {MAX_BYTES // 2**20} MB ({size})"
        return replace(_skipped(item, why), is_large=True)
    if Path(item).suffix.lower() == ".pst":
        return _skipped(item, "no source reads it; export its messages from Outlook as .msg files")
    return Seen(item, f"{status.st_mtime_ns}-{status.st_size}")


def _skipped(item: str, why: str, *, failed: bool = False) -> Seen:
    return Seen(as_text(item), as_text(why), as_text(why), failed)


def _about_link(link: Path, root: Path) -> str:
    try:
        target = link.resolve(strict=True)
    except (OSError, RuntimeError):
        return "it is a link that leads nowhere"
    if target.is_relative_to(root):
        return f"it is a link to {target.relative_to(root)}, which is read under that name"
    return "it is a link that leaves the folder; add what it leads to by its own path"
