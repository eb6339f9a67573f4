"""Where the worker of a home answers; every command needs this first.

This imports only what the interpreter has loaded anyway, because every search from the command
line runs it. The lock decides whether a worker lives: a ``worker.json`` whose lock is free was
left behind by a worker that was killed.
"""

# Importing pathlib takes as long as starting the interpreter:
# ruff: noqa: PTH111, PTH113, PTH118, PTH123
import fcntl
import os

STATE = "worker.json"
_URL, _KEY = '"url": "http://', '"key": "'


def home_of(setting: str | None) -> str:
    """The home for a value of ``MEM_SEARCH_HOME``, as ``Settings.read`` finds it."""
    return os.path.realpath(os.path.expanduser(setting or "~/.mem-search"))


def is_locked(home: str) -> bool:
    """Whether a worker of this home is running: it holds the lock of the directory.

    The check takes a shared lock for an instant; ``lock.worker_lock`` allows for that.
    """
    try:
        handle = os.open(home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False


def address(home: str) -> tuple[str, int, str] | None:
    """(host, port, key) of the worker of this home; None while none answers."""
    if not is_locked(home):
        return None
    place = os.path.join(home, STATE)
    if not os.path.isfile(place):  # opening a pipe would wait
        return None
    try:
        with open(place, encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return None  # it is starting or stopping
    host, _, port = _value(text, _URL).rpartition(":")
    return (host.strip("[]"), int(port), _value(text, _KEY)) if port.isdigit() else None


def _value(text: str, mark: str) -> str:
    return text.partition(mark)[2].partition('"')[0]
