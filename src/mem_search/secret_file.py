"""A secret in a file of the home: written whole or not at all, readable by its owner only."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Final

from mem_search.regular_file import NotARegularFile, read_regular_file

_MAX_BYTES: Final = 2**16


def read_or_create(file: Path, new: Callable[[], str]) -> str:
    """The content of ``file``; a missing or empty file gets ``new()`` first.

    Two processes that call this at once get the same secret. Raises OSError.
    """
    return read(file) or _create(file, new())


def read(file: Path) -> str:
    """The content of ``file``, empty without one. Raises OSError, for a pipe or a folder too."""
    if not os.path.lexists(file):
        return ""
    try:
        return read_regular_file(file, _MAX_BYTES).decode("utf-8-sig").strip()
    except (NotARegularFile, FileNotFoundError) as error:
        raise OSError(errno.EINVAL, "it is no file; see: mem-search doctor", str(file)) from error
    except UnicodeDecodeError as error:
        raise OSError(errno.EINVAL, "it is no text; see: mem-search doctor", str(file)) from error


def _create(file: Path, secret: str) -> str:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = file.with_name(f"{file.name}.{secrets.token_hex(4)}")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            opened.write(secret + "\n")
            opened.flush()
            os.fsync(opened.fileno())
        if file.is_file() and not read(file):
            part.replace(file)  # an empty file holds no secret
        else:
            os.link(part, file)  # fails when another process was first
    except FileExistsError:
        return read(file)
    finally:
        part.unlink(missing_ok=True)
    return secret
