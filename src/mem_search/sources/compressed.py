"""Lines of a file that its program has compressed with zstd, as Codex does with old rollouts.

Python 3.14 has a reader; before that one comes with the extra ``zstd``.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, Final

from mem_search.install_command import install_command

_MAGIC: Final = b"\x28\xb5\x2f\xfd"
"""What a file in the format of zstd begins with (RFC 8878)."""

MAX_WINDOW_LOG: Final = 27
"""Of the memory that unpacking takes: 2**27 bytes, as the program ``zstd`` allows by itself."""

MAX_UNPACKED_BYTES: Final = 16 * 2**30
"""Bytes that one file may unpack to."""

_READERS: Final = ("compression.zstd", "backports.zstd")


class Unpacked:
    """The lines of a compressed file. Raises OSError where it is damaged or cut off."""

    def __init__(self, zstd: Any, file: BinaryIO) -> None:
        options = {zstd.DecompressionParameter.window_log_max: MAX_WINDOW_LOG}
        self._file, self._error = zstd.ZstdFile(file, options=options), zstd.ZstdError
        self._left = MAX_UNPACKED_BYTES

    def readline(self, size: int) -> bytes:
        """The next line, or ``size`` bytes of it."""
        try:
            line: bytes = self._file.readline(size)
        except EOFError:
            raise OSError("the compressed file is cut off") from None
        except self._error as error:
            raise OSError(f"the compressed file is damaged: {error}") from error
        self._left -= len(line)
        if self._left < 0:
            raise OSError(f"it unpacks to more than {MAX_UNPACKED_BYTES // 2**30} GB")
        return line


@contextmanager
def lines_of(file: BinaryIO) -> Iterator[BinaryIO | Unpacked]:
    """The file, or what it unpacks to. Raises OSError with the step where no reader is there."""
    packed = file.read(len(_MAGIC)) == _MAGIC
    file.seek(0)
    yield Unpacked(_reader(), file) if packed else file


def unpacked(data: bytes, max_bytes: int) -> bytes:
    """What compressed data unpack to. Raises OSError where they are damaged or unpack to more."""
    zstd = _reader()
    unpacking = zstd.ZstdDecompressor(
        options={zstd.DecompressionParameter.window_log_max: MAX_WINDOW_LOG}
    )
    try:
        content: bytes = unpacking.decompress(data, max_bytes + 1)
    except zstd.ZstdError as error:
        raise OSError(f"its data are damaged: {error}") from error
    if len(content) > max_bytes:
        raise OSError(f"it unpacks to more than {max_bytes // 2**20} MB")
    if not unpacking.eof:
        raise OSError("its data are damaged: they are cut off")
    return content


def _reader() -> Any:
    for name in _READERS:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    step = install_command("mem-search[zstd]")
    raise OSError(
        f"it is compressed with zstd, which this Python cannot read; run: {step};"
        " then: mem-search sync --again"
    )
