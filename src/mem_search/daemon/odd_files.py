"""What is in the place of a file of the home and is not it: a folder, a pipe, a dead link, garbage.

Opening a pipe (FIFO) waits for its other end, for ever if there is none. So the worker and the
commands that start it look first, and ``doctor`` names each with the command that mends it.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Final

from mem_search.daemon.address import is_locked
from mem_search.daemon.state import read_state
from mem_search.errors import StorageError

_FOLDERS: Final = ("chroma", "chroma/data", "logs", "models", "spool", "users")
_FILES: Final = (
    "mem-search.db", "token", "webhook.secret", "config.toml", "logs/worker.log", "logs/worker.out",
    "chroma/.lock", "chroma/child.json",
)  # fmt: skip
_OURS_ALONE: Final = (
    "mem-search.db-wal", "mem-search.db-shm", "mem-search.db.mark", "worker.json", "worker.sock",
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
    """One thing in the wrong place, and the command that mends it."""

    path: Path
    problem: str
    fix: str


def odd_files(home: Path) -> list[OddFile]:
    """Everything of the kind in ``home``; opens nothing that could be a pipe."""
    found = []
    for name, wanted in _WANTED.items():
        try:
            odd = _examined(home / name, wanted)
        except OSError as error:
            odd = OddFile(home / name, f"cannot be examined ({error.strerror})", _chown(home))
        if odd is not None:
            found.append(odd)
    return found


def refuse_odd_files(home: Path) -> None:
    """Raises StorageError that names the first of them."""
    if found := odd_files(home):
        more = f" (and {len(found) - 1} more: mem-search doctor)" if len(found) > 1 else ""
        first = found[0]
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
