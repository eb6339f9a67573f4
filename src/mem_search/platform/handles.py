"""The path of a file that is open: of that very file, whatever lies at its path by now."""

from __future__ import annotations

import os

from mem_search.platform import IS_LINUX, IS_MACOS

_F_GETPATH = 50
_MAX_PATH_BYTES = 1024
"""Of fcntl(2) on macOS."""


def path_of_handle(handle: int) -> str:
    """A path by which this process and its children open the very file; empty where there is none.

    Only Linux has such paths.
    """
    if not IS_LINUX:
        return ""
    place = f"/proc/{os.getpid()}/fd/{handle}"
    return place if os.path.lexists(place) else ""


def real_path(handle: int, path: str | os.PathLike[str]) -> str:
    """Where the open file lies, without links; where ``path`` leads, if the system cannot say."""
    if place := path_of_handle(handle):
        return os.path.realpath(place)
    if IS_MACOS:
        import fcntl

        found: bytes = fcntl.fcntl(handle, _F_GETPATH, bytes(_MAX_PATH_BYTES))
        return os.fsdecode(found.partition(b"\0")[0])
    return os.path.realpath(path)
