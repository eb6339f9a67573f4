"""The schema, as append-only steps ``m001_…``, one a file.

A released step is never edited: the next change is the next step. An older store takes each step
in its own transaction, so an upgrade that was killed goes on. A new store takes all steps in one,
which needs less than half the time.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence

from mem_search.errors import StorageError
from mem_search.storage.sqlite.migrations.m001_store import m001_store
from mem_search.storage.sqlite.migrations.m002_graph import m002_graph
from mem_search.storage.sqlite.migrations.m003_search_log import m003_search_log
from mem_search.storage.sqlite.migrations.m004_research import m004_research
from mem_search.storage.sqlite.migrations.m005_saved_searches import m005_saved_searches
from mem_search.storage.sqlite.migrations.m006_tokens import m006_tokens
from mem_search.storage.sqlite.migrations.m007_ranking import m007_ranking
from mem_search.storage.sqlite.migrations.m008_mixed_scripts import m008_mixed_scripts
from mem_search.storage.sqlite.migrations.m009_commits import m009_commits
from mem_search.storage.sqlite.migrations.m010_search_requests import m010_search_requests
from mem_search.storage.sqlite.migrations.m011_revisions import m011_revisions
from mem_search.storage.sqlite.migrations.m012_forgetting import m012_forgetting
from mem_search.storage.sqlite.migrations.m013_people import m013_people
from mem_search.storage.sqlite.migrations.m014_aliases import m014_aliases
from mem_search.storage.sqlite.migrations.m015_copies import m015_copies
from mem_search.storage.sqlite.migrations.m016_redacted_by import m016_redacted_by
from mem_search.storage.sqlite.migrations.m017_archives import m017_archives
from mem_search.storage.sqlite.migrations.m018_filetypes import m018_filetypes
from mem_search.storage.sqlite.migrations.m019_names import m019_names
from mem_search.storage.sqlite.migrations.m020_phrases import m020_phrases
from mem_search.storage.sqlite.migrations.m021_sample import m021_sample
from mem_search.storage.sqlite.migrations.m022_structure import m022_structure
from mem_search.storage.sqlite.migrations.m023_access import m023_access
from mem_search.storage.sqlite.migrations.m024_column_blocks import m024_column_blocks
from mem_search.storage.sqlite.migrations.m025_vectors_by_rowid import m025_vectors_by_rowid
from mem_search.storage.sqlite.migrations.m026_sessions import m026_sessions

_FOREIGN = (
    "{path} is another program's file (it has {tables}); move it away, or set MEM_SEARCH_HOME"
    " to a folder of your own"
)


MIGRATIONS = (
    m001_store,
    m002_graph,
    m003_search_log,
    m004_research,
    m005_saved_searches,
    m006_tokens,
    m007_ranking,
    m008_mixed_scripts,
    m009_commits,
    m010_search_requests,
    m011_revisions,
    m012_forgetting,
    m013_people,
    m014_aliases,
    m015_copies,
    m016_redacted_by,
    m017_archives,
    m018_filetypes,
    m019_names,
    m020_phrases,
    m021_sample,
    m022_structure,
    m023_access,
    m024_column_blocks,
    m025_vectors_by_rowid,
    m026_sessions,
)


def migrate(connection: sqlite3.Connection) -> None:
    """Apply the missing steps. Raises StorageError as ``check_ours`` does."""
    check_ours(connection)
    connection.execute(
        "create table if not exists mem_search_migrations(name text primary key, applied_at real)"
    )
    applied = _applied(connection)
    missing = [step for step in MIGRATIONS if step.__name__ not in applied]
    for steps in [[step] for step in missing] if applied else [missing]:
        _apply(connection, steps)


def check_ours(connection: sqlite3.Connection) -> None:
    """Raises StorageError for the file of another program, or of a newer mem-search."""
    tables = {name for (name,) in connection.execute("select name from sqlite_master")}
    if tables and "mem_search_migrations" not in tables:
        (path,) = (row[2] for row in connection.execute("pragma database_list") if row[1] == "main")
        raise StorageError(_FOREIGN.format(path=path, tables=", ".join(sorted(tables)[:3])))
    unknown = (_applied(connection) if tables else set()) - {step.__name__ for step in MIGRATIONS}
    if unknown:
        raise StorageError(
            f"the store was written by a newer mem-search ({max(unknown)}); update mem-search"
        )


def is_older(connection: sqlite3.Connection) -> bool:
    """Whether this is a store, and steps are missing. Ask ``check_ours`` first."""
    tables = {name for (name,) in connection.execute("select name from sqlite_master")}
    return bool(tables) and bool({step.__name__ for step in MIGRATIONS} - _applied(connection))


def _applied(connection: sqlite3.Connection) -> set[str]:
    return {name for (name,) in connection.execute("select name from mem_search_migrations")}


def _apply(
    connection: sqlite3.Connection, steps: Sequence[Callable[[sqlite3.Connection], None]]
) -> None:
    connection.execute("begin immediate")
    try:
        for step in steps:
            # Checked again under the lock: two processes may open a new store at the same moment.
            record = "insert or ignore into mem_search_migrations values(?, ?)"
            if connection.execute(record, (step.__name__, time.time())).rowcount:
                step(connection)
        connection.commit()
    except BaseException:
        connection.rollback()
        raise
