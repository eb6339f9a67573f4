"""One worker per home, and one start at a time: advisory locks held by the kernel.

A lock goes with its process, however that ends; no pid has to be believed.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mem_search.errors import Conflict, StorageError

_PATIENCE = 0.5
"""Seconds: longer than anybody looks at a lock, shorter than anybody notices."""


@contextmanager
def worker_lock(path: Path) -> Iterator[None]:
    """Hold the lock of a home's worker. Raises Conflict when another worker has it."""
    handle = _open(path)
    try:
        deadline = time.monotonic() + _PATIENCE
        while not _taken(handle):
            if time.monotonic() > deadline:
                raise Conflict(f"a worker of {path.parent} is already running", field="home")
            time.sleep(0.02)
        yield
    finally:
        os.close(handle)


@contextmanager
def start_lock(home: Path, patience: float) -> Iterator[None]:
    """Wait until nobody else starts a worker here, at most ``patience`` seconds.

    Raises Conflict when the other one is still at it then.
    """
    handle = _open(home / "worker.start.lock")
    try:
        deadline = time.monotonic() + patience
        while not _taken(handle):
            if time.monotonic() > deadline:
                raise Conflict(f"somebody else is starting a worker of {home}; try again")
            time.sleep(0.05)
        yield
    finally:
        os.close(handle)


def _open(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Not inherited: a child that outlives the worker must not keep its lock.
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StorageError(
            f"cannot write in {path.parent} ({error.strerror}); "
            "set MEM_SEARCH_HOME to a directory of your own",
            field="MEM_SEARCH_HOME",
        ) from error


def _taken(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
