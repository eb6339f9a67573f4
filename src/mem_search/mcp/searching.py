"""The tools that search: ``search`` gives ids and titles, as OpenAI's deep research expects it,
``search_local_knowledge`` takes filters and returns texts. ``search_unified`` answers clients that
know it by this name, with the dated list of ``GET /api/search/unified``; no list of tools has it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo

from mem_search.access.callers import check_may_change
from mem_search.errors import InputError
from mem_search.features.web_search.service import with_web
from mem_search.mcp.tool import (
    BUDGET,
    UNLISTED,
    Arguments,
    Budget,
    Facets,
    Kinds,
    Text,
    Timestamp,
    Tool,
    ToolContext,
    Values,
    Words,
)
from mem_search.model import DateRange, Filters, Order, ResultTexts, SearchRequest
from mem_search.model.requests import At, Match, ResearchMode, to_request
from mem_search.model.results import WebResult
from mem_search.records.origin import flags_of
from mem_search.renderers.listing import fitted as fitted_listing
from mem_search.renderers.record_json import Facets as FacetsOfReply
from mem_search.renderers.record_json import facets_of
from mem_search.renderers.record_line import notices_of, reading_notes
from mem_search.renderers.safe_text import fenced, fenced_title, without_title
from mem_search.renderers.schema import Absent, Count, From, Share, Time, projected, schema
from mem_search.renderers.token_budget import fit_texts
from mem_search.renderers.universal import SearchOperation, ShortCitation, id_of, url_of
from mem_search.search.citations import SNIPPET_LENGTH, CitedResult, cite
from mem_search.text import dates
from mem_search.validation import clock_of, input_errors_as_invalid, note_reading

MAX_RESULTS = 20
"""Results in a reply: their titles cost a model some thousand tokens."""


class SearchArguments(Arguments):
    """``query`` is the only argument of the contract; the query language has the filters."""

    query: Words = Field(
        description='Words or a question. May contain "phrases", -not, project:NAME,'
        " type:bugfix, after:2025-10"
    )
    facets: Facets = Field(default=(), description="Count all matches by these")
    highlights: bool = Field(default=False, description="Where the words stand in each title")
    web: bool = Field(default=False, description="Also on the web; leaves this machine")
    scratchpad: bool = Field(default=False, json_schema_extra=UNLISTED)


@schema
class Hit:
    """A record that matches, to choose by its title."""

    id: str
    title: str
    url: str
    highlights: Absent[tuple[tuple[Count, Count], ...]] = None


@schema
class WebHit:
    """A result of a web search, which nobody here has read."""

    title: str
    url: str
    snippet: str
    source: Literal["web"] = "web"

    @classmethod
    def of(cls, result: WebResult) -> Self:
        if result.caution:
            return cls(
                title=fenced_title(result.title), url=result.url, snippet=fenced(result.snippet)
            )
        return cls(title=result.title, url=result.url, snippet=result.snippet)


@schema
class Hits:
    """The best matches first; `note` says what was read or done otherwise than asked.

    `facets` count all matches, not only these; `web` is what is not stored here.
    """

    results: list[Hit]
    web: Absent[list[WebHit]] = None
    facets: FacetsOfReply = None
    note: Absent[str] = None


async def search(context: ToolContext, arguments: SearchArguments) -> Hits:
    """The best matches of all kinds, by words and meaning."""
    request = SearchRequest(
        arguments.query,
        limit=MAX_RESULTS,
        asked_at=context.display.now,
        fold=False,
        scratchpad=arguments.scratchpad,
        texts=ResultTexts(snippets=False),
        facets=arguments.facets,
        sources=("local", "web") if arguments.web else ("local",),
    )
    web = context.runtime.web_search(request.sources, context.caller)
    page = await context.runtime.search.service.search(request, context.surface)
    page, web_page = await with_web(web, page, context.caller)
    report = page.report
    notes = notices_of(report)
    notes += reading_notes(report.analyzed, "after:DATE and before:DATE in the query", "")
    return Hits(
        note="\n".join(notes) or None,
        results=[
            Hit(
                id=id_of(cited.record),
                title=fenced_title(cited.citation.source_title)
                if flags_of(cited.record.metadata)
                else cited.citation.source_title,
                url=url_of(cited.record, context.base),
                highlights=cited.title_words
                if arguments.highlights and not flags_of(cited.record.metadata)
                else None,
            )
            for cited in cite(page)
        ],
        web=None if web_page is None else [WebHit.of(each) for each in web_page.results],
        facets=facets_of(page),
    )


SEARCH = Tool(
    name="search",
    title="Search memory",
    description="Search everything that agents and their user have seen on this machine: past"
    " coding sessions, decisions, commits, prompts, notes, web pages, files, mail. Returns ids and"
    " titles, best first. Start here.",
    arguments=SearchArguments,
    reply=Hits,
    handler=search,
    structured=True,
)


_BASE = SearchRequest(fold=False, texts=ResultTexts(snippet_length=SNIPPET_LENGTH))

Stripped = Annotated[Text, AfterValidator(str.strip)]


class KnowledgeArguments(Arguments):
    """The arguments of the contract; ``content_types`` may be any kind, and there is a budget."""

    query: Annotated[Words, At("text")]
    content_types: Annotated[Kinds, At("filters.kinds")] = Field(
        default=(), description="Only these kinds"
    )
    search_type: Annotated[
        Literal["keyword", "semantic", "hybrid"], At("mode", {"semantic": "vector"})
    ] = "keyword"
    mode: Annotated[ResearchMode, At("research.mode")] = Field(
        default="basic", description="deep_research records the search as a step of a session"
    )
    limit: Annotated[int, Field(ge=1, le=100)] = 20
    created_after: Annotated[Timestamp, At("filters.created.start")] = None
    updated_after: Annotated[Timestamp, At("filters.updated.start")] = None
    folder: Stripped = Field(default="", description="Notes in this folder")
    domain: Stripped = Field(default="", description="Websites of this domain")
    where: Values = Field(
        default={},
        description="Fields of the query language: project, type, tag, file, author, from, to,"
        " title, url, has, meta.NAME, ...",
    )
    full_content: Annotated[bool, At("texts.full_content")] = Field(
        default=True, description="Whole texts instead of snippets"
    )
    session_id: Annotated[Stripped, At("research.session_id")] = Field(
        default="", description="Session that the search belongs to"
    )
    parent_operation_id: Annotated[Stripped, At("research.parent_operation_id")] = Field(
        default="", description="The search that led to it"
    )
    max_tokens: Budget = BUDGET
    scratchpad: bool = Field(default=False, json_schema_extra=UNLISTED)
    match: Match = Field(default="any", json_schema_extra=UNLISTED)

    def request(self) -> SearchRequest:
        """The search; a step of research is hybrid unless ``search_type`` is set."""
        request = to_request(self, _BASE)
        if request.is_research and "search_type" not in self.model_fields_set:
            request = replace(request, mode="hybrid")
        return request


@schema
class KnowledgeResult:
    """A record that matches; ``content`` is its text or a snippet of it, from ``page``."""

    id: str
    type: Annotated[str, From("kind")]
    title: str
    content: str
    relevance_score: Share
    citation: ShortCitation
    url: str
    created_at: Time
    updated_at: Time
    page: Absent[int] = None

    @classmethod
    def of(cls, cited: CitedResult, base: str) -> Self:
        record, snippet = cited.record, cited.snippet
        source, content = cited.citation, cited.full_content
        content = without_title(content or (snippet.text if snippet else ""), source.source_title)
        if flags_of(record.metadata):
            source = replace(source, source_title=fenced_title(source.source_title))
            content = fenced(content)
        return projected(
            cls,
            record,
            id=id_of(record),
            title=source.source_title,
            content=content,
            relevance_score=cited.relevance,
            citation=ShortCitation.of(source),
            url=url_of(record, base),
            page=snippet.page if snippet else None,
        )


@schema
class KnowledgePage:
    """Results, best first. ``operations`` and ``session_id`` belong to a step of research."""

    results: list[KnowledgeResult]
    total_count: Count
    answerable: bool
    weaker: Count
    counts_by_type: dict[str, int]
    operations: Absent[list[SearchOperation]] = None
    session_id: str | None
    note: Absent[str] = None


async def search_local_knowledge(
    context: ToolContext, arguments: KnowledgeArguments
) -> KnowledgePage:
    """The matches with their texts, as many and as much as fit into the token budget."""
    request = replace(arguments.request(), asked_at=context.display.now)
    if request.is_research:
        check_may_change(context.caller, "deep research")
    page, step = await context.runtime.research.operations.search(request, context.surface)
    results = [KnowledgeResult.of(cited, context.base) for cited in cite(page)]
    fitted = fit_texts(results, "content", arguments.max_tokens)
    reply = KnowledgePage(
        results=fitted.items,
        total_count=page.total,
        answerable=page.report.answerable,
        weaker=page.weaker,
        counts_by_type=dict(page.counts),
        operations=None if step is None else [SearchOperation.of(step)],
        session_id=None if step is None else step.session_id,
    )
    analyzed = page.report.analyzed
    notes = notices_of(page.report)
    notes += reading_notes(analyzed, "created_after, or before:DATE in the query,", "")
    if fitted.cut or fitted.left:
        notes.append(
            f"{len(fitted.cut)} text(s) cut, {fitted.left} result(s) left out to fit"
            f" max_tokens={arguments.max_tokens}; open ids with get_records"
        )
    reply.note = "\n".join(notes) or None
    return reply


SEARCH_LOCAL_KNOWLEDGE = Tool(
    name="search_local_knowledge",
    aliases=("Search Local Knowledge",),
    title="Search with filters",
    description="Search with filters (kinds, dates, folder, domain), by words, meaning or both."
    " Returns texts with citations; costs more than search.",
    arguments=KnowledgeArguments,
    reply=KnowledgePage,
    handler=search_local_knowledge,
)


def _bound(value: Any, info: ValidationInfo, *, end: bool) -> Any:
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return value
    now, tz = clock_of(info)
    with input_errors_as_invalid():
        bound = dates.parse_bound(value, end=end, now=now, tz=tz, field="dateRange")
    note_reading(info, bound, tz)
    return bound


class Range(Arguments):
    """Dates, or seconds or milliseconds since 1970; an end day counts whole."""

    start: Annotated[int | None, BeforeValidator(partial(_bound, end=False))] = None
    end: Annotated[int | None, BeforeValidator(partial(_bound, end=True))] = None


class UnifiedArguments(Arguments):
    """Those of ``GET /api/search/unified`` that its contract names."""

    query: Text = ""
    format: Literal["index", "full"] = "index"
    project: Text = ""
    types: Kinds = ()
    date_range: Range = Range()
    limit: int = Field(default=20, ge=1, le=100)
    offset: int = Field(default=0, ge=0, le=10_000)
    order_by: Order = "date_desc"
    max_tokens: Budget = BUDGET
    scratchpad: bool = False


async def search_unified(context: ToolContext, arguments: UnifiedArguments) -> str:
    """The listing of ``GET /api/search/unified``, within the token budget."""
    dated = DateRange(arguments.date_range.start, arguments.date_range.end)
    if dated.start is not None and dated.end is not None and dated.start > dated.end:
        raise InputError("ends before it begins", field="dateRange")
    request = SearchRequest(
        arguments.query,
        Filters(kinds=arguments.types, project=arguments.project.strip(), created=dated),
        order=arguments.order_by,
        limit=arguments.limit,
        offset=arguments.offset,
        asked_at=context.display.now,
        scratchpad=arguments.scratchpad,
    )
    page = await context.runtime.search.service.search(request, context.surface)
    return fitted_listing(page, arguments.format, context.display, arguments.max_tokens).text


SEARCH_UNIFIED = Tool(
    name="search_unified",
    title="Search all kinds by date",
    description="Search all kinds of records and list them by date.",
    arguments=UnifiedArguments,
    reply=str,
    handler=search_unified,
)
