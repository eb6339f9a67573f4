"""What ``doctor`` asks of the file of a store: whether it is ours and whole, and how large."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from shlex import quote

from mem_search.errors import StorageError
from mem_search.model.statistics import Examined
from mem_search.storage.sqlite.damage import damaged_parts, named
from mem_search.storage.sqlite.mark import check, reading, start_anew
from mem_search.storage.sqlite.migrations import missing


def examined(database: Path) -> Examined:
    """The file has what its mark says, and SQLite finds no error in it. Reads only."""
    file = quote(str(database))
    start_over = f"{start_anew(database)}; mem-search sync"
    fix = f"mem-search restore --replace FILE (your last backup), or {start_over}"
    try:
        check(database)
    except StorageError as error:
        return Examined(False, error.message.partition(". Nothing was changed")[0], fix)
    if not database.exists():
        return Examined(True, "none yet (created at the first start)")
    if not _is_ours_to_write(database):
        problem = f"you may not read and write {database}"
        home = quote(str(database.parent))
        return Examined(False, problem, f'sudo chown -R "$(id -u)" {home} && chmod u+rw {file}')
    derived = ""
    try:
        with closing(reading(database)) as connection:
            (problem,) = connection.execute("pragma quick_check(1)").fetchone()
            if problem == "ok":
                missing(connection)
                derived = named(damaged_parts(connection))
    except StorageError as error:
        problem, _, advice = error.message.partition("; ")
        return Examined(False, problem, start_over if "move" in advice else advice)
    except (sqlite3.Error, UnicodeDecodeError) as error:  # flipped bytes can be in its message
        problem = str(error)
        # The lower byte is the error, the upper bytes are its details (SQLite result codes).
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
            fix = f"end the program that holds it (fuser {file} names it), then try again"
    if problem != "ok":
        return Examined(False, f"{database}: {' '.join(problem.split())}", fix)
    if derived:
        detail = f"{derived}: damaged; the records are whole, and searches make it again from them"
        return Examined(False, detail, "mem-search index audit")
    return Examined(True, f"{database} ({database.stat().st_size / 2**20:.1f} MB)")


def _is_ours_to_write(file: Path) -> bool:
    """Whether this user may use the store: the worker makes it private to its owner."""
    owned = os.geteuid() in (0, file.stat().st_uid)
    read_only = os.statvfs(file).f_flag & os.ST_RDONLY
    return owned and (os.access(file, os.R_OK | os.W_OK) or bool(read_only))
