"""The lines of a plain or gzipped file, with a position to which a later reading can return.

A digest of all bytes before the position identifies it, not inode or time: a file that was edited
is noticed even when the editor kept both, and one that was moved or copied is not read again.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from mem_search.errors import SourceError
from mem_search.regular_file import open_regular_file

MAX_FILE_BYTES = 64 * 2**30
"""Bytes of a file, and what it may unpack to."""

MAX_LINE_BYTES = 32 * 1024 * 1024
"""Bytes. A longer line is not a record and is not read into memory."""

_GZIP_MAGIC = b"\x1f\x8b"


class LineReader:
    """Iterates over lines as bytes; ``None`` stands for a line that is too long.

    ``cut_off`` is then the beginning of that line. When the file cannot be read any further,
    iteration ends and ``broken`` says why.
    """

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw = raw
        self._rewind()

    def _rewind(self) -> None:
        self._raw.seek(0)
        packed = self._raw.read(2) == _GZIP_MAGIC
        self._raw.seek(0)
        self._file: IO[bytes] | gzip.GzipFile = (
            gzip.GzipFile(fileobj=self._raw) if packed else self._raw
        )
        self.broken = ""
        self.cut_off = b""
        self.number = 0
        self._offset = 0
        self._digest = hashlib.sha256()

    def __iter__(self) -> Iterator[bytes | None]:
        while line := self._next():
            self.number += 1
            if line.endswith(b"\n") or len(line) < MAX_LINE_BYTES:
                yield line
            else:
                self.cut_off = line
                while line and not line.endswith(b"\n"):
                    line = self._next()
                yield None
                self.cut_off = b""

    def _next(self) -> bytes:
        try:
            line = self._file.readline(MAX_LINE_BYTES)
        except (OSError, EOFError, zlib.error) as error:  # gzip raises all three
            self.broken = getattr(error, "strerror", None) or str(error)
            return b""
        self._offset += len(line)
        if self._offset > MAX_FILE_BYTES:
            self.broken = f"it unpacks to more than {MAX_FILE_BYTES // 2**30} GB"
            return b""
        self._digest.update(line)
        return line

    def cursor(self) -> dict[str, Any]:
        """The position: ``offset`` in unpacked bytes, ``line``, ``digest`` of the bytes before."""
        return {
            "offset": self._offset,
            "line": self.number,
            "digest": self._digest.hexdigest(),
        }

    def skip_to(self, cursor: Mapping[str, Any]) -> Iterator[bytes]:
        """The lines before ``cursor``. Reading then continues there, or at the start if the file
        is not the one that the cursor is from."""
        offset = cursor.get("offset", 0)
        if not offset:
            return
        for line in self:
            if line is not None:
                yield line
            if self._offset >= offset:
                break
        if self.cursor()["digest"] != cursor.get("digest"):
            self._rewind()

    def done(self) -> int:
        """Bytes of the file that have been read, as they are on disk."""
        return self._raw.tell()


@contextmanager
def open_lines(path: Path) -> Iterator[LineReader]:
    """Raises SourceError when ``path`` cannot be opened."""
    try:
        raw = open_regular_file(path, max_bytes=MAX_FILE_BYTES)
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror}", field="path") from error
    with raw:
        yield LineReader(raw)
