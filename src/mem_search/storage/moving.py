"""A store together with its tables, for moving it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import cast

from mem_search.settings import Settings
from mem_search.storage.opening import mark_of, open_postgres, redaction_key
from mem_search.storage.rules.moving import Movable
from mem_search.storage.sqlite.moving import SqliteTables
from mem_search.storage.sqlite.store import SqliteStore
from mem_search.storage.store import Store


@dataclass(frozen=True, slots=True)
class MovableStore:
    """An open store. ``end`` makes one that was filled a whole one."""

    store: Store
    tables: Movable
    end: Callable[[], Awaitable[object]]


async def open_movable(settings: Settings, moving: str = "") -> MovableStore:
    """The store of ``settings``; ``moving`` is the id of the one that is to be moved into it.

    Raises Conflict when it holds another one already, StorageError.
    """
    if not settings.store:
        file = await SqliteStore.open(settings.database)
        return MovableStore(file, SqliteTables(file.database), _nothing)
    store = await open_postgres(settings)  # says so where its driver is not installed
    from mem_search.storage.postgres.moving import PostgresTables

    tables = PostgresTables(store.database)
    try:
        if moving:
            await tables.begin(moving)
            await store.share_key(mark_of(redaction_key(settings)))
        else:
            await store.check_whole()
    except BaseException:
        await store.close()
        raise
    return MovableStore(cast(Store, store), tables, tables.end)


async def _nothing() -> None:
    """A file is whole when it is renamed."""
