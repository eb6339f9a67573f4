"""The files of a home: what is in the place of one and is not it, and that nobody else reads them.

A folder, a pipe, a dead link or garbage may lie there. Opening a pipe (FIFO) waits for its other
end, for ever if there is none. So the worker and the commands that start it look first, and
``doctor`` names each, and what to run.

``umask`` covers the modes of what the worker and its child create. ``make_private`` covers what was
there before: files of an older version, of a restored backup, or that an editor wrote.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Final

from mem_search.daemon.connection import is_locked
from mem_search.daemon.state import read_state
from mem_search.errors import StorageError
from mem_search.settings import is_shared

_FOLDERS: Final = ("chroma", "chroma/data", "logs", "models", "spool", "users")
_FILES: Final = (
    "mem-search.db", "token", "webhook.secret", "config.toml", "logs/worker.log", "logs/worker.out",
    "chroma/.lock", "chroma/child.json",
)  # fmt: skip
_OURS_ALONE: Final = (
    "mem-search.db-wal", "mem-search.db-shm", "mem-search.db.mark", "mem-search.db.words",
    "worker.json", "worker.sock",
    "worker.start.lock",
)  # fmt: skip
"""What may not even be a link: it is replaced, or locked."""

_WANTED: Final = {
    **dict.fromkeys(_FOLDERS, "a folder"),
    **dict.fromkeys((*_FILES, *_OURS_ALONE), "a file"),
    "worker.sock": "a socket",
}
"""What each is, in the words of ``_KINDS``."""

_KINDS: Final = (
    (stat.S_ISDIR, "a folder"), (stat.S_ISREG, "a file"), (stat.S_ISFIFO, "a pipe (FIFO)"),
    (stat.S_ISSOCK, "a socket"), (stat.S_ISLNK, "a link"),
)  # fmt: skip
_MAX_TOKEN_BYTES: Final = 4096


@dataclass(frozen=True, slots=True)
class OddFile:
    """One thing in the wrong place, and what to run."""

    path: Path
    problem: str
    fix: str


def odd_files(home: Path) -> list[OddFile]:
    """Everything of the kind in ``home``; opens nothing that could be a pipe."""
    files = []
    for name, wanted in _WANTED.items():
        try:
            odd = _examined(home / name, wanted)
        except OSError as error:
            odd = OddFile(home / name, f"cannot be examined ({error.strerror})", _chown(home))
        if odd is not None:
            files.append(odd)
    return files


def refuse_odd_files(home: Path) -> None:
    """Raises StorageError that names the first of them."""
    if files := odd_files(home):
        more = f" (and {len(files) - 1} more: mem-search doctor)" if len(files) > 1 else ""
        first = files[0]
        raise StorageError(f"{first.path} {first.problem}{more}; run: {first.fix}")


def _examined(path: Path, wanted: str) -> OddFile | None:
    if not os.path.lexists(path):
        return None
    aside = f"mv {quote(str(path))} {quote(str(path))}.odd"
    if path.is_symlink() and path.name in _OURS_ALONE:
        return OddFile(path, f"is a link, not {wanted}", aside)
    if not path.exists():
        return OddFile(path, "is a link to nothing", aside)
    kind = next((name for test, name in _KINDS if test(path.stat().st_mode)), "a device")
    if kind != wanted:
        return OddFile(path, f"is {kind}, not {wanted}", aside)
    # Nobody writes on a file system that is read-only, which is no oddity of a file.
    write = 0 if os.statvfs(path).f_flag & os.ST_RDONLY else os.W_OK
    if not os.access(path, os.R_OK | write | (os.X_OK if wanted == "a folder" else 0)):
        return OddFile(path, "cannot be read and written by you", _chown(path))
    if path.name == "token" and not _is_token(path):
        return OddFile(path, "holds no token: it must be one line of printable characters", aside)
    if path.name == "worker.json" and is_locked(str(path.parent)) and read_state(path) is None:
        return OddFile(
            path, "is not what the running worker wrote; its log names its process (pid)",
            "kill PID; mem-search worker start",
        )  # fmt: skip
    return None


def _is_token(path: Path) -> bool:
    """Whether the file is a token, or empty: then the worker makes one."""
    with path.open("rb") as file:
        content = file.read(_MAX_TOKEN_BYTES + 1)
    text = content.decode("ascii", "replace").strip()
    return len(content) <= _MAX_TOKEN_BYTES and (text.isprintable() and "\ufffd" not in text)


def _chown(path: Path) -> str:
    return f'sudo chown -R "$(id -u)" {quote(str(path))} && chmod -R u+rwX {quote(str(path))}'


UMASK = 0o077
_FOREIGN = stat.S_IRWXG | stat.S_IRWXO
_OURS = (
    "chroma", "config.toml", "logs", "models", "reading.json", "redaction.key", "spool", "token",
    "users", "webhook.secret", "worker.json", "worker.sock", "worker.start.lock",
)  # fmt: skip


def make_private(home: Path) -> list[Path]:
    """Set 0700 for folders and 0600 for all else in ``home``; returns what could not be set."""
    failed = []
    for path, mode in _entries(home):
        wanted = 0o700 if stat.S_ISDIR(mode) else 0o600
        if stat.S_IMODE(mode) == wanted:
            continue
        try:
            path.chmod(wanted)
        except FileNotFoundError:
            continue  # it has been deleted meanwhile
        except OSError:
            failed.append(path)
    return failed


def open_to_others(home: Path) -> list[Path]:
    """The files and folders of ``home`` that another user may read, change or enter."""
    return [path for path, mode in _entries(home) if mode & _FOREIGN]


def _entries(home: Path) -> Iterator[tuple[Path, int]]:
    """Every file, socket and folder with its mode, folders before what is in them; no links.

    In a home that is also a person's home directory or a temporary directory, only our own files.
    """
    waiting = [home]
    shared = is_shared(home)
    while waiting:
        path = waiting.pop()
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:
            continue  # it has been deleted meanwhile
        if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)):
            continue
        if path != home or not shared:
            yield path, mode
        if stat.S_ISDIR(mode):
            try:
                inside = list(path.iterdir())
            except OSError:
                continue  # a folder of another user, which ``make_private`` names
            if path == home and shared:
                inside = [p for p in inside if p.name in _OURS or p.name.startswith("mem-search.")]
            waiting += inside
