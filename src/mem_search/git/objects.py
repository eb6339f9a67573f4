"""Where a repository keeps its objects, looked through before git opens any of it.

What is no file, or lies with somebody else, is refused. What git then sees are links of ours to
the folders that were looked through: it reads no list of other places of objects by itself.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mem_search.git.places import Refused, is_directory, real_path, small_text
from mem_search.patterns import pattern
from mem_search.regular_file import kind_of

MAX_ENTRIES: Final = 5_000_000
"""Files of objects in all. Git packs them long before; each is looked at."""

MAX_PLACES: Final = 32
"""Places of objects that refer to each other. Git takes five after one another."""

_FAN_OUT: Final = pattern(r"[0-9a-f]{2}|pack")


def link_objects(common: Path, ours: Path) -> None:
    """Make ``ours``, a folder for objects, show those of a repository. Raises Refused, OSError."""
    objects, owner = common / "objects", common.stat().st_uid
    _check_owner(objects, owner)
    places, seen, links = [objects], set[str](), list[Path]()
    entries = 0
    for place in places:
        real = os.path.realpath(place)
        if real in seen:
            continue
        seen.add(real)
        if len(seen) > MAX_PLACES:
            raise Refused(f"{objects} refers to more than {MAX_PLACES} other places of objects")
        link = ours if not links else ours.with_name(f"objects-{len(links)}")
        link.mkdir(exist_ok=True)
        links.append(link)
        for name in _folders(Path(real)):
            target = Path(real, name)
            _check_owner(target, owner)
            for entry in os.scandir(target):
                entries += 1
                if entries > MAX_ENTRIES:
                    raise Refused(f"{objects} has more than {MAX_ENTRIES:,} files")
                _check(entry)
            (link / name).symlink_to(target)
        places += _others(Path(real), owner)
    if others := links[1:]:
        info = ours / "info"
        info.mkdir(exist_ok=True)
        (info / "alternates").write_text("".join(f"{each}\n" for each in others))


def _folders(objects: Path) -> Iterator[str]:
    for name in sorted(os.listdir(objects)):  # noqa: PTH208
        if _FAN_OUT.fullmatch(name) and (objects / name).is_dir():
            yield name
        elif _FAN_OUT.fullmatch(name):
            kind = kind_of((objects / name).lstat().st_mode)
            raise Refused(f"{objects / name} is {kind}, not a folder of objects")


def _check(entry: os.DirEntry[str]) -> None:
    try:
        mode = entry.stat().st_mode
    except OSError as error:
        raise Refused(f"{entry.path} cannot be opened: {error.strerror}") from error
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise Refused(f"{entry.path} is {kind_of(mode)}, not a file")


def _check_owner(folder: Path, owner: int) -> None:
    """Raises Refused for a link to what another user has."""
    if folder.is_symlink() and folder.stat().st_uid not in (owner, os.geteuid()):
        raise Refused(f"{folder} leads to {os.path.realpath(folder)}, which another user has")


def _others(objects: Path, owner: int) -> Iterator[Path]:
    """The places that ``alternates`` names, as far as they exist. Raises Refused."""
    alternates = objects / "info" / "alternates"
    for line in (small_text(alternates) or "").split("\n"):
        if not line or line.startswith("#"):
            continue
        other = real_path(objects / line.strip('"'), f"a path that {alternates} names")
        if not os.path.lexists(other):
            continue  # git goes on without it, too
        if not (is_directory(other) and is_directory(other / "pack")):
            raise Refused(f"{alternates} names {other}, which has no objects of git")
        if other.stat().st_uid not in (owner, os.geteuid()):
            raise Refused(f"{alternates} names {other}, which another user has")
        yield other
