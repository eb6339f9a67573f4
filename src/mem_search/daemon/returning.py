"""What was forgotten since a backup was made does not come back with it.

The tombstones of the stores that are here are given to those of the backup before anybody opens
them. Records that they refuse are removed there, with what quotes them; what takes longer than that
is pending in the restored store, and the next worker does it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from mem_search.access.callers import users_dir
from mem_search.errors import MemSearchError
from mem_search.model.forgetting import Tombstone
from mem_search.settings import Settings
from mem_search.storage import archive
from mem_search.storage.opening import open_store, tombstones_of


@dataclass(frozen=True, slots=True)
class Returning:
    """How many ``records`` of a backup were forgotten since it was made.

    ``unread`` says which stores of this home could not be read: what was forgotten there is not
    known, and returns.
    """

    records: int = 0
    unread: tuple[str, ...] = ()


def keep_forgotten(
    settings: Settings,
    restored: Path,
    *,
    even_forgotten: bool,
    confirm: Callable[[int], None] = lambda _: None,
) -> Returning:
    """Remove from the stores below ``restored`` what the stores of this home have forgotten.

    ``even_forgotten``: these records return, if ``confirm`` does not raise for their number.
    Raises StorageError when a restored store cannot be used.
    """
    unread: list[str] = []
    refused: list[tuple[Settings, list[Tombstone], list[int]]] = []
    for present, there in _pairs(settings, restored):
        try:
            known = asyncio.run(tombstones_of(present))
        except MemSearchError as error:
            unread.append(f"{present.database}: {error.message}")
            continue
        if known:
            refused.append((there, known, asyncio.run(_refused(there, known))))
    count = sum(len(numbers) for _, _, numbers in refused)
    if not even_forgotten:
        for each in refused:
            asyncio.run(_remove(*each))
    elif count:
        confirm(count)
    return Returning(count, tuple(unread))


def _pairs(settings: Settings, restored: Path) -> Iterator[tuple[Settings, Settings]]:
    """The settings of each store that is here, and those of the one that takes its place."""
    for database in (restored / archive.DATABASE, *restored.glob(f"users/*/{archive.DATABASE}")):
        owner = database.parent.name if database.parent != restored else ""
        home = users_dir(settings.home) / owner if owner else settings.home
        present = replace(
            settings,
            home=home,
            store_owner=f"{settings.store_owner}/{owner}" if owner else settings.store_owner,
        )
        if database.exists() and (settings.store or present.database.exists()):
            yield present, replace(present, home=database.parent, store="")


async def _refused(restored: Settings, known: list[Tombstone]) -> list[int]:
    store = (await open_store(restored)).store
    try:
        return await store.forgetting.refused(known)
    finally:
        await store.close()


async def _remove(restored: Settings, known: list[Tombstone], numbers: list[int]) -> None:
    store = (await open_store(restored)).store
    forgetting = store.forgetting
    try:
        await forgetting.refuse(known)
        if numbers:
            receipt = await forgetting.begin(numbers)
            while await forgetting.remove_some(receipt):
                pass
            await forgetting.finish_step("records", [receipt], {})
            await forgetting.remove_quotes()
            await forgetting.merge_words()
            await forgetting.rewrite_file()
            for copy in restored.home.glob(archive.UPGRADE_COPIES):
                copy.unlink()  # made when it was opened just now, with the records in it
    finally:
        await store.close()
