"""Files that other programs name, opened only as what they should be; our own, written whole.

A path of a repository, a transcript, a setting of an agent or a watched folder is chosen by whoever
wrote it. It can be a pipe, whose opening waits for ever, a device without an end, or a link to one.
Every such file is opened here, once: what is looked at is what is read afterwards. Reading ends
where the file ended when it was opened, so one that grows is not read for ever. Errors are
``OSError``, so that whoever reports a file that cannot be read reports these as well.

A secret in a file of the home is written whole or not at all, readable by its owner only.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from mem_search.platform import path_of_handle, real_path

_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK
"""Opening does not wait for the other end of a pipe, should one stand there since we looked."""

_BUFFER: Final = 2**17

MAX_SETTINGS: Final = 2**24
"""Bytes of a file of settings, ours or a program's; some agents keep a history in theirs."""

_KINDS: Final = (
    (stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe (FIFO)"), (stat.S_ISSOCK, "a socket"),
    (stat.S_ISLNK, "a link"),
)  # fmt: skip


class NotARegularFile(OSError):
    """Something else is in the place of a file: a folder, a pipe, a socket, a device, a link."""


class FileTooLarge(OSError):
    """The file has more bytes than the reader takes."""


class ForeignOwner(PermissionError):
    """The file belongs to neither this user nor root, and nobody here asked to read it."""


def open_regular_file(
    path: str | os.PathLike[str],
    *,
    max_bytes: int | None = None,
    follow: bool = True,
    own: bool = False,
    inside: str = "",
) -> io.BufferedReader:
    """The file, open for reading bytes, which end where it ends now.

    It has at most ``max_bytes``. Without ``follow`` its last part may not be a link. With ``own``
    it belongs to this user or to root: a path that no person named may be anybody's. It lies
    ``inside`` that real path of a folder, whichever of its folders became a link meanwhile.
    Raises NotARegularFile, FileTooLarge, ForeignOwner, or OSError as ``open`` does.
    """
    descriptor = _opened(path, follow=follow)
    try:
        status = os.fstat(descriptor)
        if own and status.st_uid not in (os.geteuid(), 0):
            why = f"belongs to another user (uid {status.st_uid})"
            raise ForeignOwner(errno.EPERM, why, os.fspath(path))
        if max_bytes is not None and status.st_size > max_bytes:
            raise _too_large(path, max_bytes)
        if inside:
            _check_inside(descriptor, path, inside)
        raw = _AsItIsNow(descriptor, status.st_size)
    except BaseException:
        os.close(descriptor)
        raise
    return io.BufferedReader(raw, _BUFFER)


def read_regular_file(
    path: str | os.PathLike[str], max_bytes: int, *, follow: bool = True
) -> bytes:
    """The content of the file. Raises FileTooLarge, and what ``open_regular_file`` raises.

    It reads no more than that, whatever size the system names: files of ``/proc`` have none.
    """
    content = bytearray()
    with os.fdopen(_opened(path, follow=follow), "rb") as file:
        while piece := file.read(_BUFFER):  # to ask for all at once is to take memory for all
            content += piece
            if len(content) > max_bytes:
                raise _too_large(path, max_bytes)
    return bytes(content)


def path_of(file: BinaryIO, path: Path) -> Path:
    """A path by which this process and its children open the very ``file`` that is open.

    Another file may lie at ``path`` by then. Only Linux has such paths.
    """
    place = path_of_handle(file.fileno())
    return Path(place) if place else path


def kind_of(mode: int) -> str:
    """What ``st_mode`` says that it is, with its article: "a folder", "a pipe (FIFO)"."""
    if stat.S_ISREG(mode):
        return "a file"
    return next((name for test, name in _KINDS if test(mode)), "a device")


class _AsItIsNow(io.FileIO):
    """Reads up to ``size`` bytes from the start, whatever is added to the file meanwhile."""

    def __init__(self, descriptor: int, size: int) -> None:
        super().__init__(descriptor, "rb")
        self._size = size

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # called by io
        left = self._size - self.tell()
        return super().readinto(memoryview(buffer)[: max(0, left)]) or 0

    def readall(self) -> bytes:
        return super().read(max(0, self._size - self.tell())) or b""

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence == os.SEEK_END:
            offset, whence = offset + self._size, os.SEEK_SET
        return super().seek(offset, whence)


def _check_inside(descriptor: int, path: str | os.PathLike[str], folder: str) -> None:
    real = real_path(descriptor, path)
    if os.path.commonpath((real, folder)) != folder:
        raise NotARegularFile(errno.EINVAL, f"leads to {real}, out of the folder", os.fspath(path))


def _opened(path: str | os.PathLike[str], *, follow: bool) -> int:
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
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _check(path: str | os.PathLike[str], status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise _not_regular(path, kind_of(status.st_mode))


def _not_regular(path: str | os.PathLike[str], kind: str) -> OSError:
    number = errno.EISDIR if kind == "a folder" else errno.EINVAL
    return NotARegularFile(number, f"is {kind}, not a file", os.fspath(path))


def _too_large(path: str | os.PathLike[str], max_bytes: int) -> OSError:
    return FileTooLarge(errno.EFBIG, f"has more than {max_bytes:,} bytes", os.fspath(path))


_MAX_SECRET_BYTES: Final = 2**16


def replace_file(
    file: Path, content: bytes, mode: int = 0o600, *, survives_power_cut: bool = True
) -> None:
    """Write ``content`` in the place of ``file``, whole or not at all, with the rights ``mode``.

    What is made anew where it is lost need not survive a power cut, and is written sooner.
    Raises OSError.
    """
    with replacing(file, mode, survives_power_cut=survives_power_cut) as opened:
        opened.write(content)


@contextmanager
def replacing(
    file: Path, mode: int = 0o600, *, survives_power_cut: bool = True
) -> Iterator[BinaryIO]:
    """``replace_file`` for what is written piece by piece: it takes its place at the end."""
    part = file.with_name(f".{file.name}.{os.urandom(4).hex()}.part")
    descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w+b") as opened:
            yield opened
            if survives_power_cut:
                opened.flush()
                os.fsync(opened.fileno())
        part.chmod(mode)
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


def read_or_create_secret(file: Path, new: Callable[[], str]) -> str:
    """The content of ``file``; a missing or empty file gets ``new()`` first.

    Two processes that call this at once get the same secret. Raises OSError.
    """
    return read_secret(file) or _create_secret(file, new())


def read_secret(file: Path) -> str:
    """The content of ``file``, empty without one. Raises OSError, for a pipe or a folder too."""
    if not os.path.lexists(file):
        return ""
    try:
        return read_regular_file(file, _MAX_SECRET_BYTES).decode("utf-8-sig").strip()
    except (NotARegularFile, FileNotFoundError) as error:
        raise OSError(
            errno.EINVAL, "it is not a file; see: mem-search doctor", str(file)
        ) from error
    except UnicodeDecodeError as error:
        raise OSError(errno.EINVAL, "it is not text; see: mem-search doctor", str(file)) from error


def _create_secret(file: Path, secret: str) -> str:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = file.with_name(f"{file.name}.{os.urandom(4).hex()}")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            opened.write(secret + "\n")
            opened.flush()
            os.fsync(opened.fileno())
        if file.is_file() and not read_secret(file):
            part.replace(file)  # an empty file holds no secret
        else:
            os.link(part, file)  # fails when another process was first
    except FileExistsError:
        return read_secret(file)
    finally:
        part.unlink(missing_ok=True)
    return secret
