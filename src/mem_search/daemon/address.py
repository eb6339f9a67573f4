"""Where the worker of a home answers; every command needs this first.

This imports only what the interpreter has loaded anyway, because every search from the command
line runs it. The lock decides whether a worker lives: a ``worker.json`` whose lock is free was
left behind by a worker that was killed.
"""

# Importing pathlib takes as long as starting the interpreter:
# ruff: noqa: PTH111, PTH118, PTH123
import fcntl
import os

LOCK = "worker.lock"
STATE = "worker.json"
_MARK = '"url": "http://'


def home_of(setting: str | None) -> str:
    """The home for a value of ``MEM_SEARCH_HOME``, as ``Settings.read`` finds it."""
    return os.path.realpath(os.path.expanduser(setting or "~/.mem-search"))


def is_locked(home: str) -> bool:
    """Whether a worker of this home is running.

    The check takes a shared lock for an instant; ``lock.worker_lock`` allows for that.
    """
    try:
        handle = os.open(os.path.join(home, LOCK), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False


def address(home: str) -> tuple[str, int] | None:
    """(host, port) of the worker of this home; None while none answers."""
    if not is_locked(home):
        return None
    try:
        with open(os.path.join(home, STATE), encoding="utf-8") as file:
            _, mark, rest = file.read().partition(_MARK)
    except OSError:
        return None  # it is starting or stopping
    host, _, port = rest.partition('"')[0].rpartition(":")
    return (host.strip("[]"), int(port)) if mark and port.isdigit() else None
