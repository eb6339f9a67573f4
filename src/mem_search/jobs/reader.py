"""Keeping followed locations fresh while the worker runs."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from mem_search import sources
from mem_search.contracts import Machine
from mem_search.errors import InputError, MemSearchError, NotFound, SourceError
from mem_search.ingest.writer import IngestCounts, IngestWriter
from mem_search.jobs.queue import Report
from mem_search.model import Batch, Location
from mem_search.storage.sqlite import ingest_state
from mem_search.storage.sqlite import ingest_state as intake_sql
from mem_search.storage.sqlite.database import Database

log = logging.getLogger(__name__)


class LocationReader:
    """Reads locations into one store."""

    def __init__(self, database: Database, intake: IngestWriter) -> None:
        self._database = database
        self._intake = intake
        self._locks: dict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)

    async def read(
        self,
        location: Location,
        report: Report | None = None,
        *,
        again: bool = False,
        follow: bool = True,
        at: Path | None = None,
        named: bool = False,
    ) -> IngestCounts:
        """Read what is new since the stored cursor (``again``: everything).

        ``follow`` keeps a location that grows fresh from now on. ``named`` by a person, it may be
        a slip: one that could never be read is not kept. ``at`` is where it lies for the time
        being, of which nobody is told; else it lies at its path. Raises SourceError when the
        location cannot be read; what was stored before stays.
        """
        source = sources.by_name(location.source)
        lying = location if at is None else replace(location, path=str(at))
        async with self._locks[location.source, location.path]:
            cursor = {} if again else await self._database.read(intake_sql.cursor, location)
            total = IngestCounts()
            quiet = True
            followed = follow and source.follows
            try:
                batches = await asyncio.to_thread(source.read, lying, cursor)
                while (batch := await asyncio.to_thread(_next, batches, location)) is not None:
                    quiet = False
                    others = await self._other_projects(location) if batch.shared else frozenset()
                    total += await self._intake.take(
                        location, batch, followed=followed, others=others
                    )
                    if report is not None:
                        await report(batch.done, batch.total, describe(location, total))
                if quiet:
                    await self._database.write(intake_sql.save_quiet, location, followed=followed)
            except MemSearchError as error:
                error.message = error.message.replace(lying.path, location.path)
                await self._database.write(
                    intake_sql.save_error, location, error.message, followed=followed and not named
                )
                raise
        return total

    async def _other_projects(self, location: Location) -> frozenset[str]:
        """What other followed places of the same source are called, if they are still there."""
        known = await self._database.read(intake_sql.locations)
        others = [
            other.location
            for other in known
            if other.followed and other.location.source == location.source
            and other.location.path != location.path
        ]  # fmt: skip
        return await asyncio.to_thread(_projects_there, others)

    async def unfollow(self, location: Location) -> None:
        """Look at the location no more; its records stay. Raises NotFound for an unknown one."""
        async with self._locks[location.source, location.path]:
            if not await self._database.write(intake_sql.drop_cursor, location):
                raise NotFound(
                    f"{location.source} {location.path} has not been read; "
                    "`mem-search stats` and GET /api/stats list what has",
                    field="path",
                )

    async def discard(self, location: Location, file: Path) -> None:
        """Remove a ``file`` of ours that was handed over once as ``location``."""
        await self._database.write(intake_sql.drop_cursor, location)
        await asyncio.to_thread(file.unlink, missing_ok=True)


def _projects_there(locations: Iterable[Location]) -> frozenset[str]:
    there = [location for location in locations if Path(location.path).exists()]
    return frozenset(location.label or Path(location.path).name for location in there)


def _next(batches: Iterator[Batch], location: Location) -> Batch | None:
    try:
        return next(batches, None)
    except MemSearchError:
        raise
    except Exception as error:
        # A bug in one source must stop neither the others nor following; it is logged whole.
        log.exception("source %s failed on %s", location.source, location.path)
        raise SourceError(
            f"internal error in source {location.source}: {type(error).__name__}: {error}"
        ) from error


def describe(location: Location, taken: IngestCounts) -> str:
    """``git mem-search: 120 new, 3 changed``."""
    name = location.label or Path(location.path).name
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
    return f"{location.source} {name}: {', '.join(counts) or 'nothing new'}"


def find(machine: Machine, name: str = "", path: str = "") -> list[Location]:
    """The locations to read: one given by path, or all that a source (or every one) discovers."""
    if path:
        if not name:
            raise InputError("a path needs its source: sync SOURCE PATH", field="source")
        return [sources.by_name(name).locate(str(Path(path).expanduser().resolve()))]
    wanted = [sources.by_name(name)] if name else list(sources.installed())
    return [location for source in wanted for location in source.discover(machine)]


def machine_from(params: Mapping[str, str], environ: Mapping[str, str]) -> Machine:
    """The machine as the caller sees it: its working directory, the worker's environment."""
    home = Path(environ.get("HOME") or Path.home())
    return Machine(home=home, cwd=Path(params.get("cwd") or home), environ=environ)


log = logging.getLogger(__name__)


async def follow(database: Database, reader: LocationReader, seconds: float) -> None:
    """Look at every followed location each ``seconds``, until cancelled. 0 never looks."""
    while seconds:
        await asyncio.sleep(seconds)
        try:
            known = await database.read(ingest_state.locations)
        except MemSearchError as error:
            log.warning("following waits: %s", error)
            continue
        for followed in known:
            if not followed.followed:
                continue
            try:
                await reader.read(followed.location)
            except MemSearchError as error:
                # Said once per reason: the ledger and `mem-search stats` keep the newest.
                if error.message != followed.error:
                    log.warning("%s: %s", followed.location.path, error)
