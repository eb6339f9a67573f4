"""The project that a directory belongs to.

Every worktree and every subdirectory of a repository is the same project; branch and worktree are
attributes of it. ``mem_search.git.places`` finds the repository by a few small reads, so callers
may ask for every directory they see. The history of a repository is read by the source ``git``.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Final

from mem_search.git import places
from mem_search.patterns import pattern
from mem_search.waiting import Lane

log = logging.getLogger(__name__)

_NOT_OF_THIS_MACHINE = pattern(r"[A-Za-z]:[\\/]|\\\\|[^\0]*+\0")
"""Windows paths (in a transcript of another machine), and text that cannot be a path."""

LOOK_SECONDS: Final = 2.0
"""For one directory: a local disk needs less than a millisecond, a network disk that is gone
answers never."""

_LOOKS: Final = Lane("projects", most=16)


@dataclass(frozen=True, slots=True)
class Project:
    """The project of one directory.

    ``root`` is the directory of the main worktree, or the bare repository; outside git it is the
    directory itself. ``branch`` is empty when HEAD is detached. ``worktree`` is git's name of a
    linked worktree, empty in the main one.
    """

    name: str
    root: str
    branch: str = ""
    worktree: str = ""


def identify(directory: str | Path) -> Project:
    """The project of ``directory``; never raises.

    A directory that no longer exists belongs to the repository around it, because agents remove
    worktrees that they made inside one. Outside git the project has the name of the directory; so
    it has where the disk does not answer within ``LOOK_SECONDS``. The empty string is a project
    without a name, not the current directory.
    """
    text = str(directory)
    if not text:
        return Project(name="", root="")
    if _NOT_OF_THIS_MACHINE.match(text):
        return Project(name=PureWindowsPath(text.replace("\0", "")).name, root=text)
    return _LOOKS.call(_identify, text, seconds=LOOK_SECONDS, otherwise=named_after(text))


def _identify(text: str) -> Project:
    try:
        path = _resolve(text)
        place = places.find(path)
        return _project(place) if place is not None else Project(name=_name(path), root=str(path))
    except places.Refused:
        return named_after(text)


def named_after(directory: str | Path) -> Project:
    """The project of a ``directory`` of another machine, from its name; reads no file here."""
    text = str(directory).replace("\0", "")
    path = PureWindowsPath(text) if _NOT_OF_THIS_MACHINE.match(text) else PurePosixPath(text)
    return Project(name=path.name, root=text)


def repository(directory: str | Path) -> Project | None:
    """The project of ``directory`` if it is in a git repository, else None."""
    try:
        place = places.find(_resolve(str(directory)))
        return _project(place) if place is not None else None
    except (places.Refused, ValueError):
        return None


def _project(place: places.Place) -> Project:
    return Project(
        name=_name(place.root).removesuffix(places.SUFFIX),
        root=str(place.root),
        branch=place.branch,
        worktree=place.gitdir.name if place.gitdir.parent.parent == place.common else "",
    )


def _resolve(text: str) -> Path:
    # realpath, because a repository reached through a link is still that repository; and
    # os.path, because Path.expanduser raises where there is no such user.
    return places.real_path(os.path.expanduser(text))  # noqa: PTH111


def _name(path: Path) -> str:
    if path == _resolve("~"):
        return "home"
    return path.name or "root"


Identify = Callable[[str], Project]


def asked_once(identify: Identify) -> Identify:
    """``identify``, asked once for a directory. Where it fails the directory's name is the project:
    a defect in reading a repository must not cost the session.
    """

    @cache
    def project_of(directory: str) -> Project:
        try:
            return identify(directory)
        except Exception:
            log.exception("the project of %r is not known; it has its name", directory)
            return named_after(directory)

    return project_of
