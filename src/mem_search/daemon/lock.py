"""Advisory locks (``flock``) that allow one worker for each home, and one start at a time.

The kernel releases a lock when its process ends in any way, so no stored pid has to be trusted.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from mem_search.errors import UNWRITABLE, Conflict, StorageError

_PATIENCE = 0.5
"""Seconds; longer than ``address.is_locked`` holds a lock, too short to be noticed."""


@contextmanager
def worker_lock(home: Path) -> Iterator[None]:
    """Hold the lock of the worker of ``home``. Raises Conflict when another worker has it.

    The lock is on the directory itself. A lock file in it could be deleted under a worker, and a
    second worker would lock the new one and write the same database.
    """
    handle = _open(home, os.O_RDONLY | os.O_DIRECTORY)
    try:
        deadline = time.monotonic() + _PATIENCE
        while not _try_lock(handle):
            if time.monotonic() > deadline:
                raise Conflict(f"a worker of {home} is already running", field="home")
            time.sleep(0.02)
        if not os.path.samestat(os.fstat(handle), home.stat()):
            raise Conflict(f"{home} was replaced by another directory; try again", field="home")
        yield
    finally:
        os.close(handle)


@contextmanager
def start_lock(
    home: Path, patience: float, meanwhile: Callable[[], object] = lambda: None
) -> Iterator[None]:
    """Wait at most ``patience`` seconds until no other process starts a worker of this home.

    Raises Conflict when one still does, and what ``meanwhile``, called while it waits, raises.
    Without room for the lock it is not held: of two workers that start one finds the other's.
    """
    try:
        handle = _open(home, os.O_RDWR | os.O_CREAT, "worker.start.lock")
    except StorageError as error:
        if not isinstance(error.__cause__, OSError) or error.__cause__.errno not in UNWRITABLE:
            raise
        yield
        return
    try:
        deadline = time.monotonic() + patience
        while not _try_lock(handle):
            if time.monotonic() > deadline:
                raise Conflict(f"another process is starting a worker of {home}; try again")
            meanwhile()
            time.sleep(0.05)
        yield
    finally:
        os.close(handle)


def _open(home: Path, flags: int, file: str = "") -> int:
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        # O_CLOEXEC: a child that outlives the worker must not keep its lock.
        return os.open(home / file, flags | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StorageError(
            f"cannot write in {home} ({error.strerror}); "
            "set MEM_SEARCH_HOME to a directory of your own",
            field="MEM_SEARCH_HOME",
        ) from error


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise StorageError(
            f"the file system of the home cannot lock a directory ({error.strerror}); "
            "set MEM_SEARCH_HOME to a directory on a local disk",
            field="MEM_SEARCH_HOME",
        ) from error
    return True
