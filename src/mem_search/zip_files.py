"""ZIP archives that others made, listed within limits.

Python makes an object of every name that an archive lists: a few megabytes of names, sent by
anybody, would take gigabytes. So what the end of an archive says of its list, and how many names
the list has, is looked at before anything is made of it.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from contextlib import suppress
from typing import IO, Final

MAX_NAMES: Final = 100_000
"""Of one archive: about 60 MB of memory. Office files have hundreds, exports tens of thousands."""

MAX_LIST: Final = 16 * 2**20
"""Bytes of the list of an archive (its central directory): a name and 46 bytes or more for each."""

MAX_NAME: Final = 1024
"""Characters of a name, with its folders. Names become ids of records and entries of the ledger."""

_ENTRY: Final = b"PK\x01\x02"
_HEADER, _LENGTHS_AT, _LENGTHS = 46, 28, struct.Struct("<HHH")
"""Of an entry of the list: bytes before its name, and where the lengths of its three texts are."""


DAMAGED_ZIP: Final = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError)
"""What reading a damaged archive raises, besides OSError."""


class TooManyNames(zipfile.BadZipFile):
    """The archive lists more than is read; the message says what is allowed."""


def open_zip(file: IO[bytes]) -> zipfile.ZipFile:
    """The archive in ``file``, which stays open. Raises BadZipFile, TooManyNames, OSError."""
    listed = _Listed(file)
    archive = zipfile.ZipFile(listed)
    listed.is_limited = False
    if any(len(info.filename) > MAX_NAME for info in archive.infolist()):
        raise TooManyNames(f"a name in it is longer than {MAX_NAME:,} characters")
    return archive


def check_names(file: IO[bytes]) -> None:
    """Raises TooManyNames for an archive that ``open_zip`` would refuse, before anything is made
    of its names; BadZipFile, OSError for one that has no list.
    """
    with suppress(_Looked):
        zipfile.ZipFile(_Listed(file, only_looks=True))


class _Looked(Exception):
    """The list is within the limits; nothing more was to be known."""


class _Listed:
    """The file while its list is read: ``zipfile`` reads that in one piece, as long as it is."""

    def __init__(self, file: IO[bytes], *, only_looks: bool = False) -> None:
        self._file, self._only_looks = file, only_looks
        self.is_limited = True
        self.seek, self.tell, self.close = file.seek, file.tell, file.close
        self.seekable = file.seekable

    def read(self, size: int = -1) -> bytes:
        if not self.is_limited:
            return self._file.read(size)
        if size > MAX_LIST:
            raise TooManyNames(
                f"the list of the files in it has {size / 2**20:,.0f} MB, and {MAX_LIST // 2**20}"
                f" MB are read; {_ADVICE}"
            )
        data = self._file.read(size)
        if (names := data.count(_ENTRY)) > MAX_NAMES:
            raise TooManyNames(f"it lists {names:,} files, and {MAX_NAMES:,} are read; {_ADVICE}")
        if self._only_looks and data.startswith(_ENTRY):
            _check_lengths(data)
            raise _Looked
        return data


def _check_lengths(listed: bytes) -> None:
    at = 0
    while listed.startswith(_ENTRY, at) and at + _HEADER <= len(listed):
        name, extra, comment = _LENGTHS.unpack_from(listed, at + _LENGTHS_AT)
        text = listed[at + _HEADER : at + _HEADER + name] if name > MAX_NAME else b""
        if len(text.decode("utf-8", "replace")) > MAX_NAME:
            raise TooManyNames(f"a name in it is longer than {MAX_NAME:,} characters")
        at += _HEADER + name + extra + comment


_ADVICE: Final = "unpack it and add its folder, or send its parts"
