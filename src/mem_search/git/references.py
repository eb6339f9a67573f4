"""The heads of a repository, from the files that name them; git does not run.

A file that says no commit, or is none, is left out with its reason, and the others are read. Only
the reftable format is not read here: git reads it, from a directory of our own.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final

from mem_search.git.places import (
    BRANCHES,
    REF,
    SHA,
    Place,
    Refused,
    head_of,
    real_path,
    settings_of,
    small_text,
)

MAX_PACKED_BYTES: Final = 64 * 2**20
"""Of ``packed-refs``: a million names."""

MAX_REFERENCES: Final = 200_000
"""Files below ``refs/heads``. Each is looked at, each time that the repository is."""

MAX_DEPTH: Final = 32
"""Folders below each other there."""

MAX_LOOK_SECONDS: Final = 300.0
"""For all of these files: a disk of the network reads a thousand in a second."""

MAX_WORKTREES: Final = 10_000
_MAX_LINKS: Final = 5
"""From one symbolic reference to the next, as in git."""

ORIGIN_HEAD: Final = "refs/remotes/origin/HEAD"
_ORIGIN: Final = "refs/remotes/origin/"


@dataclass(slots=True)
class References:
    """What a repository names.

    ``heads`` are the local branches with their commits, the main branch first, then commits of
    work trees that are on no branch, with "" as their name. ``left`` are the files that were left
    out, with the reason. ``head`` is the commit that is checked out.
    """

    heads: list[tuple[str, str]] = field(default_factory=list)
    left: dict[str, str] = field(default_factory=dict)
    head: str = ""
    in_reftable: bool = False

    def name(self, commits: dict[str, str], main: str, current: str) -> None:
        """Set the heads in their order: the default branch of the clone, main, master, current."""
        ordered = (main, "main", "master", current, *sorted(commits))
        names = dict.fromkeys(name for name in ordered if name in commits)
        self.heads = [(name, commits[name]) for name in names]


def references_of(place: Place) -> References:
    """The references of the repository at ``place``. Raises Refused."""
    references = References()
    if settings_of(place.common).get("extensions.refstorage", "files") != "files":
        references.in_reftable = True
        return references
    values = _packed(place.common)
    for name, file in _loose(place.common, references):
        try:
            if (value := _value(file)) is not None:
                values[name] = value
        except Refused as error:
            values.pop(name, None)
            references.left[name] = str(error)
    origin = _value(place.common / ORIGIN_HEAD) or ""
    commits: dict[str, str] = {}
    for name in values:
        if name.startswith(BRANCHES):
            if commit := _commit(name, values):
                commits[name.removeprefix(BRANCHES)] = commit
            else:
                references.left[name] = f"{name} names no commit"
    main = origin.removeprefix(f"{REF}{_ORIGIN}") if origin.startswith(REF) else ""
    references.name(commits, main, place.branch)
    detached = (head for head in _heads(place, references) if SHA.fullmatch(head))
    references.heads += [("", head) for head in dict.fromkeys(detached)]
    references.head = _commit(place.head.removeprefix(REF), values) or place.head
    return references


def _commit(name: str, values: dict[str, str]) -> str:
    """The commit that a reference leads to; "" for none."""
    for _ in range(_MAX_LINKS):
        value = values.get(name, "")
        if not value.startswith(REF):
            return value
        name = value.removeprefix(REF)
    return ""


def _packed(common: Path) -> dict[str, str]:
    lines = (small_text(common / "packed-refs", MAX_PACKED_BYTES) or "").split("\n")
    pairs = (line.split(" ", 1) for line in lines if " " in line and line[0] not in "#^")
    return {name: value for value, name in pairs if SHA.fullmatch(value)}


def _loose(common: Path, references: References) -> Iterator[tuple[str, Path]]:
    """The name and the file of each branch. What is no file is left out by ``_value``."""
    heads = common / BRANCHES
    try:
        _check_is_inside(heads, common)
    except Refused as error:
        references.left[BRANCHES.rstrip("/")] = str(error)
        return
    folders = [(heads, BRANCHES, 1)]
    count, until = 0, time.monotonic() + MAX_LOOK_SECONDS
    while folders:
        folder, prefix, depth = folders.pop()
        entries: list[os.DirEntry[str]] = []
        try:
            with os.scandir(folder) as scanned:
                for entry in scanned:
                    count += 1
                    if count > MAX_REFERENCES:
                        raise Refused(f"{heads} has more than {MAX_REFERENCES:,} files")
                    entries.append(entry)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            references.left[prefix] = f"{folder} cannot be listed: {error.strerror}"
            continue
        for entry in entries:
            if time.monotonic() > until:
                raise Refused(f"{heads} is not read within {MAX_LOOK_SECONDS:.0f} s")
            name = f"{prefix}{entry.name}"
            if not entry.is_dir(follow_symlinks=False):
                if not name.endswith(".lock"):
                    yield name, Path(entry.path)
            elif depth == MAX_DEPTH:
                references.left[name] = f"{entry.path} lies deeper than {MAX_DEPTH} folders"
            else:
                folders.append((Path(entry.path), f"{name}/", depth + 1))


def _check_is_inside(folder: Path, common: Path) -> None:
    """Raises Refused where a link leads from ``folder`` out of the git directory."""
    real = real_path(folder, str(folder))
    if not real.is_relative_to(real_path(common, str(common))):
        raise Refused(f"{folder} leads to {real}, out of the repository")


def _value(file: Path) -> str | None:
    """A hash, ``ref: refs/...``, or "" for neither; None without a file. Raises Refused."""
    try:
        if stat.S_ISLNK(file.lstat().st_mode) and (link := os.readlink(file)).startswith("refs/"):  # noqa: PTH115
            return f"{REF}{link}"
    except OSError:
        return None
    said = small_text(file)
    if said is None:
        return None
    value = said.strip()
    return value if value.startswith(f"{REF}refs/") or SHA.fullmatch(value) else ""


def _heads(place: Place, references: References) -> Iterator[str]:
    """The HEAD of the main work tree, that of this one, and those of the linked ones."""
    yield head_of(place.common)
    yield place.head
    worktrees = place.common / "worktrees"
    try:
        _check_is_inside(worktrees, place.common)
        with os.scandir(worktrees) as scanned:
            names = [entry.name for entry in islice(scanned, MAX_WORKTREES + 1)]
    except Refused as error:
        references.left["worktrees"] = str(error)
        return
    except OSError:
        return
    if len(names) > MAX_WORKTREES:
        raise Refused(f"{worktrees} has more than {MAX_WORKTREES:,} entries")
    for name in sorted(names):
        try:
            yield head_of(worktrees / name)
        except Refused as error:
            references.left[f"worktrees/{name}"] = str(error)
