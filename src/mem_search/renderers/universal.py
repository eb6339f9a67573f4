"""Replies of the universal search of ``/api/v1``: cited pages and records, for agents too.

The keys are those of its contract and of OpenAI's documents; ``url``, ``snippet_span``,
``sha256``, ``limit``, ``offset`` and ``search`` are ours beside them. Ids are
``local:kind:number``, which every route that takes a ref takes too. ``base`` is the address of
the worker (``http://127.0.0.1:37777``): a record without an address of its own gets a permalink
there, or a relative one without ``base``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field

from mem_search.model import Citation, Record, SearchPage
from mem_search.model.results import Operation, WebPage, WebResult, WebState
from mem_search.renderers.record_json import Facets, Highlights, SnippetSpan, facets_of
from mem_search.renderers.safe_text import caution_if, caution_of
from mem_search.renderers.schema import (
    Absent,
    Count,
    From,
    HowSearched,
    Projection,
    Share,
    SomeFields,
    Time,
    as_subclass,
    or_none,
    projected,
    schema,
    to_values,
)
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


def _local(source_id: str) -> str:
    return f"{SOURCE}:{source_id}"


def _published(citation: Citation) -> Any:
    return citation.published_month or citation.published_at


def _text(span: citations.Span | None) -> str | None:
    return None if span is None else span.text


def _text_or_empty(span: citations.Span | None) -> str:
    return "" if span is None else span.text


def _sources(step: Operation) -> list[str]:
    return list(step.request.get("search", {}).get("sources", [SOURCE]))


def _list_or_none(values: Iterable[str]) -> list[str] | None:
    return list(values) or None


@schema
class ShortCitation(Projection[Citation]):
    """Where a record comes from."""

    source_id: Annotated[str, From(then=_local)]
    source_type: str
    source_title: str
    url: Annotated[str | None, From(then=or_none)]
    created_date: Annotated[Time | None, From("created_at")]


@schema
class CitationMetadata(ShortCitation):
    """Where a record comes from, as far as it is known."""

    author: Annotated[str | None, From(then=or_none)]
    published_date: Annotated[Time | Month | None, From(".", _published)]
    last_accessed: Annotated[Time | None, From("accessed_at")]
    folder: Annotated[str | None, From(then=or_none)]
    domain: Annotated[str | None, From(then=or_none)]


@schema
class Annotation(Projection[citations.Annotation]):
    """A span of the record's text that matches; `highlight` shows it in its context."""

    text: Annotated[str, From("span.text")]
    start_index: Annotated[Count, From("span.start")]
    end_index: Annotated[Count, From("span.end")]
    source_id: Annotated[str, From(then=_local)]
    highlight: Annotated[str | None, From(then=or_none)]
    sha256: Annotated[str, From("span.sha256")]
    page: Annotated[Absent[int], From("span.page")] = None
    heading: Annotated[Absent[str], From("span.heading", or_none)] = None


@schema
class SearchResultItem:
    """A record that matched. `annotations` are there in deep research only, `caution` when its
    text reads like instructions to an agent.
    """

    caution: Annotated[Absent[str], From("record", caution_of)] = None
    id: Annotated[str, From("record", id_of)]
    content_type: Annotated[str, From("record.kind")]
    source: Literal["local"]
    title: Annotated[str, From("citation.source_title")]
    url: str
    snippet: Annotated[str | None, From(then=_text)]
    snippet_span: Annotated[SnippetSpan | None, From("snippet")]
    highlights: Highlights
    relevance_score: Annotated[Share, From("relevance")]
    created_at: Annotated[Time, From("record.created_at")]
    updated_at: Annotated[Time | None, From("record.updated_at")]
    last_opened_at: Annotated[Time | None, From("citation.accessed_at")]
    citation: CitationMetadata
    metadata: Annotated[dict[str, Any], From("record", metadata_of)]
    match_fields: tuple[Literal["title", "content"], ...]
    full_content: str | None
    annotations: list[Annotation] | None

    @classmethod
    def of(cls, cited: CitedResult, base: str = "") -> Self:
        return projected(
            cls,
            cited,
            source=SOURCE,
            url=url_of(cited.record, base),
            highlights=Highlights(title=cited.title_words, snippet=cited.snippet_words),
        )


@schema
class SearchOperation(Projection[Operation]):
    """One step of a research chain."""

    id: str
    operation_type: Annotated[str, From("type")]
    query: str
    sources: Annotated[list[str], From(".", _sources)]
    content_types: Annotated[list[str] | None, From(then=_list_or_none)]
    result_count: Annotated[Count, From("results", len)]
    execution_time_ms: Annotated[float, From("took_ms")]
    created_at: Time


@schema
class WebItem(Projection[WebResult]):
    """A result of a web search; nothing of it is stored. `published` is as the provider writes it,
    `caution` as in other results.
    """

    caution: Annotated[Absent[str], From(then=caution_if)] = None
    source: Literal["web"] = "web"
    title: str
    url: str
    snippet: str
    published: Annotated[Absent[str], From(then=or_none)] = None


@schema
class WebItems(Projection[WebPage]):
    """What a web search gave after the store had answered, without the addresses in `items`.

    `refused`: the question was not sent; `failed`: the provider gave nothing; `detail` says why.
    `query` is what was sent.
    """

    provider: str
    state: WebState
    detail: Annotated[Absent[str], From(then=or_none)] = None
    query: Annotated[Absent[str], From(then=or_none)] = None
    items: Annotated[list[WebItem], From("results")]
    took_ms: float


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
    total_count: Annotated[Count, From("total")]
    answerable: Annotated[Absent[bool], From("report.answerable")] = None
    weaker: Count
    counts_by_type: Annotated[dict[str, int], From("counts")]
    facets: Facets = None
    web: Absent[WebItems] = None
    query: Annotated[str, From("request.text")]
    execution_time_ms: Annotated[float, From("report.took_ms")]
    operations: list[SearchOperation] | None
    session_id: str | None
    job_id: str | None
    limit: Annotated[int, From("request.limit")]
    offset: Annotated[int, From("request.offset")]
    search: HowSearched | NotSearchedYet

    @classmethod
    def of(
        cls,
        page: SearchPage,
        base: str = "",
        step: Operation | None = None,
        flags: tuple[str, ...] = (),
        web: WebPage | None = None,
    ) -> Self:
        return projected(
            cls,
            page,
            items=[SearchResultItem.of(cited, base) for cited in cite(page)],
            facets=facets_of(page),
            operations=None if step is None else [SearchOperation.of(step)],
            session_id=None if step is None else step.session_id,
            job_id=None,
            web=None if web is None else WebItems.of(web),
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
        return as_subclass(cls, whole, items=items)


@schema
class McpSearchResult:
    """A short result; `text` and `snippet` are the same. `caution` is there when its text reads
    like instructions to an agent.
    """

    caution: Annotated[Absent[str], From("record", caution_of)] = None
    id: Annotated[str, From("record", id_of)]
    title: Annotated[str, From("citation.source_title")]
    url: str
    text: Annotated[str, From("snippet", _text_or_empty)]
    snippet: Annotated[str, From(then=_text_or_empty)]
    snippet_span: Annotated[SnippetSpan | None, From("snippet")]
    highlights: Highlights
    relevance_score: Annotated[Share, From("relevance")]
    source: Literal["local"]
    content_type: Annotated[str, From("record.kind")]

    @classmethod
    def of(cls, cited: CitedResult, base: str = "") -> Self:
        return projected(
            cls,
            cited,
            source=SOURCE,
            url=url_of(cited.record, base),
            highlights=Highlights(title=cited.title_words, snippet=cited.snippet_words),
        )


@schema
class McpSearchResponse:
    """Short results, best first."""

    results: list[McpSearchResult]
    total_count: Annotated[Count, From("total")]
    answerable: Annotated[bool, From("report.answerable")]
    weaker: Count
    counts_by_type: Annotated[dict[str, int], From("counts")]
    search: HowSearched

    @classmethod
    def of(cls, page: SearchPage, base: str = "", flags: tuple[str, ...] = ()) -> Self:
        return projected(
            cls,
            page,
            results=[McpSearchResult.of(cited, base) for cited in cite(page)],
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
    content: Annotated[str, From("text")]
    source: Literal["local"]
    content_type: Annotated[str, From("kind")]
    citation: CitationMetadata
    metadata: dict[str, Any]
    operations: list[SearchOperation] | None
    session_id: str | None

    @classmethod
    def of(
        cls, record: Record, citation: Citation, base: str = "", step: Operation | None = None
    ) -> Self:
        return projected(
            cls,
            record,
            caution=caution_of(record),
            id=id_of(record),
            title=citation.source_title,
            url=url_of(record, base),
            source=SOURCE,
            citation=CitationMetadata.of(citation),
            metadata=metadata_of(record),
            operations=None if step is None else [SearchOperation.of(step)],
            session_id=None if step is None else step.session_id,
        )
