"""Opening the store that the settings name, with what belongs to it: its key and its index.

A file in the home, or the rows of an owner on a PostgreSQL server.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from mem_search import regular_file
from mem_search.contracts import Embedder
from mem_search.errors import StorageError
from mem_search.model.forgetting import Tombstone
from mem_search.model.statistics import Examined
from mem_search.settings import Settings
from mem_search.storage.chroma.index import NO_MODEL, ChromaIndex, OffIndex
from mem_search.storage.chroma.process import ChromaProcess
from mem_search.storage.chroma.server import RemoteChroma
from mem_search.storage.sql.moving import PAGE, Tables
from mem_search.storage.sqlite import copies
from mem_search.storage.sqlite.records import tombstones_of_file
from mem_search.storage.sqlite.store import SqliteStore, SqliteTables
from mem_search.storage.store import Store
from mem_search.storage.vector_index import VectorIndex

if TYPE_CHECKING:
    from mem_search.storage.postgres.store import PostgresStore


@dataclass(frozen=True, slots=True)
class OpenedStore:
    """An open store, not behind redaction yet; ``key`` redacts the names in it.

    ``has_index``: its vectors are searched where they are stored.
    """

    settings: Settings
    store: Store
    key: bytes = field(repr=False)
    has_index: bool = False

    def open_index(
        self, embedder: Embedder, *, on_reset: Callable[[], None], few: bool = False
    ) -> VectorIndex:
        """The vector index of the embedder's space, not started yet. Raises InputError.

        ``few``: there are so few vectors that a Chroma of their own is not worth it.
        """
        if self.has_index and embedder.dimensions:
            store = cast("PostgresStore", self.store)
            return store.open_index(embedder.fingerprint, embedder.dimensions)
        return open_index(
            "off" if few else self.settings.chroma_url,
            chroma_dir=self.settings.chroma_dir,
            logs_dir=self.settings.logs_dir,
            fingerprint=embedder.fingerprint,
            dimensions=embedder.dimensions,
            token=self.settings.chroma_token,
            on_reset=on_reset,
        )


def open_index(
    chroma_url: str,
    *,
    chroma_dir: Path,
    logs_dir: Path,
    fingerprint: str,
    dimensions: int,
    token: str = "",
    on_reset: Callable[[], None] | None = None,
) -> VectorIndex:
    """The index that the setting ``chroma_url`` selects, not started yet.

    An empty setting means a child process over ``chroma_dir`` that logs to
    ``logs_dir/chroma.log``, ``off`` means none, anything else is the address of a server, with
    ``token`` if it needs one. Raises InputError.
    """
    if chroma_url == "off":
        return OffIndex()
    if not dimensions:
        return OffIndex(NO_MODEL)
    server = (
        RemoteChroma(chroma_url, token)
        if chroma_url
        else ChromaProcess(chroma_dir, logs_dir / "chroma.log")
    )
    return ChromaIndex(server, fingerprint, dimensions, on_reset=on_reset)


async def open_store(settings: Settings) -> OpenedStore:
    """The store, migrated. Raises StorageError."""
    key = await asyncio.to_thread(redaction_key, settings)
    if not settings.store:
        return OpenedStore(settings, await SqliteStore.open(settings.database), key)
    replica = (settings.store_replica, settings.store_replica_lag)
    store = await open_postgres(settings, replica if settings.store_replica else None)
    try:
        await store.check_whole()
        await store.share_key(mark_of(key))
    except BaseException:
        await store.close()
        raise
    return OpenedStore(settings, store, key, has_index=not settings.chroma_url)


def mark_of(key: bytes) -> str:
    """What identifies a redaction key and does not tell it."""
    return hashlib.sha256(b"mem-search key mark\0" + key).hexdigest()[:16]


async def open_postgres(
    settings: Settings, replica: tuple[str, float] | None = None
) -> PostgresStore:
    """The rows of the owner on the server. Raises StorageError.

    ``replica``: the address of one that may answer searches, and the seconds it may be behind.
    """
    try:  # only who uses it needs its driver
        from mem_search.storage.postgres.store import PostgresStore
    except ModuleNotFoundError as error:
        raise StorageError(
            f"PostgreSQL needs the Python package {error.name}; install mem-search[postgres]"
        ) from error
    home = await asyncio.to_thread(_home_id, settings)
    return await PostgresStore.open(settings.store, settings.store_owner, home, replica=replica)


@dataclass(frozen=True, slots=True)
class MovableStore:
    """An open store. ``end`` makes one that was filled a whole one."""

    store: Store
    tables: Tables
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
    return MovableStore(store, tables, tables.end)


async def _nothing() -> None:
    """A file is whole when it is renamed."""


async def tombstones_of(settings: Settings) -> list[Tombstone]:
    """What a store has forgotten that no worker uses; it is not migrated. Raises StorageError."""
    if not settings.store:
        return await asyncio.to_thread(tombstones_of_file, settings.database)
    store, forgotten = await open_postgres(settings), list[Tombstone]()
    try:
        while page := await store.forgetting.tombstones(forgotten[-1] if forgotten else None, PAGE):
            forgotten += page
    finally:
        await store.close()
    return forgotten


def examined(settings: Settings) -> Examined:
    """What the store is without opening it; reads only."""
    if not settings.store:
        return copies.examined(settings.database)
    try:  # only who uses it needs its driver
        from mem_search.storage.postgres.server import examined as examined_server
    except ModuleNotFoundError as error:
        problem = f"PostgreSQL needs the Python package {error.name}"
        return Examined(False, problem, "install mem-search[postgres]")
    return examined_server(settings.store)


async def erase_store(settings: Settings) -> None:
    """Delete what a store has outside of its home, which is closed. Raises StorageError."""
    if settings.store:
        store = await open_postgres(settings)
        try:
            await store.erase()
        finally:
            await store.close()


def _home_id(settings: Settings) -> str:
    """What other workers of the store know this home by; the first start creates it."""
    file = settings.home_id_file
    try:
        return regular_file.read_or_create_secret(file, lambda: secrets.token_hex(8))
    except OSError as error:
        raise StorageError(f"cannot store the id of the home in {file}: {error}") from error


def redaction_key(settings: Settings) -> bytes:
    """The key of redacted names: of the setting for each owner, or of a file of the home.

    The first start creates the file.
    """
    if settings.redaction_key:
        owner = settings.store_owner.encode()
        return hmac.digest(bytes.fromhex(settings.redaction_key), owner, "sha256")
    file = settings.redaction_key_file
    try:
        return bytes.fromhex(
            regular_file.read_or_create_secret(file, lambda: secrets.token_hex(32))
        )
    except OSError as error:
        raise StorageError(f"cannot store the redaction key in {file}: {error}") from error
    except ValueError as error:  # it holds something else
        raise StorageError(
            f"{file} does not hold a key; restore it, or remove it to get a new one"
        ) from error
