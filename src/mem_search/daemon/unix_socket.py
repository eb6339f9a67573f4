"""The Unix socket in a home: only the owner can open it, so what answers there is their worker.

A client of the port has to let the worker prove itself first (``access/proof``), and curl cannot.
Here the file system vouches: the home has mode 0700, the socket 0600. It is bound by its name from
within the home, because no socket takes the path of a home that is long.
"""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from mem_search.platform import MAX_SOCKET_PATH

NAME: Final = "worker.sock"


@contextmanager
def unix_socket(home: Path) -> Iterator[socket.socket | str]:
    """Listen in ``home``, which is the working directory, until the block ends.

    Yields why there is not a socket where the file system has none or the folder is another user's.
    Hold the lock of the worker: a socket that is there is of a worker that was killed.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.setblocking(False)
        if refusal := _owner_problem(home.stat()) or _bound(listener):
            yield refusal
            return
        try:
            yield listener
        finally:
            _remove()


def _bound(listener: socket.socket) -> str:
    """Bind and listen; why that cannot be, or an empty text."""
    try:
        _remove()
        listener.bind(NAME)
        Path(NAME).chmod(0o600)
        listener.listen(128)
    except OSError as error:
        with suppress(OSError):
            _remove()
        return f"the system refuses one in the home ({error.strerror})"
    return ""


def _remove() -> None:
    """Remove the socket; anything else of its name stays, for ``odd_files`` to tell."""
    with suppress(FileNotFoundError):
        if stat.S_ISSOCK(Path(NAME).lstat().st_mode):
            Path(NAME).unlink()


def is_too_long(place: str) -> bool:
    """Whether no program connects by this path; from within its folder, one does."""
    return len(os.fsencode(place)) > MAX_SOCKET_PATH


def problem(place: Path) -> str:
    """What lets somebody else answer at the socket ``place``, or open it; an empty text if nothing.

    Links are not followed.
    """
    try:
        folder, file = place.parent.lstat(), place.lstat()
    except OSError as error:
        return f"cannot be examined ({error.strerror})"
    if not stat.S_ISSOCK(file.st_mode):
        return "is not a socket"
    if file.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        return "can be opened by other users"
    if folder.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not folder.st_mode & stat.S_ISVTX:
        return "can be replaced by other users, who may write in its folder"
    return _owner_problem(file) or _owner_problem(folder)


def _owner_problem(status: os.stat_result) -> str:
    owned = status.st_uid in (os.geteuid(), 0)
    return "" if owned else f"belongs to another user ({status.st_uid})"
