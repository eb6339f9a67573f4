"""Replies about archives of research, and about which report cites which page."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import Field

from mem_search.model import archives as stored
from mem_search.model import graph
from mem_search.renderers.archives import CitationLink
from mem_search.renderers.schema import Count, Time, schema


@schema
class Archive:
    """An archive: its folders, when they are read, and the statistics of the last run."""

    name: str
    research: Annotated[str, Field(serialization_alias="researchPath")]
    pages: Annotated[str, Field(serialization_alias="urlContentPath")]
    schedule: str
    watch: Annotated[bool, Field(serialization_alias="watchFiles")]
    next_at: Time | None
    indexed_at: Time | None
    statistics: dict[str, Any]

    @classmethod
    def of(cls, archive: stored.Archive) -> Self:
        return cls(
            name=archive.name,
            research=archive.research,
            pages=archive.pages,
            schedule=archive.schedule,
            watch=archive.watch,
            next_at=archive.next_at,
            indexed_at=archive.indexed_at,
            statistics=dict(archive.statistics),
        )


@schema
class Archives:
    """Archives by name."""

    archives: list[Archive]


@schema
class CitePlace:
    """A place of the citing text: `start` and `end` are characters, `context` is its sentence."""

    form: graph.CiteForm
    start: Count
    end: Count
    context: str


@schema
class PageCitation(CitationLink):
    """A citation with all its places in the text; `context` is that of the first."""

    places: list[CitePlace]

    @classmethod
    def of(cls, citation: graph.PageCitation, /, **more: object) -> Self:
        places = [
            CitePlace(form=each.form, start=each.start, end=each.end, context=each.context)
            for each in citation.places
        ]
        return super(PageCitation, cls).of(citation, places=places, **more)


@schema
class PageCitations:
    """Citations, in the order of the text, or the best or newest first."""

    citations: list[PageCitation]
