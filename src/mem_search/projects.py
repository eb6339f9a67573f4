"""The project that a directory belongs to, from git's own files, without running git.

Every worktree and every subdirectory of a repository is the same project; branch and worktree are
attributes of it. Only the files that git itself reads first are read (``.git``, ``commondir``,
``HEAD``, ``core.worktree``): a few small reads, so callers may ask for every directory they see.
The history of a repository is read by the source ``git``.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath

from mem_search.patterns import pattern

_NOT_OF_THIS_MACHINE = pattern(r"[A-Za-z]:[\\/]|\\\\|[^\0]*\0")
"""Windows paths (in a transcript of another machine), and text that cannot be a path."""
_HEAD = pattern(r"ref: refs/|[0-9a-f]{40}")
_WORKTREE_SETTING = pattern(r"^\s*worktree\s*=\s*(.+?)\s*$", re.MULTILINE)
_BRANCH = "ref: refs/heads/"


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
    worktrees that they made inside one. Outside git the project has the name of the directory.
    The empty string is a project without a name, not the current directory.
    """
    text = str(directory)
    if not text:
        return Project(name="", root="")
    if _NOT_OF_THIS_MACHINE.match(text):
        return Project(name=PureWindowsPath(text.replace("\0", "")).name, root=text)
    path = _resolve(text)
    return _repository_around(path) or Project(name=_name(path), root=str(path))


def named_after(directory: str | Path) -> Project:
    """The project of a ``directory`` of another machine, from its name; reads no file here."""
    text = str(directory).replace("\0", "")
    path = PureWindowsPath(text) if _NOT_OF_THIS_MACHINE.match(text) else PurePosixPath(text)
    return Project(name=path.name, root=text)


def repository(directory: str | Path) -> Project | None:
    """The project of ``directory`` if it is in a git repository, else None."""
    return _repository_around(_resolve(str(directory)))


def _resolve(text: str) -> Path:
    # realpath, because a repository reached through a link is still that repository; and
    # os.path, because Path.resolve raises on a loop of links before Python 3.13.
    return Path(os.path.realpath(os.path.expanduser(text)))  # noqa: PTH111


def _repository_around(path: Path) -> Project | None:
    for candidate in (path, *path.parents):
        try:
            pointer = _read(candidate / ".git")
        except IsADirectoryError:
            if _is_git_directory(candidate / ".git"):
                return _project(candidate / ".git", checkout=candidate)
            continue
        if pointer is not None and pointer.startswith("gitdir:"):
            target = pointer.removeprefix("gitdir:").strip()
            gitdir = Path(os.path.realpath(candidate / target))
            return _project(gitdir, checkout=candidate)
        if _is_git_directory(candidate):
            return _project(candidate, checkout=_main_worktree(candidate))
    return None


def _project(gitdir: Path, *, checkout: Path) -> Project:
    common = _common_directory(gitdir)
    linked = common != gitdir
    root = _main_worktree(common) if linked else checkout
    return Project(
        name=_name(root).removesuffix(".git"),
        root=str(root),
        branch=_branch(gitdir),
        worktree=gitdir.name if linked else "",
    )


def _common_directory(gitdir: Path) -> Path:
    pointer = _read(gitdir / "commondir")
    if pointer is not None:
        return Path(os.path.realpath(gitdir / pointer.strip()))
    # A pruned worktree has no files of its own any more; its path still names the repository.
    return gitdir.parent.parent if gitdir.parent.name == "worktrees" else gitdir


def _main_worktree(common: Path) -> Path:
    """The directory of the repository, from its common git directory."""
    if (setting := _WORKTREE_SETTING.search(_read(common / "config") or "")) is not None:
        return Path(os.path.realpath(common / setting[1].strip('"')))  # a submodule
    # "repo/.git", and "repo/.bare", which people use when "repo" has only worktrees in it.
    return common.parent if common.name.startswith(".") else common


def _branch(gitdir: Path) -> str:
    head = (_read(gitdir / "HEAD") or "").strip()
    branch = head.removeprefix(_BRANCH)
    # The reftable format writes this placeholder into HEAD and stores the branch elsewhere.
    return branch if head.startswith(_BRANCH) and branch != ".invalid" else ""


def _is_git_directory(path: Path) -> bool:
    head = _read(path / "HEAD")
    return head is not None and bool(_HEAD.match(head)) and _exists(path / "objects")


def _name(path: Path) -> str:
    if path == _resolve("~"):
        return "home"
    return path.name or "root"


def _read(path: Path) -> str | None:
    """The file's text, None if it cannot be read. Raises IsADirectoryError for a directory."""
    try:
        return os.fsdecode(path.read_bytes())
    except IsADirectoryError:
        if path.name == ".git":
            raise
        return None
    except OSError:
        return None  # absent, forbidden, or too long a name: git could not read it either


def _exists(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False  # no permission: this process cannot read the repository
