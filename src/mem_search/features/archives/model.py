"""Archives of research: their folders, and what a search and a report about citations say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from mem_search.model.graph import PageCitation
from mem_search.model.records import Ref
from mem_search.model.results import Snippet

ArchiveField = Literal["title", "content", "query"]
"""Where words are looked for; ``query`` is the question that a report answers."""

FIELDS: Final[tuple[ArchiveField, ...]] = ("title", "content", "query")

MAX_CITATION_STEPS: Final = 5
"""Steps of citations that one request may follow."""


ANSWERED: Final = 0.5
"""The confidence from which a question counts as answered by a document."""


@dataclass(frozen=True, slots=True)
class Archive:
    """``research`` and ``pages`` are folders, either may be "". Times are in ms since 1970.

    ``schedule`` is as in ``text.schedules``, ``next_at`` the next run of it. ``statistics`` are
    those of the last run, which ended at ``indexed_at``.
    """

    name: str
    research: str = ""
    pages: str = ""
    schedule: str = ""
    watch: bool = False
    next_at: int | None = None
    indexed_at: int | None = None
    statistics: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ArchiveQuestion:
    """A search among the documents of archives; ``archive`` is the name of one, "" for all.

    With ``fuzzy`` any word counts, by its meaning too, and misspellings are corrected; without it
    a document has all the words. ``fields`` are where the words have to be.
    """

    query: str
    fuzzy: bool = True
    fields: tuple[ArchiveField, ...] = FIELDS
    limit: int = 20
    archive: str = ""


@dataclass(frozen=True, slots=True)
class FieldMatch:
    """A word of the question in a field of a document, with the text around it at some places.

    ``term`` is "" where the document was found by its meaning.
    """

    field: ArchiveField
    term: str
    snippets: tuple[Snippet, ...]


@dataclass(frozen=True, slots=True)
class DocumentCitations:
    """What cites a document (``citing``) and what it cites, each with its distance from 1."""

    citing: tuple[tuple[PageCitation, int], ...] = ()
    cited: tuple[tuple[PageCitation, int], ...] = ()


@dataclass(frozen=True, slots=True)
class CountedPage:
    """A page by its address, and its record where it is stored. ``title`` may be ""."""

    url: str
    ref: Ref | None
    title: str
    count: int


@dataclass(frozen=True, slots=True)
class CountedDocument:
    """A document, how many pages it cites, and how many of those are also cited by others."""

    ref: Ref
    title: str
    count: int
    shared: int = 0


@dataclass(frozen=True, slots=True)
class PagePair:
    """Two pages that ``count`` documents cite together."""

    one: CountedPage
    other: CountedPage
    count: int


@dataclass(frozen=True, slots=True)
class Freshness:
    """How old the stored pages are that are cited, by the date of each; times in ms since 1970."""

    dated: int = 0
    oldest: int | None = None
    newest: int | None = None
    median: int | None = None


@dataclass(frozen=True, slots=True)
class CitationReport:
    """The citations of one document, of an archive, or of the whole store, counted.

    ``citations`` are pairs of a document and a page that it cites, of which ``implicit`` are found
    by similarity; ``places`` are the places in the texts that state them. ``pages`` are the
    different pages, ``stored`` those with a record. ``dead_ends`` are pages without one,
    ``orphans`` documents that neither cite nor are cited. Of each list only the first are here.
    ``coupled`` are the documents that cite the most of the same pages as the one document.
    """

    documents: int
    citing: int
    citations: int
    implicit: int
    places: int
    pages: int
    stored: int
    cited_by: int
    most_cited: tuple[CountedPage, ...]
    hubs: tuple[CountedDocument, ...]
    together: tuple[PagePair, ...]
    dead_ends: tuple[CountedPage, ...]
    orphan_count: int
    orphans: tuple[CountedDocument, ...]
    freshness: Freshness
    coupled: tuple[CountedDocument, ...] = ()
