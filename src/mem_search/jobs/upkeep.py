"""Jobs on the vector index: compare it with the store, or fill it anew."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mem_search.ingest.indexer import Indexer
from mem_search.jobs.queue import Report


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
