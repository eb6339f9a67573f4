"""Copies of a store, while it is used and before an upgrade, and what is asked of one that nobody
uses: of a copy whether it is whole, for ``doctor`` also whether it is ours, and how large.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from shlex import quote
from typing import Final

from mem_search.errors import StorageError
from mem_search.model.statistics import Examined
from mem_search.storage import archive
from mem_search.storage.archive import UPGRADE_COPIES
from mem_search.storage.sqlite.connection import problem_in
from mem_search.storage.sqlite.damage import damaged_parts, named
from mem_search.storage.sqlite.mark import check, damaged, fresh_start_command, reading
from mem_search.storage.sqlite.migrations import is_older, missing

log = logging.getLogger(__name__)

_UPGRADE_COPIES_KEPT: Final = 2

_WITHOUT_SPOOL: Final = (
    "update jobs set state = 'cancelled', message = 'its upload is in no backup; send it again'"
    " where state not in ('done', 'failed', 'cancelled') and params like '%\"spooled\"%'"
)


def copy(source: sqlite3.Connection, target: Path, *, vectors: bool) -> int:
    """Write the store to the new file ``target``, as of one moment; returns its records.

    ``vacuum into`` reads one snapshot, waits for no writer and holds none up. It writes only
    what is stored: free pages, where deleted text can linger, stay behind. Without ``vectors``
    the copy is told to embed everything again.
    """
    source.execute("vacuum into ?", (str(target),))
    with closing(sqlite3.connect(target, isolation_level=None)) as copied:
        copied.execute(_WITHOUT_SPOOL)
        if not vectors:
            copied.execute("delete from vectors")
            copied.execute("delete from sparse_vectors")
            copied.execute("delete from outbox")
            copied.execute("insert into outbox(passage_id, step) select id, 'embed' from passages")
            copied.execute("vacuum")
        (records,) = copied.execute("select count(*) from records").fetchone()
    target.chmod(0o600)
    return int(records)


def before_upgrade(connection: sqlite3.Connection, database: Path) -> Path | None:
    """Copy a store of an older version beside it, before its schema changes.

    Returns the copy; None for a new store, or one of this version. The two newest copies are kept.
    Raises StorageError, as ``missing`` does and where the copy does not fit on the disk.
    """
    missing(connection)
    if not is_older(connection):
        return None
    (size,) = connection.execute(
        "select page_count * page_size from pragma_page_count, pragma_page_size"
    ).fetchone()
    # The steps that follow write, too.
    archive.check_room(database.parent, 2 * size)
    part = database.with_name(".before-upgrade")
    part.unlink(missing_ok=True)
    connection.execute("vacuum into ?", (str(part),))
    part.chmod(0o600)
    copied = database.with_name(time.strftime("before-upgrade-%Y%m%dT%H%M%SZ.db", time.gmtime()))
    part.rename(copied)
    log.info("a newer mem-search changes the store; as it was before, it is in %s", copied)
    for old in sorted(database.parent.glob(UPGRADE_COPIES))[:-_UPGRADE_COPIES_KEPT]:
        old.unlink()
    return copied


def examine(database: Path) -> int:
    """The records of a store that nobody uses, after SQLite found no error in it.

    Raises StoreDamaged; StorageError for one of another program or of a newer version.
    """
    try:
        with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as connection:
            if problem := problem_in(connection):
                raise damaged(database, problem)
            missing(connection)
            (records,) = connection.execute("select count(*) from records").fetchone()
    except sqlite3.Error as error:
        raise StorageError(f"the store in the backup cannot be used: {error}") from error
    return int(records)


def examined(database: Path) -> Examined:
    """The file has what its mark says, and SQLite finds no error in it. Reads only."""
    file = quote(str(database))
    start_over = f"{fresh_start_command(database)}; mem-search sync"
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
            problem = problem_in(connection)
            if not problem:
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
    if problem:
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
