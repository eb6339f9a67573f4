"""``mem-search migrate store``: the store of a home, and those of its users, on another engine.

Every row is copied under its number. A move that was ended goes on where it ended; at its end the
rows of both stores are counted and hashed, and searched alike. Until then nobody can open the new
store; the old one is only read, and stays.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from mem_search.access.callers import users_dir
from mem_search.daemon.state import worker_lock
from mem_search.errors import Conflict, InputError, NotFound, StorageError
from mem_search.model import Filters
from mem_search.records.registry import installed_kinds
from mem_search.settings import Settings
from mem_search.storage.opening import MovableStore, open_movable
from mem_search.storage.sql.moving import (
    PAGE,
    TABLES,
    Digest,
    Identity,
    Row,
    Table,
    Tables,
)
from mem_search.storage.store import Store
from mem_search.text.words import any_of, read

FILE: Final = "file"
"""Where to move to, for a file in the home."""

SEARCHES: Final = 200
_SCORE: Final = 1e-6
"""Relative difference of scores: they are added in another order."""

_BY_NUMBERS: Final = frozenset(
    {"records", "passages", "vectors", "sparse_vectors", "edges", "cites", "phrases", "sketches"}
)
"""Large tables whose keys are numbers, which every store orders alike: a move goes on in them."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Moved:
    """One store that was moved: whose, how many rows and records, and searches that agreed."""

    user: str
    rows: int
    records: int
    searches: int


def move(settings: Settings, to: str, progress: Progress = lambda *_: None) -> list[Moved]:
    """Move the stores of this home ``to`` an address of PostgreSQL, or to ``FILE``.

    ``progress`` gets what is being done, and rows done of rows in all. Raises Conflict while a
    worker runs and where there is a store already, InputError, NotFound without a store, and
    StorageError when a store cannot be used or the two are not alike at the end.
    """
    target = replace(settings, store=_address(to))
    if target.store == settings.store:
        raise InputError("the store is there already; name another place with --to", field="to")
    try:
        with worker_lock(settings.home):
            return asyncio.run(_move_all(settings, target, progress))
    except Conflict as error:
        if error.field != "home":
            raise
        raise Conflict(f"{error.message}; run: mem-search worker stop", field="home") from error


def _address(to: str) -> str:
    return "" if to == FILE else Settings.read(store=to, store_replica="").store


async def _move_all(settings: Settings, target: Settings, progress: Progress) -> list[Moved]:
    if not settings.store and not settings.database.exists():
        raise NotFound(f"there is no store in {settings.home} that could be moved")
    moved = []
    for user in ("", *_users(settings)):
        source, there = (_of_user(each, user) for each in (settings, target))
        async with _opened(source) as old:
            identity = await old.tables.identity()
            async with _filled(there, identity.store_id) as new:
                moved.append(await _move(old, new, identity, user, progress))
    return moved


async def _move(
    old: MovableStore, new: MovableStore, identity: Identity, user: str, progress: Progress
) -> Moved:
    await new.tables.adopt(identity)
    rows = await _copy(old.tables, new.tables, user, progress)
    await new.tables.complete(identity)
    records = await _check(old.tables, new.tables, user, progress)
    return Moved(user, rows, records, await _search_alike(old.store, new.store))


def _users(settings: Settings) -> list[str]:
    """The users with a store of their own."""
    folder = users_dir(settings.home)
    homes = sorted(folder.iterdir()) if folder.is_dir() else []
    return [
        home.name
        for home in homes
        if not home.name.startswith(".")
        and (home / settings.database.name if not settings.store else home).exists()
    ]


def _of_user(settings: Settings, user: str) -> Settings:
    if not user:
        return settings
    home = users_dir(settings.home) / user
    return replace(settings, home=home, store_owner=f"{settings.store_owner}/{user}")


@asynccontextmanager
async def _opened(settings: Settings) -> AsyncIterator[MovableStore]:
    opened = await open_movable(settings)
    try:
        yield opened
    finally:
        await opened.store.close()


@asynccontextmanager
async def _filled(settings: Settings, store_id: str) -> AsyncIterator[MovableStore]:
    """A store to fill; it is whole, and can be opened, when the block ends well."""
    stage = settings.home / "moving"
    if settings.store:
        opened = await open_movable(settings, moving=store_id)
    else:
        if settings.database.exists():
            raise Conflict(
                f"there is a store in {settings.home} already; move {settings.database.name}* away",
                field="to",
            )
        note = stage / "store"
        if not note.is_file() or note.read_text("utf-8") != store_id:
            shutil.rmtree(stage, ignore_errors=True)
            stage.mkdir(mode=0o700, parents=True)
            note.write_text(store_id, "utf-8")
        opened = await open_movable(replace(settings, home=stage))
    try:
        yield opened
        await opened.end()
    finally:
        await opened.store.close()
    if not settings.store:
        # The store itself comes last: before it, this is no store.
        for file in sorted(stage.glob(f"{settings.database.name}*"), reverse=True):
            file.rename(settings.home / file.name)
        shutil.rmtree(stage)


async def _copy(old: Tables, new: Tables, user: str, progress: Progress) -> int:
    copied = 0
    for table in TABLES:
        after: Row | None = await new.last(table) if table.name in _BY_NUMBERS else None
        while rows := await old.page(table, after):
            await new.put(table, rows)
            after = rows[-1][: table.key]
            copied += len(rows)
            progress(f"{user or 'own store'}: {table.name}", copied, 0)
            if len(rows) < PAGE:
                break
    return copied


async def _check(old: Tables, new: Tables, user: str, progress: Progress) -> int:
    """Compare every table; how many records there are. Raises StorageError."""
    records = 0
    for table in TABLES:
        there, here = await _digest(old, table), await _digest(new, table)
        if there != here:
            raise StorageError(
                f"the table {table.name} of {user or 'the store'} has {there[0]} rows in the old"
                f" store and {here[0]} in the new one, or others: somebody wrote to the old store"
                " meanwhile, or to the new one. Stop every worker, and move to another owner"
            )
        progress(f"{user or 'own store'}: {table.name} checked", here[0], here[0])
        records = here[0] if table.name == "records" else records
    return records


async def _digest(store: Tables, table: Table) -> tuple[int, int]:
    digest, after = Digest(), None
    while rows := await store.page(table, after):
        await asyncio.to_thread(digest.add, rows)
        after = rows[-1][: table.key]
        if len(rows) < PAGE:
            break
    return digest.result()


async def _search_alike(old: Store, new: Store) -> int:
    """Search both for the titles of records, spread over the store. Raises StorageError."""
    titles = await _titles(old)
    chats = installed_kinds().ranking.chat
    with tempfile.TemporaryDirectory() as folder:
        searches = [each.open_search(Path(folder), 0, 0, chats) for each in (old, new)]
        for title in titles:
            answers = [await each.read(_matches, title) for each in searches]
            if not (
                np.array_equal(answers[0][0], answers[1][0])
                and np.allclose(answers[0][1], answers[1][1], rtol=_SCORE)
            ):
                raise StorageError(
                    "the new store does not answer a search as the old one does; please report it"
                )
    return len(titles)


async def _titles(store: Store) -> list[str]:
    page, total = await store.records.page(Filters(), "date_asc", 1, 0)
    step = max(1, total // SEARCHES)
    titles = []
    for offset in range(0, total if page else 0, step):
        rows, _ = await store.records.page(Filters(), "date_asc", 1, offset)
        titles += [record.title or record.text[:80] for record, _ in rows]
    return titles[:SEARCHES]


def _matches(snapshot: Any, title: str) -> tuple[Any, Any]:
    """The records that match a word of ``title``, in order of their numbers, and their scores."""
    query = any_of(read(title))
    if query is None:
        return np.zeros(0), np.zeros(0)
    _, matches = snapshot.word_matches(query, Filters(), 10)
    order = np.argsort(matches.records)
    return matches.records[order], matches.scores[order]
