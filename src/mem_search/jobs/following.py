"""Reading followed locations again and again: what grew there since is stored."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable
from functools import partial
from typing import Final

from mem_search import sources
from mem_search.errors import InputError, MemSearchError
from mem_search.jobs.lanes import Lanes
from mem_search.jobs.reader import LocationReader
from mem_search.model import Location
from mem_search.model.ingest import FollowedLocation
from mem_search.storage.sql.ingest import Ingest

log = logging.getLogger(__name__)

MAX_PAUSE_CHARS: Final = 3600.0
"""Seconds until a location that failed again and again is tried once more."""


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
                if each.followed and each.here and "[redacted:" not in each.location.path:
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
            self._due[place] = now + min(pause * 2**failures, MAX_PAUSE_CHARS), failures


def _pause(location: Location) -> float:
    """Seconds between two readings; 0 for each round."""
    try:
        source = sources.by_name(location.source)
    except InputError:  # its package is gone
        return 0.0
    return source.pause(location) if hasattr(source, "pause") else 0.0  # it may be older than this
