"""``mem-search restore``: put a backup into a home that no worker uses, whole or not at all.

Everything is unpacked and examined beside the stores first. From the moment the file ``ready``
exists the change is only renames, and each can be repeated: if this process ends in between, the
next restore or start of the worker goes on where it ended, so nobody ever opens half a home.

What was forgotten since the backup was made does not come back with it. The tombstones of the
stores that are here are given to those of the backup before anybody opens them. Records that they
refuse are removed there, with what quotes them; what takes longer than that is pending in the
restored store, and the next worker does it.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from mem_search.access.callers import users_dir
from mem_search.daemon.state import worker_lock
from mem_search.errors import Conflict, MemSearchError, StorageError
from mem_search.model.forgetting import Tombstone
from mem_search.settings import Settings
from mem_search.storage import archive
from mem_search.storage.opening import open_store, tombstones_of
from mem_search.storage.sqlite.copies import examine

_STAGE: Final = ".restoring"
_NEW, _READY, _CLEARED = "new", "ready", "cleared"
_OLD: Final = ("mem-search.db*", "chroma", "users", "webhook.secret", "redaction.key", "spool")
"""What belongs to the stores. Token, settings, model and logs belong to the machine and stay."""


def restore(
    settings: Settings,
    file: Path,
    *,
    replace: bool,
    even_forgotten: bool = False,
    confirm: Callable[[int], None] = lambda _: None,
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> tuple[archive.Manifest, Path | None, Returning]:
    """Restore ``file``; returns its manifest, and where the files are that were here before.

    What the stores here have forgotten is not restored, unless ``even_forgotten``: then ``confirm``
    gets the number of these records, and raises where they must not return.
    ``progress`` gets what is being done, the bytes done and the bytes in all.
    Raises InputError for what is no whole backup, Conflict while a worker runs, where there
    are stores and not ``replace``, and where the store is on a server; StorageError when it cannot
    be written or is damaged inside.
    """
    if settings.store:
        raise Conflict(
            "the store is in PostgreSQL, and a backup is of files; restore it with an empty"
            " MEM_SEARCH_STORE, then run: mem-search migrate store --to postgresql://…",
            field="store",
        )
    manifest = archive.read(file, partial(progress, "checked"))
    home = settings.home
    try:
        with worker_lock(settings.home):
            finish(home)
            if (held := _old(home)) and not replace:
                names = ", ".join(sorted(each.name for each in held))
                raise Conflict(
                    f"{home} holds a store already ({names}); to set it aside and restore: add"
                    " --replace",
                    field="FILE",
                )
            stage = home / _STAGE
            try:
                _unpack(file, manifest, stage, partial(progress, "unpacked"))
                returning = keep_forgotten(
                    settings, stage / _NEW, even_forgotten=even_forgotten, confirm=confirm
                )
                _ready(stage)
            except BaseException:
                shutil.rmtree(stage, ignore_errors=True)
                raise
            return manifest, finish(home), returning
    except Conflict as error:
        if error.field != "home":
            raise
        raise Conflict(f"{error.message}; run: mem-search worker stop", field="home") from error
    except OSError as error:
        raise StorageError(f"cannot restore into {home}: {error}") from error


def _unpack(
    file: Path, manifest: archive.Manifest, stage: Path, progress: archive.Progress
) -> None:
    """Unpack and examine everything."""
    new = stage / _NEW
    new.mkdir(mode=0o700, parents=True)
    archive.check_room(new, sum(member.size for member in manifest.members) + (16 << 20))
    if archive.extract(file, new, progress) != manifest:
        raise Conflict(f"{file} changed while it was read; try again", field="FILE")
    for database in (*new.glob(archive.DATABASE), *new.glob(f"users/*/{archive.DATABASE}")):
        examine(database)


def _ready(stage: Path) -> None:
    """Note that everything is ready to take its place."""
    aside = time.strftime("before-restore-%Y%m%dT%H%M%SZ", time.gmtime())
    (stage / "aside").write_text(aside, "utf-8")
    _sync(stage / "aside")
    (stage / "aside").rename(stage / _READY)
    _sync(stage)


def finish(home: Path) -> Path | None:
    """Go on with a restore that was interrupted; does nothing without one. Hold the worker's lock.

    Returns where the files are that were here before; None when there were none.
    Raises StorageError.
    """
    try:
        return _finish(home, home / _STAGE)
    except OSError as error:
        raise StorageError(
            f"a restore into {home} was interrupted and cannot go on ({error});"
            " repair that, then: mem-search worker start"
        ) from error


def _finish(home: Path, stage: Path) -> Path | None:
    aside = None
    if (stage / _READY).is_file():
        for old in _old(home):
            aside = _aside(home, stage / _READY)
            aside.mkdir(mode=0o700, exist_ok=True)
            old.rename(aside / old.name)
        (stage / _READY).rename(stage / _CLEARED)
        _sync(home)
    if (stage / _CLEARED).is_file():
        aside = _aside(home, stage / _CLEARED)
        for new in (stage / _NEW).iterdir():
            if new.name == "config.toml" and (home / new.name).exists():
                continue  # the settings of this machine
            new.rename(home / new.name)
        _sync(home)
    shutil.rmtree(stage, ignore_errors=True)
    return aside if aside is not None and aside.is_dir() else None


def _aside(home: Path, note: Path) -> Path:
    return home / Path(note.read_text("utf-8")).name


def _old(home: Path) -> list[Path]:
    return [path for pattern in _OLD for path in home.glob(pattern)
            if not (path.is_dir() and not any(path.iterdir()))]  # fmt: skip


def _sync(place: Path) -> None:
    """Bring a file, or the names in a folder, to the disk."""
    handle = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


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
