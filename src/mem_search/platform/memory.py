"""Memory of the C library, room in pipes, files in memory, instructions of the processor."""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import platform
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mem_search.platform import IS_LINUX


def give_back() -> None:
    """Give back what the heaps of the C library do not use; only glibc keeps that much."""
    if IS_LINUX and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)


def let_go(mapped: mmap.mmap) -> None:
    """Take the pages of a mapped file from this process: the system may keep them in its cache, and
    who reads them gets them again.
    """
    if IS_LINUX:
        mapped.madvise(mmap.MADV_DONTNEED)


def set_malloc(option: int, value: int) -> None:
    """An option of mallopt(3), which only glibc has."""
    if IS_LINUX and (setting := getattr(ctypes.CDLL(None), "mallopt", None)):
        setting(option, value)


def enlarge_pipe(handle: int, size: int) -> None:
    """Give a pipe room for so many bytes; elsewhere than on Linux it has 64 kB."""
    command = getattr(fcntl, "F_SETPIPE_SZ", None)
    if IS_LINUX and command is not None:
        fcntl.fcntl(handle, command, size)


@contextmanager
def file_of(data: bytes) -> Iterator[Path]:
    """A file with the ``data``, which is gone with this process, however that ends."""
    if IS_LINUX:
        handle = os.memfd_create("data")  # type: ignore[attr-defined,unused-ignore]
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            yield Path(f"/proc/self/fd/{file.fileno()}")
        return
    with tempfile.NamedTemporaryFile() as named:
        named.write(data)
        named.flush()
        yield Path(named.name)


def cpu_features() -> frozenset[str]:
    """The instructions of the processor, as Linux calls them; those that matter here elsewhere.

    Every arm64 processor of Apple multiplies bytes exactly (``asimddp``).
    """
    if IS_LINUX:
        try:
            return frozenset(Path("/proc/cpuinfo").read_text("utf-8", "replace").split())
        except OSError:
            return frozenset()
    return frozenset({"asimddp"} if platform.machine() == "arm64" else ())
