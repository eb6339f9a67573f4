"""Archives of research: reading their two folders by hand, by a schedule, or as they change.

An archive is two locations, of the sources ``research-archive`` and ``url-archive``; its name is
the project of their records. The next run of a schedule is stored, so that a run that was due while
no worker ran is made at its next start.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from mem_search.background import Scheduler
from mem_search.errors import InputError, MemSearchError, NotFound
from mem_search.features.archives.model import Archive
from mem_search.features.archives.sql import ArchiveStore
from mem_search.jobs.queue import JobQueue, Report
from mem_search.jobs.reader import LocationReader
from mem_search.model import Location
from mem_search.model.ingest import IngestCounts
from mem_search.platform import spelled
from mem_search.sources.files.archives import PAGES, RESEARCH
from mem_search.storage.store import Store
from mem_search.text.dates import now_ms
from mem_search.text.schedules import next_run

log = logging.getLogger(__name__)

JOB: Final = "archive"
_RETRY_SECONDS: Final = 30.0


def locations(archive: Archive) -> list[Location]:
    """The folders of the archive, as the sources know them."""
    folders = ((RESEARCH, archive.research), (PAGES, archive.pages))
    return [Location(source, path, archive.name) for source, path in folders if path]


class ArchiveJob:
    """Read what changed in the folders of an archive; ``force`` reads every file again."""

    name = JOB

    def __init__(self, store: Store, reader: LocationReader) -> None:
        self._archives = store.part(ArchiveStore)
        self._ingest = store.ingest
        self._reader = reader

    async def run(self, params: Mapping[str, Any], report: Report) -> Mapping[str, Any]:
        """``name`` is that of the archive. The result are the statistics of the run."""
        archive = await self._archives.get(str(params["name"]))
        if archive is None:
            raise NotFound(f"there is no archive {params['name']!r}; `mem-search archive list`")
        started, total = time.monotonic(), IngestCounts()
        counts: Counter[str] = Counter()
        followed = {
            (each.location.source, each.location.path)
            for each in await self._ingest.locations()
            if each.followed
        }
        for location in locations(archive):
            total += await self._reader.read(location, report, follow=archive.watch)
            if params.get("force"):  # after the first reading, which knows what has gone
                total += await self._reader.read(location, report, again=True, follow=archive.watch)
            if not archive.watch and (location.source, location.path) in followed:
                await self._reader.forget_cursor(location)
                total += await self._reader.read(location, report, follow=False)
            cursor = await self._ingest.cursor(location)
            counts["files"] += len(cursor.get("files", ()))
            for _, outcome, count in await self._ingest.ledger_counts(location.path):
                counts[outcome] += count
        cited, stored = await self._archives.citation_counts(archive.name)
        statistics = {
            **asdict(total),
            "files": counts["files"],
            "left_out": counts["left"],
            "unreadable": counts["failed"],
            "cited_pages": cited,
            "cited_pages_stored": stored,
            "seconds": round(time.monotonic() - started, 3),
        }
        await self._archives.note_run(archive.name, now_ms(), statistics)
        return {"archive": archive.name, **statistics}


class Archives:
    """The archives of a store, and the schedules by which they are read."""

    def __init__(self, store: Store, jobs: JobQueue, reader: LocationReader) -> None:
        self._store = store.part(ArchiveStore)
        self._jobs = jobs
        self._reader = reader
        self._scheduler = Scheduler("archives", self._run_due, retry=_RETRY_SECONDS)

    async def put(self, archive: Archive) -> None:
        """Add an archive, or change the folders and the schedule of the one of this name.

        Raises InputError naming ``schedule``, or ``name`` without any folder.
        """
        if not locations(archive):
            raise InputError(
                f"there is no archive {archive.name!r} yet; name its folders to add it",
                field="researchPath",
            )
        next_at = next_run(archive.schedule, now_ms()) if archive.schedule else None
        await self._store.put(replace(archive, next_at=next_at))
        self._scheduler.wake()

    async def get(self, name: str) -> Archive | None:
        return await self._store.get(name)

    async def listed(self) -> list[Archive]:
        return await self._store.listed()

    async def remove(self, name: str) -> None:
        """Stop reading an archive; its records stay. Raises NotFound."""
        archive = await self._store.get(name)
        if archive is None or not await self._store.remove(name):
            raise NotFound(f"there is no archive {name!r}; `mem-search archive list` lists them")
        for location in locations(archive):
            await self._reader.forget_cursor(location)

    async def run(self) -> None:
        """Read archives when their schedules say so, until cancelled."""
        await self._scheduler.run()

    async def _run_due(self) -> int | None:
        now, waiting = now_ms(), []
        for archive in await self._store.listed():
            if archive.next_at is None:
                continue
            try:
                following = next_run(archive.schedule, now)
                if archive.next_at > following:  # of a clock that was ahead
                    await self._store.set_next(archive.name, following)
                if archive.next_at > now:
                    waiting.append(min(archive.next_at, following))
                    continue
                await self._jobs.submit(JOB, {"name": archive.name})
            except MemSearchError as error:
                log.warning("archive %s: %s", archive.name, error)
                continue
            await self._store.set_next(archive.name, following)
            waiting.append(following)
        return min(waiting, default=None)


def folder(path: str, field: str) -> str:
    """The folder as an absolute path. Raises InputError naming ``field``."""
    if not path:
        return ""
    given = Path(path)
    try:
        if given.is_absolute() and given.is_dir():
            return spelled(given)
        what = "is not a folder that exists" if given.is_absolute() else "is not an absolute path"
    except (OSError, ValueError) as error:  # too long, with a null character
        what = f"cannot be read: {error}"
    raise InputError(f"{path[:200]!r} {what}; write the whole path of a folder", field=field)
