"""Replies of the universal search of ``/api/v1``: cited pages and records, for agents too.

The keys are those of its contract and of OpenAI's documents; ``url``, ``snippet_span``,
``sha256``, ``limit``, ``offset`` and ``search`` are ours beside them. Ids are
``local:kind:number``, which every route that takes a ref takes too. ``base`` is the address of
the worker (``http://127.0.0.1:37777``): a record without an address of its own gets a permalink
there, or a relative one without ``base``.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field

from mem_search.model import Citation, Record, SearchPage
from mem_search.model.research import Operation
from mem_search.renderers.record_json import SnippetSpan
from mem_search.renderers.safe_text import caution_of
from mem_search.renderers.schema import (
    Absent,
    Count,
    HowSearched,
    Share,
    SomeFields,
    Time,
    remade,
    schema,
    to_values,
)
from mem_search.renderers.search_reply import Facets, Highlights, facets_of
from mem_search.search import citations
from mem_search.search.citations import CitedResult, cite

SOURCE: Literal["local"] = "local"

_BOUNDS: Final = "created_after/created_before"
"""What a request of this contract gives, to keep only what is from a time."""


def id_of(record: Record) -> str:
    """``local:note:7``."""
    return f"{SOURCE}:{record.ref}"


def url_of(record: Record, base: str = "") -> str:
    """The record's own address, where it has one on the web; else its permalink here."""
    if record.url.lower().startswith(("https://", "http://")):
        return record.url
    return f"{base}/v/{record.ref}"


def metadata_of(record: Record) -> dict[str, Any]:
    """The metadata of the record, and its common fields that have a value."""
    common = {
        "project": record.project,
        "session": record.session,
        "source": record.source,
        "tags": list(record.tags),
        "importance": record.importance,
        "superseded_by": record.superseded_by and f"{SOURCE}:{record.superseded_by}",
        "supersedes": [f"{SOURCE}:{ref}" for ref in record.supersedes],
    }
    known = {name: value for name, value in common.items() if value not in ("", [], None)}
    return {**record.metadata, **known, "archived": record.archived}


Month = Annotated[str, Field(pattern=r"^\d{4}(-\d{2})?$")]
"""A year or a month whose day is not known, as in ISO 8601: ``2024``, ``2024-02``."""


@schema
class ShortCitation:
    """Where a record comes from."""

    source_id: str
    source_type: str
    source_title: str
    url: str | None
    created_date: Time | None

    @classmethod
    def of(cls, citation: Citation, /, **more: Any) -> Self:
        return cls(
            source_id=f"{SOURCE}:{citation.source_id}",
            source_type=citation.source_type,
            source_title=citation.source_title,
            url=citation.url or None,
            created_date=citation.created_at,
            **more,
        )


@schema
class CitationMetadata(ShortCitation):
    """Where a record comes from, as far as it is known."""

    author: str | None
    published_date: Time | Month | None
    last_accessed: Time | None
    folder: str | None
    domain: str | None

    @classmethod
    def of(cls, citation: Citation, /, **more: Any) -> Self:
        return super(CitationMetadata, cls).of(
            citation,
            author=citation.author or None,
            published_date=citation.published_month or citation.published_at,
            last_accessed=citation.accessed_at,
            folder=citation.folder or None,
            domain=citation.domain or None,
            **more,
        )


@schema
class Annotation:
    """A span of the record's text that matches; `highlight` shows it in its context."""

    text: str
    start_index: Count
    end_index: Count
    source_id: str
    highlight: str | None
    sha256: str
    page: Absent[int] = None
    heading: Absent[str] = None

    @classmethod
    def of(cls, noted: citations.Annotation) -> Self:
        return cls(
            text=noted.span.text,
            start_index=noted.span.start,
            end_index=noted.span.end,
            source_id=f"{SOURCE}:{noted.source_id}",
            highlight=noted.highlight or None,
            sha256=noted.span.sha256,
            page=noted.span.page,
            heading=noted.span.heading or None,
        )


@schema
class SearchResultItem:
    """A record that matched. `annotations` are there in deep research only, `caution` when its
    text reads like instructions to an agent.
    """

    caution: Absent[str] = None
    id: str
    content_type: str
    source: Literal["local"]
    title: str
    url: str
    snippet: str | None
    snippet_span: SnippetSpan | None
    highlights: Highlights
    relevance_score: Share
    created_at: Time
    updated_at: Time | None
    last_opened_at: Time | None
    citation: CitationMetadata
    metadata: dict[str, Any]
    match_fields: tuple[Literal["title", "content"], ...]
    full_content: str | None
    annotations: list[Annotation] | None

    @classmethod
    def of(cls, cited: CitedResult, base: str = "") -> Self:
        record, span, noted = cited.record, cited.snippet, cited.annotations
        return cls(
            caution=caution_of(record),
            id=id_of(record),
            content_type=record.kind,
            source=SOURCE,
            title=cited.citation.source_title,
            url=url_of(record, base),
            snippet=None if span is None else span.text,
            snippet_span=None if span is None else SnippetSpan.of(span),
            highlights=Highlights(title=cited.title_words, snippet=cited.snippet_words),
            relevance_score=cited.relevance,
            created_at=record.created_at,
            updated_at=record.updated_at,
            last_opened_at=cited.citation.accessed_at,
            citation=CitationMetadata.of(cited.citation),
            metadata=metadata_of(record),
            match_fields=cited.match_fields,
            full_content=cited.full_content,
            annotations=None if noted is None else [Annotation.of(each) for each in noted],
        )


@schema
class SearchOperation:
    """One step of a research chain."""

    id: str
    operation_type: str
    query: str
    sources: list[str]
    content_types: list[str] | None
    result_count: Count
    execution_time_ms: float
    created_at: Time

    @classmethod
    def of(cls, operation: Operation, /, **more: Any) -> Self:
        return cls(
            id=operation.id,
            operation_type=operation.type,
            query=operation.query,
            sources=[SOURCE],
            content_types=list(operation.content_types) or None,
            result_count=len(operation.results),
            execution_time_ms=operation.took_ms,
            created_at=operation.created_at,
            **more,
        )


@schema
class NotSearchedYet:
    """A search that runs in the background; `notices` say where its result will be."""

    notices: tuple[str, ...]
    flags: Absent[tuple[str, ...]] = None


@schema
class UniversalSearchResponse:
    """A page of results, best first; `search` says how the search was really done.

    `operations` has the step of research that the search is, null where it is none.
    """

    items: list[SearchResultItem]
    total_count: Count
    weaker: Count
    counts_by_type: dict[str, int]
    facets: Facets = None
    query: str
    execution_time_ms: float
    operations: list[SearchOperation] | None
    session_id: str | None
    job_id: str | None
    limit: int
    offset: int
    search: HowSearched | NotSearchedYet

    @classmethod
    def of(
        cls,
        page: SearchPage,
        base: str = "",
        step: Operation | None = None,
        flags: tuple[str, ...] = (),
    ) -> Self:
        return cls(
            items=[SearchResultItem.of(cited, base) for cited in cite(page)],
            total_count=page.total,
            weaker=page.weaker,
            counts_by_type=dict(page.counts),
            facets=facets_of(page),
            query=page.request.text,
            execution_time_ms=page.report.took_ms,
            operations=None if step is None else [SearchOperation.of(step)],
            session_id=None if step is None else step.session_id,
            job_id=None,
            limit=page.request.limit,
            offset=page.request.offset,
            search=HowSearched.of(page.report, flags, _BOUNDS),
        )


SOME_FIELDS: Final = SomeFields(SearchResultItem, "id")


@schema
class ChosenSearchResponse(UniversalSearchResponse):
    """A page whose items have only the fields that the request names, and their `id`."""

    items: list[Annotated[dict[str, Any], SOME_FIELDS]]  # type: ignore[assignment]

    @classmethod
    def of_whole(cls, whole: UniversalSearchResponse, names: Collection[str]) -> Self:
        """``whole`` with only these fields in its items."""
        items = [SOME_FIELDS.of(to_values(item), names) for item in whole.items]
        return remade(cls, whole, items=items)


@schema
class McpSearchResult:
    """A short result; `text` and `snippet` are the same. `caution` is there when its text reads
    like instructions to an agent.
    """

    caution: Absent[str] = None
    id: str
    title: str
    url: str
    text: str
    snippet: str
    snippet_span: SnippetSpan | None
    highlights: Highlights
    relevance_score: Share
    source: Literal["local"]
    content_type: str

    @classmethod
    def of(cls, cited: CitedResult, base: str = "") -> Self:
        record, span = cited.record, cited.snippet
        text = "" if span is None else span.text
        return cls(
            caution=caution_of(record),
            id=id_of(record),
            title=cited.citation.source_title,
            url=url_of(record, base),
            text=text,
            snippet=text,
            snippet_span=None if span is None else SnippetSpan.of(span),
            highlights=Highlights(title=cited.title_words, snippet=cited.snippet_words),
            relevance_score=cited.relevance,
            source=SOURCE,
            content_type=record.kind,
        )


@schema
class McpSearchResponse:
    """Short results, best first."""

    results: list[McpSearchResult]
    total_count: Count
    weaker: Count
    counts_by_type: dict[str, int]
    search: HowSearched

    @classmethod
    def of(cls, page: SearchPage, base: str = "", flags: tuple[str, ...] = ()) -> Self:
        return cls(
            results=[McpSearchResult.of(cited, base) for cited in cite(page)],
            total_count=page.total,
            weaker=page.weaker,
            counts_by_type=dict(page.counts),
            search=HowSearched.of(page.report, flags, _BOUNDS),
        )


@schema
class McpFetchResponse:
    """A whole record; `text` and `content` are the same. Spans of results are of this text.
    `caution` is there when it reads like instructions to an agent.
    """

    caution: Absent[str] = None
    id: str
    title: str
    url: str
    text: str
    content: str
    source: Literal["local"]
    content_type: str
    citation: CitationMetadata
    metadata: dict[str, Any]
    operations: list[SearchOperation] | None
    session_id: str | None

    @classmethod
    def of(
        cls, record: Record, citation: Citation, base: str = "", step: Operation | None = None
    ) -> Self:
        return cls(
            caution=caution_of(record),
            id=id_of(record),
            title=citation.source_title,
            url=url_of(record, base),
            text=record.text,
            content=record.text,
            source=SOURCE,
            content_type=record.kind,
            citation=CitationMetadata.of(citation),
            metadata=metadata_of(record),
            operations=None if step is None else [SearchOperation.of(step)],
            session_id=None if step is None else step.session_id,
        )
