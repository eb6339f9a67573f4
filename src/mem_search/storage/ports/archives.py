"""The port for archives of research: folders, schedules, and which report cites which page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from mem_search.model.archives import Archive
from mem_search.model.graph import PageCitation


class ArchiveStore(Protocol):
    """Archives by name, and the citations between records."""

    async def put(self, archive: Archive) -> None:
        """Store an archive; one of this name gets other folders, schedule and next run."""
        ...

    async def get(self, name: str) -> Archive | None: ...

    async def listed(self) -> list[Archive]:
        """Every archive, by name."""
        ...

    async def remove(self, name: str) -> bool:
        """Remove an archive; its records stay. False when there is none of this name."""
        ...

    async def note_run(self, name: str, at: int, statistics: Mapping[str, Any]) -> None:
        """An indexing of the archive ended ``at`` with these statistics."""
        ...

    async def set_next(self, name: str, next_at: int | None) -> None:
        """The next run of the archive's schedule."""
        ...

    async def references(self, numbers: Sequence[int], limit: int) -> list[PageCitation]:
        """What these records cite, in their order and in the order of their texts."""
        ...

    async def citations(self, number: int, limit: int) -> list[PageCitation]:
        """What cites the record, the newest report first."""
        ...

    async def citation_counts(self, project: str) -> tuple[int, int]:
        """How many pages the records of a project cite, and how many of those are stored."""
        ...
