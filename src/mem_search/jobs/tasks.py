"""Jobs on the vector index: compare it with the store, or fill it anew."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mem_search.errors import MemSearchError, NotFound, SourceError
from mem_search.ingest.indexer import Indexer
from mem_search.ingest.writer import IngestCounts
from mem_search.jobs.queue import Report
from mem_search.jobs.reader import LocationReader, find, machine_from
from mem_search.model import Location


class SyncJob:
    """Read every location found; one that fails is named and the others go on."""

    name = "sync"

    def __init__(self, reader: LocationReader) -> None:
        self._reader = reader

    async def run(self, params: Mapping[str, Any], report: Report) -> Mapping[str, Any]:
        """``source``, ``path`` narrow it down; ``cwd`` is where git is looked for."""
        machine = machine_from(params, os.environ)
        path = params.get("path", "")
        locations = find(machine, params.get("source", ""), path)
        if not locations:
            raise NotFound(
                "found nothing to read on this machine; name it: mem-search sync SOURCE PATH"
            )
        read: list[dict[str, Any]] = []
        errors: list[str] = []
        for location in locations:
            entry: dict[str, Any] = {"source": location.source, "path": location.path}
            try:
                taken = await self._reader.read(
                    location, report, again=bool(params.get("again")), named=bool(path)
                )
            except MemSearchError as error:
                entry["error"] = error.message
                errors.append(f"{location.source} {location.path}: {error.message}")
            else:
                entry |= asdict(taken)
            read.append(entry)
        if len(errors) == len(locations):
            raise SourceError("; ".join(errors))
        return {"locations": read, "errors": errors}


class ImportJob:
    """Read one file of one source, whole: what a person hands over is not followed.

    ``spooled`` names our own copy of an upload in the folder ``spool``, removed once it was read;
    ``path`` is then no path, but what whoever sent it calls it.
    """

    name = "import"

    def __init__(self, reader: LocationReader, spool: Path) -> None:
        self._reader = reader
        self._spool = spool

    async def run(self, params: Mapping[str, Any], report: Report) -> Mapping[str, Any]:
        if spooled := params.get("spooled"):
            location = Location(str(params["source"]), str(params["path"]))
            file = self._spool / str(spooled)
            taken = await self._reader.read(location, report, again=True, follow=False, at=file)
            await self._reader.discard(location, file)
            return _read(location, taken)
        (location,) = find(
            machine_from(params, os.environ), str(params["source"]), str(params["path"])
        )
        taken = await self._reader.read(location, report, again=True, follow=False)
        return _read(location, taken)


def _read(location: Location, taken: IngestCounts) -> Mapping[str, Any]:
    return {"locations": [{"source": location.source, "path": location.path, **asdict(taken)}]}


class AuditJob:
    """Set difference between store and index; what differs is queued or removed."""

    name = "audit"

    def __init__(self, indexer: Indexer) -> None:
        self._indexer = indexer

    async def run(self, params: Mapping[str, Any], report: Report) -> Mapping[str, Any]:
        await self._indexer.ready()
        found = await self._indexer.audit()
        return {"missing": found.missing, "extra": found.extra}


class RebuildJob:
    """Empty the index and refill it from stored vectors; nothing is embedded again."""

    name = "rebuild"

    def __init__(self, indexer: Indexer) -> None:
        self._indexer = indexer

    async def run(self, params: Mapping[str, Any], report: Report) -> Mapping[str, Any]:
        await self._indexer.ready()
        return {"queued": await self._indexer.rebuild()}
