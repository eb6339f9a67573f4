"""Reading a location into the store, batch by batch. Used by sync, import and following.

A location is read by one reader at a time; a source's iterator runs in threads and never blocks
the event loop.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from mem_search import sources
from mem_search.contracts import Machine
from mem_search.errors import InputError, MemSearchError
from mem_search.ingest.intake import Intake, Taken
from mem_search.jobs.queue import Report
from mem_search.model import Location
from mem_search.storage.sqlite import intake as intake_sql
from mem_search.storage.sqlite.database import Database


class Reader:
    """Reads locations into one store."""

    def __init__(self, database: Database, intake: Intake) -> None:
        self._database = database
        self._intake = intake
        self._locks: dict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)

    async def read(
        self, location: Location, report: Report | None = None, *, again: bool = False
    ) -> Taken:
        """Read what is new since the stored cursor (``again``: everything).

        Raises SourceError when the location cannot be read; what was stored before stays.
        """
        source = sources.by_name(location.source)
        async with self._locks[location.source, location.path]:
            cursor = {} if again else await self._database.read(intake_sql.cursor, location)
            total = Taken()
            try:
                batches = await asyncio.to_thread(source.read, location, cursor)
                while (batch := await asyncio.to_thread(next, batches, None)) is not None:
                    total += await self._intake.take(location, batch, followed=source.follows)
                    if report is not None:
                        await report(batch.done, batch.total, describe(location, total))
            except MemSearchError as error:
                await self._database.write(
                    intake_sql.save_error, location, error.message, followed=source.follows
                )
                raise
        return total


def describe(location: Location, taken: Taken) -> str:
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
        return [Location(sources.by_name(name).name, str(Path(path).expanduser().resolve()))]
    wanted = [sources.by_name(name)] if name else list(sources.installed())
    return [location for source in wanted for location in source.discover(machine)]


def machine_from(params: Mapping[str, str], environ: Mapping[str, str]) -> Machine:
    """The machine as the caller sees it: its working directory, the worker's environment."""
    home = Path(environ.get("HOME") or Path.home())
    return Machine(home=home, cwd=Path(params.get("cwd") or home), environ=environ)
