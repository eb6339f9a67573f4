"""Errors of SQLite in words: which store, what is wrong, and the next step."""

from __future__ import annotations

import json
import sqlite3
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mem_search.errors import MemSearchError, StorageError, StoreDamaged
from mem_search.storage.sqlite.derived import DerivedDamaged, damaged_parts
from mem_search.storage.sqlite.mark import damaged

_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_NO_DAMAGE = {
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_INTERRUPT,
    sqlite3.SQLITE_CONSTRAINT,
}  # fmt: skip
_UNREADABLE = (json.JSONDecodeError, UnicodeDecodeError, struct.error)
"""What decoding raises: the store wrote every value itself, so an unreadable one was changed."""


class UndecodableText(StoreDamaged):
    """A stored text is not UTF-8. It can be read as ``connection.as_read`` does."""


@contextmanager
def translated(path: Path, local: threading.local) -> Iterator[None]:
    """Translate errors of SQLite into a StorageError with the next step.

    Flipped bytes show in many ways, down to a None where a row was. So whatever else fails is
    damage too if SQLite finds some in the file, or if what is derived has another shape than it
    was written in (DerivedDamaged), and a bug if not.
    """
    try:
        yield
    except MemSearchError:
        raise
    except _UNREADABLE as error:
        _raise_if_derived(local, error)
        raise damaged(path, f"a stored value is unreadable ({error})") from error
    except sqlite3.DatabaseError as error:
        code, text = getattr(error, "sqlite_errorcode", 0), str(error)
        if text.startswith("Could not decode"):
            raise UndecodableText(damaged(path, text).message) from error
        if code & 0xFF not in _NO_DAMAGE:
            _raise_if_derived(local, error)
        if (
            code & 0xFF in _DAMAGE
            or code == sqlite3.SQLITE_IOERR_SHORT_READ
            or text.startswith(("no such ", "vtable constructor failed"))
            or _is_damaged(local)
        ):
            raise damaged(path, text) from error
        if code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            step = "another process holds it; stop that process or try again"
        elif code & 0xFF == sqlite3.SQLITE_FULL:
            step = "the disk is full; free some space; no transaction was stored in part"
        elif code & 0xFF == sqlite3.SQLITE_IOERR:
            step = "the disk is full or failing; check it; no transaction was stored in part"
        elif code & 0xFF in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
            step = "check that the folder exists and is writable"
        else:
            raise
        raise StorageError(f"{path}: {text}; {step}") from error
    except Exception as error:
        _raise_if_derived(local, error)
        if _is_damaged(local):
            raise damaged(path, f"{type(error).__name__}: {error}") from error
        raise


def _raise_if_derived(local: threading.local, error: Exception) -> None:
    """Raises DerivedDamaged if that is what ``error`` comes from, and the file is whole."""
    connection: sqlite3.Connection | None = getattr(local, "connection", None)
    if connection is None:
        return
    try:
        parts = damaged_parts(connection)
        if not parts and getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_CORRUPT_VTAB:
            parts = ("words",)  # only FTS5 has such an error
    except sqlite3.DatabaseError:
        return  # the file itself
    if parts and not _is_damaged(local):
        raise DerivedDamaged(parts, f"{type(error).__name__}: {error}") from error


def _is_damaged(local: threading.local) -> bool:
    """Whether SQLite finds an error in the file: seconds for a large one, and only for a bug."""
    connection: sqlite3.Connection | None = getattr(local, "connection", None)
    if connection is None:
        return False
    try:
        return bool(connection.execute("pragma quick_check(1)").fetchone() != ("ok",))
    except sqlite3.DatabaseError as error:
        return getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE
