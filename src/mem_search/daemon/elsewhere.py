"""Where a worker says how it is reached when nothing can be written in its home.

A full disk, a used quota and a file system that is read-only keep nobody from reading a store, so
the worker starts there, too. ``worker.json`` is then in memory that has a name: a file of the
system's folders for that, named by user and home. Others may write into such a folder, so only a
file that this user alone owns and reads is believed. The quick path of the command line reads it,
so this imports only what the interpreter has loaded anyway.
"""

# Importing pathlib takes as long as starting the interpreter:
# ruff: noqa: PTH105, PTH108, PTH116, PTH118, PTH123
import os
import stat
from contextlib import suppress

MAX_BYTES = 1 << 16
_FOLDERS = ("/run/user/{uid}", "/dev/shm", "/tmp")  # noqa: S108 - see the check of the owner


def _places(home: str) -> list[str]:
    """Where the file of ``home`` may be, the best place first."""
    home_stat, user = os.stat(home), os.geteuid()
    name = f"mem-search-{user}-{home_stat.st_dev:x}-{home_stat.st_ino:x}.json"
    return [os.path.join(folder.format(uid=user), name) for folder in _FOLDERS]


def read(home: str) -> str:
    """What the worker of ``home`` wrote outside of it; empty where it wrote nothing there."""
    try:
        places = _places(home)
    except OSError:
        return ""
    for place in places:
        try:
            handle = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            continue
        with open(handle, "rb") as file:
            status = os.fstat(handle)
            ours = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
            if ours and not status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                return file.read(MAX_BYTES).decode("utf-8", "replace")
    return ""


def write(home: str, text: str) -> str:
    """Write ``text`` where ``read`` finds it; the place. Raises the last OSError."""
    last = OSError("there is no folder for it")
    for place in _places(home):
        part = f"{place}.{os.getpid()}"
        try:
            handle = os.open(
                part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
            )
            with open(handle, "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(part, place)
        except OSError as error:
            last = error
            _unlink(part)
        else:
            return place
    raise last


def remove(home: str) -> None:
    """Remove what a worker of this home left; hold the lock of the worker."""
    try:
        places = _places(home)
    except OSError:
        return
    for place in places:
        _unlink(place)


def _unlink(place: str) -> None:
    with suppress(OSError):  # there is none, or it is not ours and is not believed
        os.unlink(place)
