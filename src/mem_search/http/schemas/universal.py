"""Replies of the universal search of ``/api/v1``, with the names of its contract.

``url``, ``snippet_span``, ``sha256``, ``limit``, ``offset`` and ``search`` are ours beside it.
"""

from __future__ import annotations

from typing import Any, Literal, Self

from mem_search.model import Citation
from mem_search.model.research import Operation
from mem_search.renderers.schema import Absent, Count, Share, Time, schema
from mem_search.renderers.schemas import HowSearched, SnippetSpan


@schema
class CitationMetadata:
    """Where a record comes from, as far as it is known."""

    source_id: str
    source_type: str
    source_title: str
    url: str | None
    author: str | None
    published_date: Time | None
    created_date: Time | None
    last_accessed: Time | None
    folder: str | None
    domain: str | None

    @classmethod
    def of(cls, citation: Citation) -> Self:
        return cls(
            source_id=f"local:{citation.source_id}",
            source_type=citation.source_type,
            source_title=citation.source_title,
            url=citation.url or None,
            author=citation.author or None,
            published_date=citation.published_at,
            created_date=citation.created_at,
            last_accessed=citation.accessed_at,
            folder=citation.folder or None,
            domain=citation.domain or None,
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


@schema
class SearchResultItem:
    """A record that matched."""

    id: str
    content_type: str
    source: Literal["local"]
    title: str
    url: str
    snippet: str | None
    snippet_span: SnippetSpan | None
    relevance_score: Share
    created_at: Time
    updated_at: Time | None
    last_opened_at: Time | None
    citation: CitationMetadata
    metadata: dict[str, Any]
    match_fields: list[Literal["title", "content"]]
    full_content: str | None
    annotations: list[Annotation] | None


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
            sources=["local"],
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
    """A page of results, best first; `search` says how the search was really done."""

    items: list[SearchResultItem]
    total_count: Count
    counts_by_type: dict[str, int]
    query: str
    execution_time_ms: float
    operations: list[SearchOperation] | None
    session_id: str | None
    job_id: str | None
    limit: int
    offset: int
    search: HowSearched | NotSearchedYet


@schema
class McpSearchResult:
    """A short result; `text` and `snippet` are the same."""

    id: str
    title: str
    url: str
    text: str
    snippet: str
    snippet_span: SnippetSpan | None
    relevance_score: Share
    source: Literal["local"]
    content_type: str


@schema
class McpSearchResponse:
    """Short results, best first."""

    results: list[McpSearchResult]
    total_count: Count
    counts_by_type: dict[str, int]
    search: HowSearched


@schema
class McpFetchResponse:
    """A whole record; `text` and `content` are the same."""

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
