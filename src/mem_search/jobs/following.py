"""Following locations: what grew there since is stored.

Every location is read again after some time, and a folder that the system watches at once when
something in it changes. The system tells of that through watchfiles (MIT; inotify, FSEvents,
ReadDirectoryChangesW). Where it cannot, as on some network disks, nothing is lost but time.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from mem_search import sources
from mem_search.background import Lanes
from mem_search.errors import InputError, MemSearchError
from mem_search.jobs.reader import LocationReader
from mem_search.model import Location
from mem_search.model.ingest import FollowedLocation
from mem_search.storage.sql.ingest import Ingest
from mem_search.text.redaction import MARKER

log = logging.getLogger(__name__)

MAX_PAUSE_SECONDS: Final = 3600.0
"""Until a location that failed again and again is tried once more."""


async def follow(store: Ingest, reader: LocationReader, seconds: float) -> None:
    """Read every followed location again each ``seconds``, until cancelled; 0 turns this off.

    The locations of one source are read one after the other, those of others meanwhile: one that
    takes long holds only those of its own source.
    """
    pauses = Pauses()
    async with Lanes() as lanes:
        while seconds:
            await asyncio.sleep(seconds)
            try:
                known = await store.locations()
            except MemSearchError as error:
                log.warning("cannot list the followed locations now: %s", error)
                continue
            rounds: dict[str, list[FollowedLocation]] = {}
            for each in known:
                # A path with a secret in it is not stored: only `sync` can read it.
                if each.followed and each.here and MARKER not in each.location.path:
                    rounds.setdefault(each.location.source, []).append(each)
            for source, places in rounds.items():
                lanes.start(source, partial(_read_again, reader, pauses, places))


async def _read_again(
    reader: LocationReader, pauses: Pauses, places: Iterable[FollowedLocation]
) -> None:
    for followed in places:
        location = followed.location
        if not pauses.is_due(location, time.monotonic()):
            continue
        failed = True
        try:
            await reader.read(location)
            failed = False
        except MemSearchError as error:
            # Logged once for each reason; `mem-search stats` shows the newest.
            if error.message != followed.error:
                log.warning("%s: %s", location.path, error)
        pauses.begin(location, time.monotonic(), failed=failed)


class Pauses:
    """When locations whose source wants a pause are due again. Times are in seconds.

    Each failure doubles the pause, up to an hour: servers lock an account whose password is sent
    wrong again and again.
    """

    def __init__(self) -> None:
        self._due: dict[tuple[str, str], tuple[float, int]] = {}

    def is_due(self, location: Location, now: float) -> bool:
        """Whether the location may be read ``now``."""
        return now >= self._due.get((location.source, location.path), (now, 0))[0]

    def begin(self, location: Location, now: float, *, failed: bool) -> None:
        """The location was read ``now``."""
        if pause := _pause(location):
            place = location.source, location.path
            failures = self._due.get(place, (now, 0))[1] + 1 if failed else 0
            self._due[place] = now + min(pause * 2**failures, MAX_PAUSE_SECONDS), failures


def _pause(location: Location) -> float:
    """Seconds between two readings; 0 for each round."""
    try:
        source = sources.by_name(location.source)
    except InputError:  # its package is gone
        return 0.0
    return source.pause(location) if hasattr(source, "pause") else 0.0  # it may be older than this


LOOK_SECONDS: Final = 5.0
"""Between two looks for locations that are followed since, or no more."""

MAX_FOLDERS: Final = 4_000
"""Folders that are watched in all; Linux allows 8,192 or more. The others are read regularly."""

_DEBOUNCE_MS: Final = 1_000
_STEP_MS: Final = 200
"""A program that saves a file writes several times; the file is read after the last one."""

_REST: Final = 2
"""For so many times as long as reading took, nothing is read: busy folders get a third."""

_PATIENCE: Final = 10.0
"""Seconds until changes of other sources are looked for, while one is still being read."""

Place = tuple[str, str]
"""The source and the path of a followed location."""

Followed = Mapping[Place, Location]

Folders = Mapping[Path, frozenset[Place]]
"""Folder → what is read when something in it changes."""


async def watch(store: Ingest, reader: LocationReader, seconds: float) -> None:
    """Watch followed locations until cancelled; ``seconds`` as for ``follow``, 0 turns it off."""
    folders: Folders = {}
    async with Lanes() as lanes:
        while seconds:
            folders = await _watch_once(store, reader, lanes, folders, min(LOOK_SECONDS, seconds))


async def _watch_once(
    store: Ingest, reader: LocationReader, lanes: Lanes, known: Folders, pause: float
) -> Folders:
    """Watch until other folders are to be watched than are ``known``; returns those watched."""
    followed = await _followed(store)
    folders = await asyncio.to_thread(_folders_of, followed)
    # What was not watched until now may have changed since it was read.
    unread = {each for path in folders.keys() - known.keys() for each in folders[path]}
    try:
        if folders:
            await _watch(store, reader, lanes, followed, folders, unread, pause)
            return folders
    except OSError as error:  # the system has no watches left, or a folder went meanwhile
        log.warning("followed folders are not watched, but read regularly: %s", error)
    await asyncio.sleep(pause)
    return folders


async def _followed(store: Ingest) -> Followed:
    try:
        locations = await store.locations()
        known = [each.location for each in locations if each.followed and each.here]
    except MemSearchError as error:
        log.warning("cannot list the followed locations now: %s", error)
        return {}
    # A path with a secret in it is not stored: only `sync` can read it.
    return {(each.source, each.path): each for each in known if MARKER not in each.path}


def _folders_of(followed: Followed) -> Folders:
    by_folder: dict[Path, set[Place]] = {}
    for (name, path), location in sorted(followed.items(), key=itemgetter(0)):
        try:
            source = sources.by_name(name)
        except InputError:  # its package is gone
            continue
        to_watch = getattr(source, "to_watch", None)  # a third party's may be older than this
        for folder in to_watch(location) if to_watch else ():
            by_folder.setdefault(folder, set()).add((name, path))
    return {path: frozenset(each) for path, each in [*by_folder.items()][:MAX_FOLDERS]}


async def _watch(
    store: Ingest,
    reader: LocationReader,
    lanes: Lanes,
    followed: Followed,
    folders: Folders,
    unread: set[Place],
    pause: float,
) -> None:
    """Read what is unread and what changes, until other folders are to be watched."""
    # Not awatch, which begins to watch at some time after it is called: changes would be lost.
    from watchfiles._rust_notify import RustNotify

    stop, loop = threading.Event(), asyncio.get_running_loop()
    executor = ThreadPoolExecutor(1, thread_name_prefix="watch")
    names = [str(path) for path in folders]
    notify = await asyncio.to_thread(RustNotify, names, False, False, 0, False, True)
    try:
        while True:
            if unread:
                started = time.monotonic()
                unread = _start_reading(reader, lanes, followed, unread)
                await lanes.wait(_PATIENCE)
                if await asyncio.to_thread(_folders_of, followed) != folders:
                    return
                await asyncio.sleep((time.monotonic() - started) * _REST)
            if await _followed(store) != followed:
                return
            changes: Any = await loop.run_in_executor(
                executor, notify.watch, _DEBOUNCE_MS, _STEP_MS, round(pause * 1000), stop
            )
            paths = set() if isinstance(changes, str) else {Path(path) for _, path in changes}
            places = {folder for path in paths for folder in (path, path.parent)}
            unread |= {each for place in places for each in folders.get(place, ())}
    finally:
        stop.set()
        executor.shutdown(wait=False)
        await asyncio.to_thread(notify.close)


def _start_reading(
    reader: LocationReader, lanes: Lanes, followed: Followed, unread: set[Place]
) -> set[Place]:
    """Begin to read; returns what waits, because its source still reads something else."""
    waiting: set[Place] = set()
    for source, places in groupby(sorted(unread), key=itemgetter(0)):
        mine = [*places]
        if not lanes.start(source, partial(_read, reader, [followed[each] for each in mine])):
            waiting.update(mine)
    return waiting


async def _read(reader: LocationReader, locations: Sequence[Location]) -> None:
    for location in locations:
        try:
            await reader.read(location)
        except MemSearchError as error:
            log.info("%s: %s", location.path, error)  # `mem-search stats` shows it
