"""Files that other programs name: opened only as what they should be, a regular file.

A path of a repository, a transcript, a setting of an agent or a watched folder is chosen by whoever
wrote it. It can be a pipe, whose opening waits for ever, a device without an end, or a link to one.
Every such file is opened here, once: what is looked at is what is read afterwards. Errors are
``OSError``, so that whoever reports a file that cannot be read reports these as well.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import BinaryIO, Final

_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK
"""Opening does not wait for the other end of a pipe, should one stand there since we looked."""

_KINDS: Final = (
    (stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe (FIFO)"), (stat.S_ISSOCK, "a socket"),
    (stat.S_ISLNK, "a link"),
)  # fmt: skip


class NotARegularFile(OSError):
    """Something else is in the place of a file: a folder, a pipe, a socket, a device, a link."""


class FileTooLarge(OSError):
    """The file has more bytes than the reader takes."""


def open_regular_file(path: str | os.PathLike[str], *, follow: bool = True) -> BinaryIO:
    """The file, open for reading bytes. Without ``follow`` its last part may not be a link.

    Raises NotARegularFile, or OSError as ``open`` does.
    """
    look = os.stat if follow else os.lstat
    _check(path, look(path))  # before opening: to open some devices is to use them
    try:
        descriptor = os.open(path, _FLAGS if follow else _FLAGS | os.O_NOFOLLOW)
    except OSError as error:
        if not follow and error.errno == errno.ELOOP:
            raise _not_regular(path, "a link") from None
        raise
    try:
        _check(path, os.fstat(descriptor))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_regular_file(
    path: str | os.PathLike[str], max_bytes: int, *, follow: bool = True
) -> bytes:
    """The content of the file. Raises FileTooLarge, and what ``open_regular_file`` raises.

    It reads no more than that, whatever size the system names: files of ``/proc`` have none.
    """
    with open_regular_file(path, follow=follow) as file:
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise FileTooLarge(errno.EFBIG, f"has more than {max_bytes:,} bytes", os.fspath(path))
    return content


def kind_of(mode: int) -> str:
    """What ``st_mode`` says that it is, with its article: "a folder", "a pipe (FIFO)"."""
    if stat.S_ISREG(mode):
        return "a file"
    return next((name for test, name in _KINDS if test(mode)), "a device")


def _check(path: str | os.PathLike[str], status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise _not_regular(path, kind_of(status.st_mode))


def _not_regular(path: str | os.PathLike[str], kind: str) -> OSError:
    number = errno.EISDIR if kind == "a folder" else errno.EINVAL
    return NotARegularFile(number, f"is {kind}, not a file", os.fspath(path))
