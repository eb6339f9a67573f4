"""The jobs of a worker: read locations, import a file, compare or rebuild the vector index."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from mem_search.background import each_in_turn
from mem_search.errors import MemSearchError, NotFound, SourceError
from mem_search.ingest.crash_mark import CrashMark
from mem_search.ingest.indexer import Indexer
from mem_search.jobs.queue import JobQueue, Report
from mem_search.jobs.reader import LocationReader, machine_from
from mem_search.model import LedgerEntry, Location
from mem_search.model.ingest import IngestCounts
from mem_search.sources.base import UPLOADED
from mem_search.storage.sql.ingest import Ingest
from mem_search.storage.store import Store

MAX_NAMED = 50
"""Records of one uploaded file that the result of its job names, the first ones."""

PATIENCE_SECONDS = 10.0
"""So long the next source waits for the one before it; a slow one goes on beside it."""


class SyncJob:
    """Read every location that is found. One that fails is reported; the others are still read."""

    name = "sync"

    def __init__(self, reader: LocationReader) -> None:
        self._reader = reader

    async def run(self, params: Mapping[str, Any], report: Report) -> Mapping[str, Any]:
        """``source`` and ``path`` say what to read, else everything; git looks in ``cwd``."""
        machine = machine_from(params, os.environ)
        path = params.get("path", "")
        locations = await self._reader.find(machine, params.get("source", ""), path)
        if not locations:
            raise NotFound(
                "found nothing to read on this machine; say where: mem-search sync SOURCE PATH"
            )
        read: dict[int, dict[str, Any]] = {}
        works = [
            partial(self._read, list(places), params, report, read)
            for _, places in groupby(locations, lambda each: each.source)
        ]
        await each_in_turn(works, PATIENCE_SECONDS)
        if not path:
            # What was read names projects, in whose folders agents keep something as well.
            known = {(each.source, each.path) for each in locations}
            all_locations = await self._reader.find(machine, params.get("source", ""), path)
            more = [each for each in all_locations if (each.source, each.path) not in known]
            await self._read(more, params, report, read)
            locations += more
        entries = [read[id(each)] for each in locations]
        errors = [f"{each['source']} {each['path']}: {each['error']}" for each in entries
                  if "error" in each]  # fmt: skip
        if len(errors) == len(locations):
            raise SourceError("; ".join(errors))
        return {"locations": entries, "errors": errors}

    async def _read(
        self,
        places: list[Location],
        params: Mapping[str, Any],
        report: Report,
        read: dict[int, dict[str, Any]],
    ) -> None:
        """Read locations of one source; what became of each goes into ``read``."""
        for location in places:
            entry = read[id(location)] = {"source": location.source, "path": location.path}
            try:
                taken = await self._reader.read(
                    location,
                    report,
                    again=bool(params.get("again")),
                    named=bool(params.get("path")),
                    left_out=left_out(params, location),
                    job=str(params.get("job", "")),
                )
            except MemSearchError as error:
                entry["error"] = error.message
            else:
                entry |= asdict(taken)


class ImportJob:
    """Read one file of one source from its start, once: an imported file is not followed.

    ``spooled`` names the copy of an upload in ``spool_dir``, which the queue removes afterwards;
    ``path`` is then its original name, and ``options`` what was said about the document.
    """

    name = "import"

    def __init__(self, reader: LocationReader, store: Store, spool_dir: Path) -> None:
        self._reader = reader
        self._store = store
        self._spool = spool_dir

    async def run(self, params: Mapping[str, Any], report: Report) -> Mapping[str, Any]:
        even_forgotten = bool(params.get("even_forgotten"))
        if spooled := params.get("spooled"):
            options = dict(params.get("options", {}))
            location = Location(str(params["source"]), str(params["path"]), options=options)
            file, held = self._spool / str(spooled), list[tuple[str, str]]()
            if not await asyncio.to_thread(file.exists):
                raise SourceError(
                    f"the upload {location.path} is not kept any more: one that failed stays for a"
                    " day; send the file again"
                )
            taken = await self._reader.read(
                location,
                report,
                again=True,
                follow=False,
                upload=file,
                left_out=left_out(params, location),
                job=str(params.get("job", "")),
                even_forgotten=even_forgotten,
                seen=lambda batch: held.extend(
                    (each.source, each.source_id) for each in batch.drafts[: MAX_NAMED - len(held)]
                ),
            )
            await self._reader.forget_cursor(location)
            if location.source == "files" and "source_id" in options:
                return {**_read(location, taken), "document": await self._document(location)}
            if taken == IngestCounts(failed=taken.failed):
                await self._raise_refusal(location)
            return {**_read(location, taken), **await self._named(held)}
        machine = machine_from(params, os.environ)
        (location,) = await self._reader.find(machine, str(params["source"]), str(params["path"]))
        taken = await self._reader.read(
            location,
            report,
            again=True,
            follow=False,
            left_out=left_out(params, location),
            job=str(params.get("job", "")),
            even_forgotten=even_forgotten,
        )
        return _read(location, taken)

    async def _named(self, held: Sequence[tuple[str, str]]) -> Mapping[str, Any]:
        """The refs of the records that were sent in one file: ``document`` is the first."""
        records = [await self._store.records.named(*each) for each in held]
        refs = list(dict.fromkeys(str(each.ref) for each in records if each is not None))
        several = {"documents": refs} if refs[1:] else {}
        return {"document": refs[0], **several} if refs else {}

    async def _document(self, location: Location) -> str:
        """The ref of the document that was sent. Raises SourceError with the reason for none."""
        known = await self._store.records.named(
            location.options.get("source", UPLOADED), location.options["source_id"]
        )
        await self._raise_refusal(location)
        if known is None:
            raise SourceError(f"{location.path} was not stored; see: mem-search ledger")
        return str(known.ref)

    async def _raise_refusal(self, location: Location) -> None:
        """Raise SourceError with the reason, if the ledger says that the file itself is refused."""
        rows = await self._store.ingest.ledger(location.source, location.path, 500, 0)
        mine = [row for row in rows if row.location == location.path == row.item]
        if mine and mine[0].outcome in ("left", "failed"):
            raise SourceError(f"{location.path}: {mine[0].reason}")


def left_out(params: Mapping[str, Any], location: Location) -> list[str]:
    """The items of the location that a retried job leaves out."""
    return [
        item
        for source, path, item in params.get("left_out", ())
        if (source, path) == (location.source, location.path)
    ]


async def set_aside(mark: CrashMark, queue: JobQueue, store: Ingest) -> None:
    """Before jobs start: set aside the one that took two workers down, and name the item."""
    for place in mark.set_aside(by_job=True):
        item = {"source": place.source, "path": place.path, "item": place.item}
        if job := await queue.set_aside(item, str(place)):
            reason = (
                "the worker ended twice while it read this; to try again:"
                f" mem-search jobs {job} --retry, to leave it out: add --without-item"
            )
            entry = LedgerEntry(place.item or f"after {place.done}", "failed", reason)
            await store.note_items(Location(place.source, place.path), [entry])
        mark.forget(place)


def _read(location: Location, taken: IngestCounts) -> Mapping[str, Any]:
    return {"locations": [{"source": location.source, "path": location.path, **asdict(taken)}]}


class AuditJob:
    """Compare the index with the store; add what is missing to it and remove what is extra.

    Before that, what is derived from the records is compared with them and made again.
    """

    name = "audit"

    def __init__(self, store: Store, indexer: Indexer) -> None:
        self._store, self._indexer = store, indexer

    async def run(self, params: Mapping[str, Any], report: Report) -> Mapping[str, Any]:
        mended = await self._store.mend(deep=True)
        await self._indexer.ready()
        audit = await self._indexer.audit()
        return {"missing": audit.missing, "extra": audit.extra, "mended": mended}


class RebuildJob:
    """Empty the index and fill it from the stored vectors; nothing is embedded again."""

    name = "rebuild"

    def __init__(self, indexer: Indexer) -> None:
        self._indexer = indexer

    async def run(self, params: Mapping[str, Any], report: Report) -> Mapping[str, Any]:
        await self._indexer.ready()
        return {"queued": await self._indexer.rebuild()}
