"""Reading locations into the store: once for a job, again and again for those that are followed.

To *read* a location is to store what is new in it since the last reading. To *follow* it is to
read it again every ``MEM_SEARCH_FOLLOW`` seconds while the worker runs. ``sync`` reads, and
follows locations that grow; ``import`` reads only; ``unfollow`` stops.
"""

from __future__ import annotations

import asyncio
import logging
import stat
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

from mem_search import sources
from mem_search.contracts import Machine
from mem_search.errors import InputError, MemSearchError, NotFound, SourceError
from mem_search.ingest.crash_mark import CrashMark
from mem_search.ingest.writer import IngestWriter
from mem_search.jobs.kept_transcripts import KeptTranscripts
from mem_search.jobs.queue import Report
from mem_search.model import Batch, Location
from mem_search.model.ingest import IngestCounts
from mem_search.sources.base import KEPT
from mem_search.storage.ports import IngestStore
from mem_search.text.file_names import as_text, is_text

log = logging.getLogger(__name__)

_LONGEST_PAUSE = 3600.0

_LARGE = 50
"""Records; after a batch of fewer, searches have little to catch up with."""


async def _at_once() -> None:
    """Give way to nobody."""


class LocationReader:
    """Reads locations into one store, each location in one reading at a time.

    ``give_way`` is awaited after each large batch, for searches that are under way.
    """

    def __init__(
        self,
        store: IngestStore,
        writer: IngestWriter,
        mark: CrashMark,
        kept: KeptTranscripts | None = None,
        give_way: Callable[[], Awaitable[None]] = _at_once,
    ) -> None:
        self._store = store
        self._writer = writer
        self._mark = mark
        self.kept = kept
        self._give_way = give_way
        self._locks: dict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)
        self._releasing = asyncio.Lock()
        """Of two locations that release the same record at once, the second knows of the first."""

    async def read(
        self,
        location: Location,
        report: Report | None = None,
        *,
        again: bool = False,
        follow: bool = True,
        upload: Path | None = None,
        named: bool = False,
        left_out: Collection[str] = (),
        even_forgotten: bool = False,
        job: str = "",
    ) -> IngestCounts:
        """Store what is new since the stored cursor (``again``: everything).

        ``follow``: follow the location from now on, if its source says that it grows. ``named``: a
        person typed the path, so a location that could never be read is not remembered. ``upload``
        is the file to read when the location is one that was uploaded: its path is then only a
        name, and no message shows where the file is. Items that are ``left_out`` become failed
        entries of the ledger. Records that were forgotten are stored again if ``even_forgotten``.
        What a ``job`` had read before it was interrupted is counted, too. Raises SourceError when
        the location cannot be read; what was stored before stays.
        """
        source = sources.by_name(location.source)
        _check_place(location)
        to_read = location
        if upload is not None:
            to_read = replace(location, path=str(upload), upload=location.path)
        async with self._locks[location.source, location.path], AsyncExitStack() as stack:
            if again and self.kept is not None and upload is None:
                gone = await asyncio.to_thread(self.kept.unpack, location)
                if gone is not None:
                    stack.callback(gone.cleanup)
                    to_read = replace(location, options={**location.options, KEPT: gone.name})
            cursor = {} if again else await self._store.cursor(location)
            before = await self._store.counted(location, job) if job else IngestCounts()
            now = IngestCounts()
            total = now.after(before, from_the_start=not cursor)
            is_unchanged = True
            followed = follow and source.follows
            by_job = report is not None
            try:
                if not by_job:
                    left_out = self._set_aside(location)
                with self._mark.reading(location, by_job=by_job) as mark:
                    if report is not None:  # following writes nothing while nothing changes
                        mark("", 0)
                        message = f"{_named(location)}: looking for what is new"
                        await report(0, 0, message, begins=True)
                    batches = await asyncio.to_thread(source.read, to_read, cursor)
                    while (batch := await asyncio.to_thread(_next, batches, location)) is not None:
                        continues, is_unchanged = is_unchanged and bool(cursor), False
                        others = (
                            await self._other_projects(location) if batch.shared else frozenset()
                        )
                        take = partial(
                            self._writer.take,
                            location,
                            followed=followed,
                            others=others,
                            left_out=left_out,
                            at=partial(mark, done=batch.done),
                            job=job,
                        )
                        batch = replace(batch, even_forgotten=even_forgotten)
                        if batch.released:
                            async with self._releasing:
                                now += await take(await self._without_kept(location, batch))
                        else:
                            now += await take(batch)
                        if len(batch.drafts) >= _LARGE:
                            await self._give_way()
                        total = now.after(before, from_the_start=not cursor)
                        if report is not None:
                            message = progress_message(location, total)
                            await report(batch.done, batch.total, message, begins=continues)
                if is_unchanged:
                    await self._store.note_unchanged(location, followed=followed)
                if self.kept is not None and upload is None:
                    await self.kept.keep(location, changed=not is_unchanged)
            except MemSearchError as error:
                if upload is not None:
                    shown = error.message.replace(str(upload), location.path)
                    error.message = shown.replace(str(upload.parent), "the upload's folder")
                await self._store.note_error(
                    location, error.message, followed=followed and not named
                )
                raise
        return total

    def _set_aside(self, location: Location) -> list[str]:
        """What following leaves out. Raises SourceError when it is not known what it was."""
        aside = [
            place
            for place in self._mark.set_aside(by_job=False)
            if (place.source, place.path) == (location.source, location.path)
        ]
        if any(not place.item for place in aside):
            raise SourceError(
                "the worker ended twice while it read this location, so it is not followed now"
            )
        return [place.item for place in aside]

    async def _other_projects(self, location: Location) -> frozenset[str]:
        """The projects of the other followed locations of the same source that still exist."""
        known = await self._store.locations()
        others = [
            other.location
            for other in known
            if other.followed and other.location.source == location.source
            and other.location.path != location.path
        ]  # fmt: skip
        return await asyncio.to_thread(_existing_projects, others)

    async def _without_kept(self, location: Location, batch: Batch) -> Batch:
        """``batch`` without the released records that another location of the source has."""
        source, released = sources.by_name(location.source), list(batch.released)
        for other in await self._store.locations():
            place = other.location
            if released and place.source == location.source and place.path != location.path:
                cursor = await self._store.cursor(place)
                kept = await asyncio.to_thread(source.having, cursor, released)
                released = [each for each in released if each not in kept]
        return replace(batch, released=tuple(released))

    async def unfollow(self, location: Location) -> None:
        """Stop following the location; its records stay. Raises NotFound for an unknown one."""
        async with self._locks[location.source, location.path]:
            if not await self.forget_cursor(location):
                raise NotFound(
                    f"{location.source} {location.path} has not been read; "
                    "`mem-search stats` and GET /api/stats list what has",
                    field="path",
                )

    async def forget_cursor(self, location: Location) -> bool:
        """Forget the cursor of the location; returns whether there was one."""
        return await self._store.drop_location(location)


def _existing_projects(locations: Iterable[Location]) -> frozenset[str]:
    existing = [location for location in locations if Path(location.path).exists()]
    return frozenset(location.label or Path(location.path).name for location in existing)


def _next(batches: Iterator[Batch], location: Location) -> Batch | None:
    try:
        return next(batches, None)
    except MemSearchError:
        raise
    except Exception as error:
        # A bug in one source must not stop the others; the log has the traceback.
        log.exception("source %s failed on %s", location.source, location.path)
        raise SourceError(
            f"internal error in source {location.source}: {type(error).__name__}: {error}"
        ) from error


def progress_message(location: Location, taken: IngestCounts) -> str:
    """``git mem-search: 120 new, 3 changed``."""
    counts = [
        f"{count} {word}"
        for word, count in (
            ("new", taken.new),
            ("changed", taken.changed),
            ("deleted", taken.deleted),
            ("failed", taken.failed),
        )
        if count
    ]
    return f"{_named(location)}: {', '.join(counts) or 'nothing new'}"


def _check_place(location: Location) -> None:
    """Raises SourceError for a name that cannot be stored, and for a pipe, a socket or a device:
    reading it may never end.
    """
    if not is_text(location.path):
        raise SourceError(f"{as_text(location.path)} is not UTF-8; rename it", field="path")
    try:
        mode = Path(location.path).expanduser().stat().st_mode
    except (OSError, ValueError, RuntimeError):  # no path, or not there: its source says so
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise SourceError(
            f"{location.path} is neither a file nor a folder; save what it gives to a file, and"
            " add that",
            field="path",
        )


def _named(location: Location) -> str:
    return f"{location.source} {location.label or Path(location.path).name}"


def find_locations(machine: Machine, name: str = "", path: str = "") -> list[Location]:
    """The location at ``path`` of the source ``name``; without a path, those that the source finds.

    Without a name, those of every source that reads something there or finds something.
    """
    if path and (source := sources.by_url(path)) is not None:
        return [source.locate(path)]
    if path:
        place = Path(path).expanduser().resolve()
        names = [name] if name else sources.at(place)
        return [sources.by_name(each).locate(str(place)) for each in names]
    wanted = [sources.by_name(name)] if name else list(sources.installed())
    return [location for source in wanted for location in source.discover(machine)]


def machine_from(params: Mapping[str, str], environ: Mapping[str, str]) -> Machine:
    """The machine with the working directory of the caller and the environment of the worker."""
    home = Path(environ.get("HOME") or Path.home())
    return Machine(home=home, cwd=Path(params.get("cwd") or home), environ=environ)


async def follow(store: IngestStore, reader: LocationReader, seconds: float) -> None:
    """Read every followed location again each ``seconds``, until cancelled; 0 turns this off."""
    pauses = Pauses()
    while seconds:
        await asyncio.sleep(seconds)
        try:
            known = await store.locations()
        except MemSearchError as error:
            log.warning("cannot list the followed locations now: %s", error)
            continue
        for followed in known:
            location = followed.location
            if not (followed.followed and followed.here) or "[redacted:" in location.path:
                continue  # a path with a secret in it is not stored: only `sync` can read it
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
            self._due[place] = now + min(pause * 2**failures, _LONGEST_PAUSE), failures


def _pause(location: Location) -> float:
    """Seconds between two readings; 0 for each round."""
    try:
        source = sources.by_name(location.source)
    except InputError:  # its package is gone
        return 0.0
    return source.pause(location) if hasattr(source, "pause") else 0.0  # it may be older than this
