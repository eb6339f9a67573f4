"""Moves the vectors of an older store into a table that is half as large, little by little.

Until ``m025_vectors_by_rowid`` the table had no rowids. It was a tree of its key with the vectors
in all of its nodes, and newer passages, which are embedded first, split the nodes where they stay
half empty: it took 2.2 to 2.7 times the bytes of its vectors.

First every vector is copied to ``vectors_next``, while searches read ``vectors`` and triggers keep
what is written in both. Then the two change places in one transaction, and ``vectors_before`` is
emptied. Each step is a transaction that notes how far it came, so a kill loses nothing. A small
file is written anew at the end. In a large one, where writes would wait for seconds, later writes
use the free pages, and a forgetting or a purge gives them back to the system.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Callable
from typing import Final

from mem_search.errors import StorageError
from mem_search.storage import archive
from mem_search.storage.sqlite.database import Database
from mem_search.storage.sqlite.forgetting import SqliteForgetting

log = logging.getLogger(__name__)

_AT_ONCE: Final = 1000
"""Vectors of one transaction, in which nothing else is written: about 10 ms."""

_PAUSE: Final = 0.05
"""Seconds between two steps: reading and writing have most of the time."""

_BUSY_PAUSE: Final = 2.0
"""Seconds between two steps while passages wait for the model or the index. Without a model they
wait for ever, and the move goes on slowly.
"""

_REWRITTEN: Final = 64 << 20
"""Bytes of a file that is written anew at the end: writes wait half a second for it."""

_RETRY_SECONDS: Final = 600.0
_KEY: Final = "vectors_moved"
"""In ``meta`` until the move is over: the entry up to which vectors are copied."""


async def move(database: Database, give_way: Callable[[], Awaitable[None]]) -> None:
    """Move all vectors, until cancelled; at once for a store that has nothing to move.

    ``give_way`` is awaited before each step, for searches that are under way.
    """
    while await database.read(_moved) is not None:
        try:
            archive.check_room(database.path.parent, await database.read(_used))
            while await database.write(_move_some):
                pause = _BUSY_PAUSE if await database.read(_is_busy) else _PAUSE
                await asyncio.sleep(pause)
                await give_way()
            if await database.read(_used) <= _REWRITTEN:
                await SqliteForgetting(database).rewrite_file()
            await database.write(_finish)
        except StorageError as error:
            log.warning("the vectors are moved to a smaller table later: %s", error.message)
            await asyncio.sleep(_RETRY_SECONDS)


def progress(connection: sqlite3.Connection) -> str:
    """How far the move is; "" when it is over."""
    moved, stage = _moved(connection), _stage(connection)
    if moved is None:
        return ""
    if stage is None:
        return "the file is written anew, without the table that the vectors had before"
    (last,) = connection.execute("select max(entry_id) from vectors").fetchone()
    if stage == "vectors_next":
        share = int(100 * max(0, moved) / last) if last else 100
        return f"the vectors are copied to a smaller table: {share} % so far"
    (first,) = connection.execute("select min(entry_id) from vectors_before").fetchone()
    share = int(100 * (first or last or 1) / (last or 1))
    return f"the table that the vectors had before is emptied: {min(100, share)} % so far"


def _stage(connection: sqlite3.Connection) -> str | None:
    """The table beside ``vectors``: the one that is filled, or emptied."""
    row = connection.execute(
        "select name from sqlite_master where type = 'table'"
        " and name in ('vectors_next', 'vectors_before')"
    ).fetchone()
    return row[0] if row else None


def _move_some(connection: sqlite3.Connection) -> bool:
    """Do the next step; whether there is more to do."""
    stage = _stage(connection)
    if stage == "vectors_next":
        return _copy_some(connection)
    return stage is not None and _delete_some(connection)


def _copy_some(connection: sqlite3.Connection) -> bool:
    after = _moved(connection) or 0
    last = _last_of_some(connection, "vectors", after)
    if last is None:
        _change_places(connection)
        return True
    # What was written since the upgrade is there already, by the triggers.
    connection.execute(
        "insert or ignore into vectors_next(entry_id, model_id, vector)"
        " select entry_id, model_id, vector from vectors"
        " where entry_id > ? and entry_id <= ? order by entry_id",
        (after, last),
    )
    connection.execute("update meta set value = ? where key = ?", (str(last), _KEY))
    return True


def _change_places(connection: sqlite3.Connection) -> None:
    connection.execute("drop trigger vectors_next_added")
    connection.execute("drop trigger vectors_next_deleted")
    connection.execute("alter table vectors rename to vectors_before")
    connection.execute("alter table vectors_next rename to vectors")
    # What is forgotten must not stay in the old one.
    connection.execute(
        "create trigger vectors_before_deleted after delete on vectors begin"
        " delete from vectors_before where entry_id = old.entry_id and model_id = old.model_id;"
        " end"
    )


def _delete_some(connection: sqlite3.Connection) -> bool:
    last = _last_of_some(connection, "vectors_before", -1)
    if last is not None:
        connection.execute("delete from vectors_before where entry_id <= ?", (last,))
        return True
    connection.execute("drop trigger vectors_before_deleted")
    connection.execute("drop table vectors_before")
    return False


def _finish(connection: sqlite3.Connection) -> None:
    connection.execute("delete from meta where key = ?", (_KEY,))


def _last_of_some(connection: sqlite3.Connection, table: str, after: int) -> int | None:
    (last,) = connection.execute(
        f"select max(entry_id) from"
        f" (select entry_id from {table} where entry_id > ? order by entry_id limit ?)",
        (after, _AT_ONCE),
    ).fetchone()
    return None if last is None else int(last)


def _moved(connection: sqlite3.Connection) -> int | None:
    """The entry up to which vectors are copied; None where there is no move to finish."""
    row = connection.execute("select value from meta where key = ?", (_KEY,)).fetchone()
    return None if row is None else int(row[0])


def _is_busy(connection: sqlite3.Connection) -> bool:
    return connection.execute("select 1 from outbox limit 1").fetchone() is not None


def _used(connection: sqlite3.Connection) -> int:
    """Bytes of the file that are in use: as many as the move needs at most."""
    (size,) = connection.execute(
        "select (page_count - freelist_count) * page_size"
        " from pragma_page_count, pragma_freelist_count, pragma_page_size"
    ).fetchone()
    return int(size)
