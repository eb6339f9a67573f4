"""The port for archives of research: folders, schedules, and which report cites which page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from mem_search.model.archives import Archive, CitationReport
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

    async def references(self, numbers: Sequence[int], each: int) -> list[PageCitation]:
        """What these records cite, at most ``each``; by record, in the order of its text."""
        ...

    async def citations(self, numbers: Sequence[int], each: int) -> list[PageCitation]:
        """What cites these records, at most ``each``; by record, the newest report first."""
        ...

    async def page(self, names: Sequence[str], each: int) -> tuple[list[int], list[PageCitation]]:
        """The documents that have one of ``names``, the newest first, and what cites such a page,
        stored or not; at most ``each`` of both. A name is that of an edge, such as ``url:…``.
        """
        ...

    async def citation_report(
        self, *, number: int | None = None, project: str = "", most: int = 10
    ) -> CitationReport:
        """Citations counted: of a record, of the records of a project, or of all.

        Its lists have at most ``most`` items.
        """
        ...

    async def citation_counts(self, project: str) -> tuple[int, int]:
        """How many pages the records of a project cite, and how many of those are stored."""
        ...
