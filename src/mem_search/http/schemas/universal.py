"""What ``/api/v1`` answers, as models: seed 000's names and types, ours marked in their words.

Replies are written by ``renderers.universal``; these describe them in OpenAPI, and the tests
hold every reply against them.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from mem_search.model import Kind

Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]


class Shape(BaseModel):
    """Base of all: every key is there, and no other."""

    model_config = ConfigDict(extra="forbid", strict=True)


class CitationMetadata(Shape):
    """Where a record comes from, as far as it says so itself."""

    source_id: str
    source_type: Kind
    source_title: str
    url: str | None
    author: str | None
    published_date: Time | None
    created_date: Time | None
    last_accessed: Time | None
    folder: str | None
    domain: str | None


class SnippetSpan(Shape):
    """``text[start:end]`` of the record, in characters, has this SHA-256 as UTF-8."""

    start: Count
    end: Count
    sha256: str
    page: int | None = None


class Annotation(Shape):
    """A span of the record's text that matches; ``highlight`` shows it in its surroundings."""

    text: str
    start_index: Count
    end_index: Count
    source_id: str
    highlight: str | None
    sha256: str
    page: int | None = None


class SearchResultItem(Shape):
    """One result. ``url`` and ``snippet_span`` are ours."""

    id: str
    content_type: Kind
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


class SearchOperation(Shape):
    """One step of a research chain."""

    id: str
    operation_type: str
    query: str
    sources: list[str]
    content_types: list[Kind] | None
    result_count: Count
    execution_time_ms: float
    created_at: Time


class UniversalSearchResponse(Shape):
    """A page of results. ``limit``, ``offset`` and ``search`` are ours."""

    items: list[SearchResultItem]
    total_count: Count
    counts_by_type: dict[Kind, int]
    query: str
    execution_time_ms: float
    operations: list[SearchOperation] | None
    session_id: str | None
    job_id: str | None
    limit: int
    offset: int
    search: dict[str, Any] = Field(description="How the search was really done")


class McpSearchResult(Shape):
    """A short result: ``text`` is ``snippet``."""

    id: str
    title: str
    url: str
    text: str
    snippet: str
    snippet_span: SnippetSpan | None
    relevance_score: Share
    source: Literal["local"]
    content_type: Kind


class McpSearchResponse(Shape):
    """Short results, best first."""

    results: list[McpSearchResult]
    total_count: Count
    counts_by_type: dict[Kind, int]
    search: dict[str, Any] = Field(description="How the search was really done")


class McpFetchResponse(Shape):
    """A whole record: ``text`` is ``content``."""

    id: str
    title: str
    url: str
    text: str
    content: str
    source: Literal["local"]
    content_type: Kind
    citation: CitationMetadata
    metadata: dict[str, Any]
    operations: list[SearchOperation] | None
    session_id: str | None
