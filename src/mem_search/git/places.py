"""Where a directory's repository is, from git's own small files; git does not run.

Only what git itself reads first is read: ``.git``, ``commondir``, ``HEAD``, ``gitdir`` and three
settings of ``config``. A repository is refused, not followed, where one of them is something else
than a file, or leads to the repository of another folder.

Its objects are looked through before git opens any of them. What is no file, or lies with somebody
else, is refused. What git then sees are links of ours to the folders that were looked through: it
reads no list of other places of objects by itself.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mem_search.patterns import pattern
from mem_search.platform import spelled
from mem_search.regular_file import FileTooLarge, NotARegularFile, kind_of, read_regular_file

MAX_POINTER_BYTES: Final = 64 * 1024
"""Of ``HEAD``, ``.git``, ``commondir``, ``gitdir``: each has one line with a path or a name."""

MAX_CONFIG_BYTES: Final = 2**20
"""Of ``config``; one with a thousand branches has 100 KB."""

MAX_LINE_CHARS: Final = 64 * 1024
"""Of ``config``. A line has a name and a value, of which the longest are paths and addresses."""

MAX_PATH_BYTES: Final = 4096
"""Of what is resolved as a path: ``PATH_MAX`` of Linux. What is longer opens nothing anyway."""

SUFFIX: Final = ".git"
"""Of the name of a bare repository."""

REF: Final = "ref: "
_SHARED: Final = ("objects", "refs", "packed-refs", "config")
"""What is read of a git directory that several work trees share, besides ``HEAD``."""

BRANCHES: Final = "refs/heads/"
SHA: Final = pattern(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_NAME: Final = pattern(r"refs/[^\x00-\x20\x7f~^:?*\[\\]{1,1000}")
_SECTION: Final = pattern(r'\[\s*+([\w.-]++)\s*+("[^"]*+")?+\s*+\]\s*+(.*)')
_SETTING: Final = pattern(r"([\w-]++)\s*+(?:=\s*+(.*))?")
_COMMENT: Final = pattern(r"(?<=\s)[#;]")


class Refused(Exception):
    """The repository is not read; the message says what in it is the reason."""


@dataclass(frozen=True, slots=True)
class Place:
    """A repository as the directory of one of its work trees sees it.

    ``checkout`` is that directory, or the repository itself where it is bare. ``common`` is the
    git directory that all work trees share, ``gitdir`` the one of this work tree. ``root`` is the
    directory of the main work tree. ``refused`` says why nothing else in it is believed.
    """

    checkout: Path
    gitdir: Path
    common: Path
    root: Path
    head: str = ""
    refused: str = ""

    @property
    def branch(self) -> str:
        """The branch that is checked out; empty when HEAD is detached."""
        branch = self.head.removeprefix(f"{REF}{BRANCHES}")
        # The reftable format writes this placeholder into HEAD and stores the branch elsewhere.
        return branch if branch != self.head and branch != ".invalid" else ""


def find(directory: Path) -> Place | None:
    """The repository that ``directory``, a real path, is in; None outside git. Never raises."""
    for candidate in (directory, *directory.parents):
        try:
            if (place := _at(candidate)) is not None:
                return place
        except (Refused, ValueError, RecursionError, OSError) as error:
            nothing = candidate / ".git"
            why = str(error) if isinstance(error, Refused) else f"{nothing} cannot be read: {error}"
            return Place(candidate, nothing, nothing, candidate, refused=why)
    return None


def real_path(path: str | Path, of: str = "the path") -> Path:
    """Where ``path`` leads through its links; ``of`` names it in the reason. Raises Refused."""
    text = os.fspath(path)
    if "\0" in text:
        raise Refused(f"{of} has a NUL character")
    try:
        if len(os.fsencode(text)) > MAX_PATH_BYTES:
            raise Refused(f"{of} has more than {MAX_PATH_BYTES:,} bytes")
        return Path(spelled(text))
    except RecursionError:
        raise Refused(f"{of} leads through too many links") from None
    except (ValueError, OSError) as error:
        raise Refused(f"{of} cannot be followed: {error}") from None


def head_of(gitdir: Path) -> str:
    """``ref: refs/...``, or the hash of a commit; empty for no HEAD. Raises Refused."""
    file = gitdir / "HEAD"
    try:
        link = os.readlink(file)  # noqa: PTH115  of a str
    except OSError:
        head = (small_text(file) or "").strip()
    else:
        head = f"{REF}{link}"  # as git wrote it long ago
        if not link.startswith("refs/"):
            raise Refused(f"{file} is a link to {link}")
    name = head.removeprefix(REF)
    return head if (_NAME if name != head else SHA).fullmatch(name) else ""


def settings_of(common: Path) -> Mapping[str, str]:
    """``section.name`` → value, in lower case; no subsections, no includes. Raises Refused."""
    values = _settings(common)
    return {
        f"{section}.{name}": values[section, sub, name] for section, sub, name in values if not sub
    }


def remotes_of(common: Path) -> Mapping[str, str]:
    """The name of each remote → its URL, as they stand in the settings. Raises Refused."""
    values = _settings(common)
    return {of: values[key] for key in values if (of := key[1]) and key[::2] == ("remote", "url")}


def _settings(common: Path) -> Mapping[tuple[str, str, str], str]:
    """Section, subsection and name → value; the last one of a name counts, but the first URL."""
    section, below, values = "", "", dict[tuple[str, str, str], str]()
    file = common / "config"
    for line in (small_text(file, MAX_CONFIG_BYTES) or "").split("\n"):
        if len(line) > MAX_LINE_CHARS:
            raise Refused(f"{file} has a line of more than {MAX_LINE_CHARS:,} characters")
        rest = line.strip()
        if (opened := _SECTION.match(rest)) is not None:
            section, below, rest = opened[1].lower(), (opened[2] or "").strip('"'), opened[3]
        if section and (setting := _SETTING.match(rest)) is not None:
            value = "true" if setting[2] is None else _COMMENT.split(setting[2], 1)[0]
            key = section, below, setting[1].lower()
            if key[::2] != ("remote", "url") or key not in values:
                values[key] = value.strip().strip('"')
    return values


def small_text(path: Path, most: int = MAX_POINTER_BYTES) -> str | None:
    """What the file says; None where git could not read it either. Raises Refused."""
    try:
        return os.fsdecode(read_regular_file(path, most))
    except IsADirectoryError:
        return None
    except (NotARegularFile, FileTooLarge) as error:
        raise Refused(f"{path} {error.strerror}") from None
    except OSError as error:
        # Not those of Path: they raise for a path that is too long.
        if os.path.islink(path) and not os.path.exists(path):  # noqa: PTH110, PTH114
            raise Refused(f"{path} is a link that leads nowhere") from error
        return None  # absent, forbidden, or too long a name
    except ValueError as error:
        raise Refused(f"{str(path)!r} cannot be opened: {error}") from None


def _at(candidate: Path) -> Place | None:
    pointer = candidate / ".git"
    if is_directory(pointer):
        if not _is_git_directory(pointer):
            return None
        return _place(real_path(pointer, str(pointer)), candidate)
    said = small_text(pointer)
    if said is not None and said.startswith("gitdir:"):
        gitdir = _named(pointer, said.removeprefix("gitdir:"))
        _check_belongs(gitdir, candidate)
        return _place(gitdir, candidate)
    return _place(candidate, None) if _is_git_directory(candidate) else None


def _place(gitdir: Path, checkout: Path | None) -> Place:
    common = _common(gitdir)
    # A folder that only links to a repository is a project of its own: the repository names it not.
    is_main = common == gitdir or gitdir.parent.parent != common
    root = (is_main and checkout) or _main_work_tree(common)
    return Place(checkout or root, gitdir, common, root, head_of(gitdir))


def _common(gitdir: Path) -> Path:
    of_worktree = gitdir.parent.parent if gitdir.parent.name == "worktrees" else gitdir
    said = small_text(gitdir / "commondir")
    if said is None:
        if (other := _linked(gitdir)) is not None:
            return other
        # A pruned worktree has no files of its own any more; its path still names the repository.
        return of_worktree
    common = _named(gitdir / "commondir", said)
    if common not in (of_worktree, gitdir):
        raise Refused(f"{gitdir / 'commondir'} leads to {common}, a repository of another place")
    return common


def _linked(gitdir: Path) -> Path | None:
    """The git directory of the same owner to which everything shared is a link (git-new-workdir).

    None where that is not so for each link: what leads elsewhere is left out by its reader.
    """
    links = [gitdir / name for name in _SHARED if os.path.islink(gitdir / name)]  # noqa: PTH114
    if not {gitdir / "objects", gitdir / "refs"} <= set(links):
        return None
    common = real_path(gitdir / "refs", str(gitdir / "refs")).parent
    if any(real_path(link, str(link)) != common / link.name for link in links):
        return None
    if not _is_git_directory(common) or common.stat().st_uid != gitdir.stat().st_uid:
        return None
    return common


def _main_work_tree(common: Path) -> Path:
    """The directory of the repository, from its common git directory."""
    if setting := settings_of(common).get("core.worktree"):
        return _named(common / "config", setting)  # a submodule
    # "repo/.git", and "repo/.bare", which people use when "repo" has only worktrees in it.
    return common.parent if common.name.startswith(".") else common


def _check_belongs(gitdir: Path, checkout: Path) -> None:
    """Raises Refused where ``gitdir``, which the checkout names, is that of another folder."""
    if gitdir.is_relative_to(checkout) or not is_directory(gitdir):
        return  # its own, or gone: only its name is used
    why = f"{checkout / '.git'} leads to {gitdir}"
    if (back := small_text(gitdir / "gitdir")) is not None:  # of a linked worktree
        named = _named(gitdir / "gitdir", back)
        # It may have been moved, or be seen under another name from here.
        if named != checkout / ".git" and os.path.lexists(named):
            raise Refused(f"{why}, which is the worktree {named.parent}")
        return
    setting = settings_of(gitdir).get("core.worktree")
    if setting and (tree := _named(gitdir / "config", setting)) != checkout:
        raise Refused(f"{why}, whose work tree is {tree}")
    if not setting and gitdir.name == ".git":
        raise Refused(f"{why}, which is the repository of {gitdir.parent}")


def _named(file: Path, path: str) -> Path:
    """Where the ``path`` leads that ``file`` names, from the folder of the file. Raises Refused."""
    return real_path(file.parent / path.strip(), f"the path that {file} names")


def is_directory(path: Path) -> bool:
    """Whether it is one, or a link to one; False where nobody lets us look."""
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def _is_git_directory(path: Path) -> bool:
    return is_directory(path / "objects") and bool(head_of(path))


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
