"""The worker of a home: ``worker.json``, in which it describes itself while it runs, and the locks
(``flock``) that allow one worker for each home, and one start at a time.

The kernel releases a lock when its process ends in any way, so no stored pid has to be trusted.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from mem_search.daemon import elsewhere
from mem_search.errors import UNWRITABLE, Conflict, StorageError

log = logging.getLogger(__name__)

_PATIENCE = 0.5
"""Seconds; longer than ``address.is_locked`` holds a lock, too short to be noticed."""


@dataclass(frozen=True, slots=True)
class WorkerState:
    """``started_at`` is RFC 3339 in UTC; ``instance_id`` is new with every start.

    ``process`` tells its process from a later one with the same pid. ``key`` proves who answers at
    the port (``access/proof``). ``socket`` is the path of its Unix socket; where that is empty,
    ``no_socket`` says why. A worker that starts has all of it, and answers a moment later. What an
    older version did not write is empty, so that its worker can still be ended.
    """

    pid: int
    port: int
    url: str
    version: str = ""
    started_at: str = ""
    home: str = ""
    instance_id: str = ""
    process: str = ""
    key: str = ""
    socket: str = ""
    no_socket: str = ""


def read_state(file: Path) -> WorkerState | None:
    """The content of the file; None when it is missing or not in this format."""
    try:
        text = elsewhere.read(str(file.parent))
        if not text and not file.is_file():  # a pipe would never end
            return None
        content = json.loads(text or file.read_text("utf-8"))
        # Fields that a newer version adds are not ours to read.
        names = [each.name for each in fields(WorkerState) if each.name in content]
        return WorkerState(**{name: content[name] for name in names})
    except (OSError, ValueError, TypeError):
        return None


def write_state(file: Path, state: WorkerState) -> None:
    """Replace the file atomically, readable only by its owner. Raises StorageError.

    Where its folder cannot be written for want of room, the text is ``elsewhere``.
    """
    text, name = json.dumps(asdict(state), indent=1) + "\n", ""
    try:
        handle, name = tempfile.mkstemp(prefix=".worker-", dir=file.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as part:
            part.write(text)
        Path(name).replace(file)
    except OSError as error:
        if name:
            Path(name).unlink(missing_ok=True)
        if error.errno not in UNWRITABLE:
            raise StorageError(f"cannot write {file}: {error.strerror}") from error
        try:
            place = elsewhere.write(str(file.parent), text)
        except OSError as last:
            raise StorageError(
                f"cannot write {file} ({error.strerror}), nor a file beside it ({last})"
            ) from error
        log.warning("cannot write %s (%s); it is %s", file, error.strerror, place)


def clear_state(file: Path) -> None:
    """Remove what a worker of this home wrote. Raises StorageError."""
    elsewhere.remove(str(file.parent))
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise StorageError(f"cannot remove {file}: {error.strerror}") from error


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
