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
from typing import Any, Final

from mem_search import sources
from mem_search.agents.base import folders_in
from mem_search.contracts import Machine, Source
from mem_search.errors import MemSearchError, NotFound, SourceError
from mem_search.ingest.crash_mark import CrashMark
from mem_search.ingest.writer import IngestWriter
from mem_search.jobs.kept_transcripts import KeptTranscripts
from mem_search.jobs.queue import Report
from mem_search.model import Batch, Location
from mem_search.model.ingest import IngestCounts
from mem_search.platform import expanded, spelled
from mem_search.sources.base import KEPT
from mem_search.sources.sent import described
from mem_search.storage.sql.ingest import Ingest
from mem_search.text.file_names import as_text, is_text
from mem_search.waiting import Lane, Steps

log = logging.getLogger(__name__)

STILL_SECONDS = 600.0
"""A reading that gives nothing for so long waits for a disk or a program that does not answer.
Sources give what they have every five seconds; one file may take three minutes, and a history of
a million commits five, until its first."""

ASIDE_SECONDS = 600.0
"""So long a worker serves before it reads a place again that may take it down. Two that were killed
in a row for another reason do not keep a place from being followed."""

_LARGE = 50
"""Records; after a batch of fewer, searches have little to catch up with."""


LOOK_SECONDS = 30.0
"""For a look at a path that somebody named; a disk may have to start."""

PLACES = Lane("places", most=16)
"""For looks at paths that are read."""


async def _at_once() -> None:
    """Give way to nobody."""


class LocationReader:
    """Reads locations into one store, each location in one reading at a time.

    ``give_way`` is awaited after each large batch, for searches that are under way.
    """

    def __init__(
        self,
        store: Ingest,
        writer: IngestWriter,
        mark: CrashMark,
        kept: KeptTranscripts | None = None,
        give_way: Callable[[], Awaitable[None]] = _at_once,
        still_seconds: float = STILL_SECONDS,
    ) -> None:
        self._store = store
        self._writer = writer
        self._mark = mark
        self.kept = kept
        self._give_way = give_way
        self._still_seconds = still_seconds
        self._waiting: dict[tuple[str, str], Steps[Batch]] = {}
        """Readings that were given up, and whose thread still waits for something."""
        self._locks: dict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)
        self._since = time.monotonic()
        self._read_before: set[tuple[str, str]] = set()
        """Places that this worker has read, and lived."""
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
        seen: Callable[[Batch], None] = lambda _: None,
    ) -> IngestCounts:
        """Store what is new since the stored cursor (``again``: everything).

        ``follow``: follow the location from now on, if its source says that it grows. ``named``: a
        person typed the path, so a location that could never be read is not remembered. ``upload``
        is the file to read when the location is one that was uploaded: its path is then only a
        name, and no message shows where the file is. Items that are ``left_out`` become failed
        entries of the ledger. Records that were forgotten are stored again if ``even_forgotten``.
        What a ``job`` had read before it was interrupted is counted, too. ``seen`` is called with
        each batch before it is stored. Raises SourceError when the location cannot be read; what
        was stored before stays.
        """
        source = sources.by_name(location.source)
        await _check_place(location)
        to_read = location
        if upload is not None:
            to_read = replace(location, path=str(upload), upload=location.path)
        key = location.source, location.path
        async with self._locks[key], AsyncExitStack() as stack:
            self._check_waiting(location)
            stored = await self._writer.named(location)
            if again and self.kept is not None and upload is None:
                gone = await asyncio.to_thread(self.kept.unpack, location)
                if gone is not None:
                    stack.callback(gone.cleanup)
                    to_read = replace(location, options={**location.options, KEPT: gone.name})
            cursor = await self._writer.cursor(location, stored)
            if again:  # a third party's source may be older than this method
                cursor = source.again(cursor) if hasattr(source, "again") else {}
            before = await self._store.counted(stored, job) if job else IngestCounts()
            now = IngestCounts()
            total = now.after(before, from_the_start=not cursor)
            is_unchanged = True
            # A path with a secret in it is not stored, so that only who names it can read it.
            followed = follow and source.follows and stored.path == location.path
            by_job = report is not None
            try:
                if not by_job:
                    left_out = self._set_aside(location)
                with self._mark.reading(location, by_job=by_job) as mark:
                    # Following writes nothing while nothing changes, but for the first time: what
                    # took the last worker down may do it again, before an item is known.
                    if by_job or key not in self._read_before:
                        mark("", 0)
                    if report is not None:
                        message = f"{_named(location)}: looking for what is new"
                        await report(0, 0, message, begins=True)
                    start = partial(read_batches, source, location, to_read, cursor)
                    steps = Steps(start, f"read {location.source}")
                    stack.callback(steps.end)
                    while (batch := await self._next(steps, location)) is not None:
                        continues, is_unchanged = is_unchanged and bool(cursor), False
                        others = (
                            await self._other_projects(location) if batch.shared else frozenset()
                        )
                        take = partial(
                            self._writer.take,
                            stored,
                            followed=followed,
                            others=others,
                            left_out=left_out,
                            at=partial(mark, done=batch.done),
                            job=job,
                        )
                        batch = replace(batch, even_forgotten=even_forgotten)
                        seen(batch)
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
                self._read_before.add(key)
                if is_unchanged:
                    await self._store.note_unchanged(stored, followed=followed)
                if self.kept is not None and upload is None:
                    await self.kept.keep(location, changed=not is_unchanged)
            except Exception as fault:
                error = fault if isinstance(fault, MemSearchError) else _internal(location, fault)
                if upload is not None:
                    shown = error.message.replace(str(upload), location.path)
                    error.message = shown.replace(str(upload.parent), "the upload's folder")
                self._read_before.add(key)
                await self._store.note_error(stored, error.message, followed=followed and not named)
                if error is fault:
                    raise
                raise error from fault
        return total

    async def _next(self, steps: Steps[Batch], location: Location) -> Batch | None:
        """The next batch. Raises SourceError when it does not come."""
        try:
            return await steps.next(self._still_seconds)
        except TimeoutError:
            self._waiting[location.source, location.path] = steps
            raise SourceError(
                f"nothing was read from {location.path} for {self._still_seconds:g} s: it does not"
                " answer; what was stored stays, and the next reading goes on"
            ) from None

    def _check_waiting(self, location: Location) -> None:
        """Raises SourceError while an earlier reading still waits: another would wait as well."""
        waiting = self._waiting.get((location.source, location.path))
        if waiting is not None and waiting.is_running:
            raise SourceError(
                f"an earlier reading of {location.path} still waits for something there that does"
                " not answer; restart the worker once it does"
            )
        self._waiting.pop((location.source, location.path), None)

    def _set_aside(self, location: Location) -> list[str]:
        """What following leaves out. Raises SourceError for a while, if it is not known what."""
        aside = [
            place
            for place in self._mark.set_aside(by_job=False)
            if (place.source, place.path) == (location.source, location.path)
        ]
        if any(not place.item for place in aside):
            if time.monotonic() - self._since < ASIDE_SECONDS:
                raise SourceError(
                    "the worker ended twice while it read this location, so it is read again only"
                    f" after {ASIDE_SECONDS / 60:.0f} minutes; at once: mem-search sync"
                )
            aside = [place for place in aside if place.item]
        return [place.item for place in aside]

    def forget_deaths(self, location: Location) -> None:
        """Follow the location again, over which workers died: what did it is not there any more."""
        for place in [*self._mark.deaths]:
            if (place.source, place.path) == (location.source, location.path):
                self._mark.forget(place)

    async def _other_projects(self, location: Location) -> frozenset[str]:
        """The projects of the other followed locations of the same source that still exist."""
        known = await self._store.locations()
        others = [
            other.location
            for other in known
            if other.followed and other.location.source == location.source
            and other.location.path != location.path
        ]  # fmt: skip
        look = partial(_existing_projects, others)
        return await PLACES.run(look, seconds=LOOK_SECONDS, otherwise=frozenset())

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

    async def find(self, machine: Machine, name: str, path: str) -> list[Location]:
        """As ``find_locations``. Raises SourceError also where the disk does not answer."""
        machine = replace(machine, projects=tuple(await self._store.project_folders()))
        look = partial(find_locations, machine, name, path)
        locations = await PLACES.run(look, seconds=LOOK_SECONDS, otherwise=None)
        if locations is None:
            raise SourceError(f"the disk of {path or machine.cwd} does not answer", field="path")
        return locations

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


def read_batches(
    source: Source, location: Location, to_read: Location, cursor: Mapping[str, Any]
) -> Iterator[Batch]:
    """What the source reads. Raises SourceError for a bug in it, which must not stop others."""
    try:
        batches = source.read(to_read, cursor)
        is_told = location.options and to_read.upload and location.source != "files"
        yield from described(batches, location.options) if is_told else batches
    except MemSearchError:
        raise
    except Exception as error:
        raise _internal(location, error) from error


def _internal(location: Location, error: Exception) -> SourceError:
    """A bug in one source, or over one location, in words; the log has the traceback."""
    log.error("source %s failed on %s", location.source, location.path, exc_info=error)
    why = f"{type(error).__name__}: {error}"
    return SourceError(f"internal error in source {location.source}: {why}")


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


async def _check_place(location: Location) -> None:
    """Raises SourceError for a name that cannot be stored, for a pipe, a socket or a device:
    reading it may never end; and where nothing answers.
    """
    if not is_text(location.path):
        raise SourceError(f"{as_text(location.path)} is not UTF-8; rename it", field="path")
    mode = await PLACES.run(_mode, location.path, seconds=LOOK_SECONDS, otherwise=-1)
    if mode == -1:
        raise SourceError(f"the disk of {location.path} does not answer", field="path")
    if mode and not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise SourceError(
            f"{location.path} is neither a file nor a folder; save what it gives to a file, and"
            " add that",
            field="path",
        )


def _mode(path: str) -> int:
    """What kind of file it is; 0 for no path, or nothing there: its source says so."""
    try:
        return Path(expanded(path)).stat().st_mode
    except (OSError, ValueError, RuntimeError):
        return 0


def _named(location: Location) -> str:
    return f"{location.source} {location.label or Path(location.path).name}"


def find_locations(machine: Machine, name: str = "", path: str = "") -> list[Location]:
    """The location at ``path`` of the source ``name``; without a path, those that the source finds.

    Without a name, those of every source that reads something there or finds something.
    """
    if path and (source := sources.by_url(path)) is not None:
        return [source.locate(path)]
    if path:
        place = Path(spelled(expanded(path)))
        names = [name] if name else _keepers(machine, place) or sources.names_at(place)
        return [sources.by_name(each).locate(str(place)) for each in names]
    wanted = [sources.by_name(name)] if name else list(sources.installed())
    return [location for source in wanted for location in source.discover(machine)]


_OF_WHAT_PEOPLE_WRITE: Final = ("git", "agent-memory")
"""Sources that find folders which have documents as well."""


def _keepers(machine: Machine, place: Path) -> list[str]:
    """The sources of programs that keep ``place`` for themselves: no file in it is a document."""
    return [
        each.name
        for each in sources.installed()
        if each.name not in _OF_WHAT_PEOPLE_WRITE
        for location in each.discover(machine)
        if place.is_dir() and place.is_relative_to(spelled(location.path))
    ]


def machine_from(params: Mapping[str, Any], environ: Mapping[str, str]) -> Machine:
    """The machine with the working directory of the caller and the environment of the worker, in
    which the caller says where agents have their folders.
    """
    environ = {**environ, **folders_in(params.get("environ"))}
    home = Path(environ.get("HOME") or Path.home())
    return Machine(home=home, cwd=Path(params.get("cwd") or home), environ=environ)
