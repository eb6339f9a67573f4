"""Modes of the files in a home: nobody but the owner reads or changes them.

``umask`` covers what the worker and its child create. ``make_private`` covers what was there
before: files of an older version, of a restored backup, or that an editor wrote.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

from mem_search.settings import is_shared

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
