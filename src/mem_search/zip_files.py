"""ZIP archives that others made, listed within limits.

Python makes an object of every name that an archive lists: a few megabytes of names, sent by
anybody, would take gigabytes, and the most that is allowed here takes 66 MB. So the list is read
in pieces, whatever it is: ``Archive`` counts its names first, and has a few of them in memory at a
time. Each piece is shown to ``zipfile`` as an archive of its own, so there is one reader of names,
sizes and contents.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Final

MAX_NAMES: Final = 100_000
"""Of one archive. Office files have hundreds, exports tens of thousands."""

MAX_LIST: Final = 16 * 2**20
"""Bytes of the list of an archive (its central directory): a name and 46 bytes or more for each."""

MAX_NAME: Final = 1024
"""Characters of a name, with its folders. Names become ids of records and entries of the ledger."""

_PIECE: Final = 2**18
"""Bytes of the list that are in memory at a time. The longest entry has 196,651."""

_AT_ONCE: Final = 500
"""Names that are in memory at a time: 300 kB."""

_ENTRY: Final = b"PK\x01\x02"
_HEADER, _LENGTHS_AT, _LENGTHS = 46, 28, struct.Struct("<HHH")
"""Of an entry of the list: bytes before its name, and where the lengths of its three texts are."""

_END: Final = struct.Struct("<4s4H2LH")
_END_64: Final = struct.Struct("<4sQ2H2L4Q")
_WHERE_64: Final = struct.Struct("<4sLQL")
_END_MARK, _END_64_MARK, _WHERE_64_MARK = b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07"
_MAX_COMMENT: Final = 2**16

DAMAGED_ZIP: Final = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError)
"""What reading a damaged archive raises, besides OSError."""

_NO_END: Final = "it is not a ZIP archive, or it is cut off: its list is missing"
_ADVICE: Final = "unpack it and add its folder, or send its parts"


class TooManyNames(zipfile.BadZipFile):
    """The archive lists more than is read; the message says what is allowed."""


@dataclass(frozen=True, slots=True)
class Member:
    """A file in an archive; ``size`` is what it says that it unpacks to, in bytes."""

    name: str
    size: int
    is_encrypted: bool
    content: Callable[[], IO[bytes]]
    """Opens it, unpacked. Raises one of ``DAMAGED_ZIP``, OSError."""


class Archive:
    """The archive in ``file``, which stays open. Its names are counted, and none is kept.

    Raises BadZipFile, TooManyNames, OSError.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._at, self._size, self._said_at = _list_of(file)
        if self._size > MAX_LIST:
            raise TooManyNames(
                f"the list of the files in it has {self._size / 2**20:,.0f} MB; at most"
                f" {MAX_LIST // 2**20} MB are read; {_ADVICE}"
            )
        names = sum(count for _, count in self._pieces())
        if names > MAX_NAMES:
            raise TooManyNames(
                f"it lists {names:,} files; at most {MAX_NAMES:,} are read; {_ADVICE}"
            )

    def members(self) -> Iterator[Member]:
        """The files in it, in the order of its list, without the folders."""
        for piece, count in self._pieces():
            part = self._part(piece, count)
            for info in part.infolist():
                if not info.is_dir():
                    is_encrypted = bool(info.flag_bits & 1)
                    yield Member(info.filename, info.file_size, is_encrypted, _opening(part, info))

    def whole(self) -> zipfile.ZipFile:
        """All of it at once, which takes 66 MB at the most: in a process of its own."""
        pieces = list(self._pieces())
        return self._part(b"".join(piece for piece, _ in pieces), sum(n for _, n in pieces))

    def _pieces(self) -> Iterator[tuple[bytes, int]]:
        """Whole entries of the list, and how many they are."""
        at, end = self._at, self._at + self._size
        while at < end:
            self._file.seek(at)
            piece = self._file.read(min(_PIECE, end - at))
            size, count = _whole_entries(piece)
            if not count:
                raise zipfile.BadZipFile("the list of the files in it is damaged or cut off")
            yield piece[:size], count
            at += size

    def _part(self, entries: bytes, count: int) -> zipfile.ZipFile:
        return zipfile.ZipFile(_Part(self._file, self._at, self._said_at, entries, count))


def open_zip(file: IO[bytes]) -> zipfile.ZipFile:
    """The archive in ``file``, which stays open, with a list of all that is in it.

    That takes 66 MB: the worker uses ``Archive``. Raises BadZipFile, TooManyNames, OSError.
    """
    return Archive(file).whole()


def _opening(part: zipfile.ZipFile, info: zipfile.ZipInfo) -> Callable[[], IO[bytes]]:
    return lambda: part.open(info)


def _whole_entries(piece: bytes) -> tuple[int, int]:
    """(bytes, number) of the first entries that are whole in ``piece``. Raises TooManyNames."""
    at = count = 0
    while count < _AT_ONCE and piece.startswith(_ENTRY, at) and at + _HEADER <= len(piece):
        name, extra, comment = _LENGTHS.unpack_from(piece, at + _LENGTHS_AT)
        end = at + _HEADER + name + extra + comment
        if end > len(piece):
            break
        text = piece[at + _HEADER : at + _HEADER + name] if name > MAX_NAME else b""
        if len(text.decode("utf-8", "replace")) > MAX_NAME:
            raise TooManyNames(f"a name in it is longer than {MAX_NAME:,} characters")
        at, count = end, count + 1
    return at, count


def _list_of(file: IO[bytes]) -> tuple[int, int, int]:
    """Where the list begins, its bytes, and where the archive says that it begins.

    These differ when something was put before the archive. Raises BadZipFile, OSError.
    """
    total = file.seek(0, io.SEEK_END)
    if total < _END.size:
        raise zipfile.BadZipFile(_NO_END)
    start = max(0, total - _END.size - _MAX_COMMENT)
    file.seek(start)
    tail = file.read(total - start)
    at = len(tail) - _END.size  # mostly there is no comment, which could have the mark, too
    if not (tail.startswith(_END_MARK, at) and tail.endswith(b"\0\0")):
        at = tail.rfind(_END_MARK, 0, at + len(_END_MARK))
    if at < 0:
        raise zipfile.BadZipFile(_NO_END)
    *_, size, said_at, _ = _END.unpack_from(tail, at)
    end = start + at
    head = _END_64.size + _WHERE_64.size
    if end >= head:
        file.seek(end - head)
        record = file.read(head)
        if record.startswith(_WHERE_64_MARK, _END_64.size):
            if not record.startswith(_END_64_MARK):
                raise zipfile.BadZipFile("its end is damaged")
            *_, size, said_at = _END_64.unpack_from(record)
            end -= head
    if size > end:
        raise zipfile.BadZipFile("its list is longer than the file")
    return end - size, size, said_at


class _Part(io.RawIOBase):
    """The file up to its list at ``at``, then a list of ``count`` entries only, and an end."""

    def __init__(self, file: IO[bytes], at: int, said_at: int, entries: bytes, count: int) -> None:
        size, end = len(entries), at + len(entries)
        self._file, self._tail_at, self._at = file, at, 0
        self._tail = b"".join((
            entries,
            _END_64.pack(
                _END_64_MARK, _END_64.size - 12, 45, 45, 0, 0, count, count, size, said_at
            ),
            _WHERE_64.pack(_WHERE_64_MARK, 0, end, 1),
            _END.pack(_END_MARK, 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0),
        ))  # fmt: skip

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = (0, self._at, self._tail_at + len(self._tail))[whence]
        if start + offset < 0:
            raise OSError("a place before the file")
        self._at = start + offset
        return self._at

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # called by io
        if self._at < self._tail_at:
            self._file.seek(self._at)
            data = self._file.read(min(len(buffer), self._tail_at - self._at))
        else:
            at = self._at - self._tail_at
            data = self._tail[at : at + len(buffer)]
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)
