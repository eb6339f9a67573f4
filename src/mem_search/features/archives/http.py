"""``/api/archive``: archives of research, searches in them, and what cites what."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Annotated, Any, Literal

from aiohttp import web
from pydantic import AfterValidator, BeforeValidator, Field

from mem_search.errors import InputError, MissingField
from mem_search.features.archives import model
from mem_search.features.archives.model import (
    FIELDS,
    MAX_CITATION_STEPS,
    ArchiveField,
    ArchiveQuestion,
)
from mem_search.features.archives.replies import (
    Archive,
    ArchiveCheck,
    ArchiveDocument,
    ArchiveResults,
    Archives,
    CitationLink,
    CitationReport,
    PageCitation,
    PageCitations,
    RelatedDocuments,
)
from mem_search.features.archives.search import (
    MAX_CITATIONS,
    MIN_SCORE,
    SNIPPET,
    check_request,
    citations_of,
    matches_of,
    related_to,
    request_of,
)
from mem_search.features.archives.service import JOB, folder
from mem_search.features.archives.sql import ArchiveStore
from mem_search.http.core.parameter_types import IdOfRecord, Name, Stripped, Text, split
from mem_search.http.core.parameters import Body, Parameters
from mem_search.http.core.replies import Deleted, json_reply
from mem_search.http.core.routing import Call, Route
from mem_search.http.jobs import SubmittedJob, submitted
from mem_search.http.records import find
from mem_search.ingest.edges import key_of_link
from mem_search.model import Filters, SearchRequest, graph
from mem_search.renderers.safe_text import cut
from mem_search.renderers.schema import HowSearched
from mem_search.search.citations import relevance
from mem_search.text.dates import now_ms
from mem_search.text.highlight import WordMatcher
from mem_search.text.page_names import page_name
from mem_search.text.record_ids import RecordId
from mem_search.text.schedules import schedule_of
from mem_search.text.words import runs_of
from mem_search.validation import not_blank

_WORDS: Any = Field(description="Words or a question; may use the query language")
_FUZZY: Any = Field(
    default=True,
    description="Any word counts, by its meaning too, and misspellings are corrected; false: a"
    " document has all words",
)
_WHERE: Any = Field(default=FIELDS, description="Where words have to be: title, content, query")
_MaxResults: Any = Field(default=20, ge=1, le=100, description="How many at most")
_INCLUDE: Any = Field(
    default=False, alias="includeCitations", description="What cites each document, and it cites"
)
_DEPTH: Any = Field(
    default=1,
    alias="citationDepth",
    ge=1,
    le=MAX_CITATION_STEPS,
    description="Steps along citations",
)
_ARCHIVE: Any = Field(default="", description="Only documents of this archive")

Question = Annotated[Text, AfterValidator(not_blank)]


class ArchiveSearchParameters(Parameters):
    """A search among reports and saved pages."""

    query: Question = _WORDS
    fuzzy: bool = _FUZZY
    fields: Annotated[
        tuple[ArchiveField, ...], BeforeValidator(split, json_schema_input_type=str)
    ] = _WHERE
    limit: int = _MaxResults
    include_citations: bool = _INCLUDE
    citation_depth: int = _DEPTH
    archive: Stripped = _ARCHIVE


class ArchiveSearchBody(Body):
    """The same as a body."""

    query: Question = _WORDS
    fuzzy: bool = _FUZZY
    fields: list[ArchiveField] = Field(default=[*FIELDS], description=_WHERE.description)
    limit: int = _MaxResults
    include_citations: bool = _INCLUDE
    citation_depth: int = _DEPTH
    archive: Stripped = _ARCHIVE


class ArchiveCheckBody(Body):
    """What is about to be researched: a question, or the address of a page."""

    query: Stripped = Field(default="", description="Words or a question")
    url: Stripped = Field(default="", description="Instead of query: the address of a page")
    archive: Stripped = _ARCHIVE
    limit: int = Field(default=3, ge=1, le=20, description="How many documents at most")


class RelatedDocumentParameters(Parameters):
    """Of which document, and how far away."""

    ref: IdOfRecord = Field(description="A report or a page, by its ref")
    depth: int = Field(default=1, ge=1, le=MAX_CITATION_STEPS, description="Steps along citations")
    limit: int = _MaxResults


class ReportParameters(Parameters):
    """Of which document or archive; of everything without either."""

    ref: IdOfRecord = Field(default="", description="A report or a page, by its ref")
    archive: Stripped = _ARCHIVE
    limit: int = Field(default=10, ge=1, le=100, description="Items of each list at most")


async def search(call: Call) -> web.StreamResponse:
    """The documents that answer, with matches, and citations where asked for."""
    asked = call.body or call.query
    assert isinstance(asked, ArchiveSearchBody | ArchiveSearchParameters)
    fields = tuple(dict.fromkeys(asked.fields)) or FIELDS
    question = ArchiveQuestion(asked.query, asked.fuzzy, fields, asked.limit, asked.archive)
    runtime = call.runtime
    page = await call.search(await request_of(runtime.search.store, question))
    numbers = [result.record.number for result in page.results]
    citations = (
        await citations_of(runtime.store.part(ArchiveStore), numbers, asked.citation_depth)
        if asked.include_citations
        else {}
    )
    return json_reply(ArchiveResults.of(page, matches_of(page, fields), citations, call.flags))


async def check(call: Call) -> web.StreamResponse:
    """Whether a question is answered, or a page saved, before the web is asked."""
    body = call.json_body(ArchiveCheckBody)
    if bool(body.query) == bool(body.url):
        raise MissingField("give either query, a question, or url, a page", field="query")
    store, now = call.runtime.search.store, now_ms()
    if body.query:
        page = await call.search(check_request(body.query, body.archive, body.limit))
        scored = [
            (ArchiveDocument.of(each.record, relevance(page, each)), confidence, each.snippet.text)
            for each in page.results
            if (confidence := round(each.confidence or 0.0, 3)) >= MIN_SCORE
        ]
        scored = sorted(scored, key=lambda each: -each[1])[: body.limit]
        how = HowSearched.of(page.report, call.flags)
        return json_reply(ArchiveCheck.of(scored, now, search=how))
    if not page_name(body.url):
        raise InputError(f"{body.url[:200]!r} is not the address of a page", field="url")
    names = [f"url:{page_name(body.url)}", key_of_link(body.url)]
    numbers, cited = await call.runtime.store.part(ArchiveStore).page(names, MAX_CITATIONS)
    records = await store.read(lambda snapshot: snapshot.records(numbers))
    saved = [record for record in records.values() if body.archive in ("", record.project)]
    saved.sort(key=lambda record: -record.created_at)
    scored = [
        (ArchiveDocument.of(record, 1.0), 1.0, cut(record.text, SNIPPET))
        for record in saved[: body.limit]
    ]
    links = [CitationLink.of(each) for each in cited]
    return json_reply(ArchiveCheck.of(scored, now, cited_by=links))


async def related(call: Call) -> web.StreamResponse:
    """The documents most related to a document through citations."""
    params = call.parameters(RelatedDocumentParameters)
    record, _ = await find(call, RecordId.parse(params.ref))
    documents = await call.runtime.search.store.read(
        related_to, record.number, depth=params.depth, limit=params.limit
    )
    return json_reply(RelatedDocuments.of(record.ref, documents))


async def report(call: Call) -> web.StreamResponse:
    """Citations counted: of a document, of an archive, or of everything."""
    params = call.parameters(ReportParameters)
    record = (await find(call, RecordId.parse(params.ref)))[0] if params.ref else None
    counts = await call.runtime.store.part(ArchiveStore).citation_report(
        number=record.number if record else None, project=params.archive, most=params.limit
    )
    ref = str(record.ref) if record else None
    return json_reply(CitationReport.of(counts, ref, params.archive))


_REPORTS = 50
"""Reports whose places are compared with a question; more are about something else."""

_EACH = 500
"""Pages that one report cites, at most, of those that are compared."""


class ArchiveBody(Body):
    """Which archive to read. Its folders and schedule are needed once; later its name is enough."""

    name: Name = Field(default="archive", description="Its name, the project of its records")
    research: str = Field(
        default="", alias="researchPath", description="The folder of reports: an absolute path"
    )
    pages: str = Field(
        default="", alias="urlContentPath", description="The folder of saved pages, likewise"
    )
    force: bool = Field(default=False, description="Read every file again, changed or not")
    schedule: Annotated[str, Field(max_length=200)] | None = Field(
        default=None, description="A cron expression, such as 0 4 * * *; empty for none"
    )
    every: Annotated[str, Field(max_length=40)] | None = Field(
        default=None, description="Instead of schedule: an interval such as 1h; empty for none"
    )
    watch: bool | None = Field(
        default=None, alias="watchFiles", description="Read what changes, as it changes"
    )


class CitationParameters(Parameters):
    """Of which record, or about what."""

    ref: IdOfRecord = Field(default="", description="A report or a page, by its ref")
    direction: Literal["cites", "cited-by"] = Field(
        default="cites", description="What the record cites, or what cites it"
    )
    query: Stripped = Field(default="", description="Words of the sentences that cite")
    limit: int = Field(default=100, ge=1, le=1000, description="How many at most")


async def index(call: Call) -> web.StreamResponse:
    """Store what is new about the archive, and queue the reading of its folders."""
    body = call.json_body(ArchiveBody)
    archives = call.runtime.ingest.archives
    known = await archives.get(body.name) or model.Archive(body.name)
    research = await asyncio.to_thread(folder, body.research, "researchPath")
    pages = await asyncio.to_thread(folder, body.pages, "urlContentPath")
    timed = known.schedule
    if body.every is not None or body.schedule is not None:
        timed = schedule_of((body.every or "").strip(), (body.schedule or "").strip())
    changed = replace(
        known,
        research=research or known.research,
        pages=pages or known.pages,
        schedule=timed,
        watch=known.watch if body.watch is None else body.watch,
    )
    if changed.research and changed.research == changed.pages:
        raise InputError("both folders are the same; name two", field="urlContentPath")
    await archives.put(changed)
    return await submitted(
        call, JOB, {"name": body.name, **({"force": True} if body.force else {})}
    )


async def listed(call: Call) -> web.StreamResponse:
    """Every archive with the statistics of its last run."""
    archives = await call.runtime.ingest.archives.listed()
    return json_reply(Archives(archives=[Archive.of(each) for each in archives]))


async def remove(call: Call) -> web.StreamResponse:
    """Stop reading an archive."""
    name = call.request.match_info["name"]
    await call.runtime.ingest.archives.remove(name)
    return json_reply(Deleted(deleted=name))


async def citations(call: Call) -> web.StreamResponse:
    """The citations of a record, or those whose sentences have the words of a question."""
    params = call.parameters(CitationParameters)
    archives = call.runtime.store.part(ArchiveStore)
    if params.ref:
        record, _ = await find(call, RecordId.parse(params.ref))
        if params.direction == "cites":
            page_citations = await archives.references([record.number], params.limit)
        else:
            page_citations = await archives.citations([record.number], params.limit)
    elif params.query:
        page_citations = await _about(call, params.query, params.limit)
    else:
        raise MissingField("give ref, a record, or query, words of the sentences", field="ref")
    return json_reply(PageCitations(citations=[PageCitation.of(each) for each in page_citations]))


async def _about(call: Call, query: str, limit: int) -> list[graph.PageCitation]:
    """Citations with a place whose context has words of ``query``, the most words first.

    A context is a span of its report, so the reports are searched, and their places compared.
    """
    page = await call.search(
        SearchRequest(text=query, filters=Filters(kinds=("report",)), limit=_REPORTS),
        current=True,
    )
    numbers = [result.record.number for result in page.results]
    words = list(dict.fromkeys(runs_of(query.lower())))
    matchers = [WordMatcher((word,)) for word in words]
    ranked: list[tuple[int, int, graph.PageCitation]] = []
    references = await call.runtime.store.part(ArchiveStore).references(numbers, _EACH)
    for at, citation in enumerate(references):
        scored = [
            (sum(bool(matcher.count_in(place.context)) for matcher in matchers), place)
            for place in citation.places
        ]
        best = max((score for score, _ in scored), default=0)
        if best:
            places = tuple(place for score, place in scored if score == best)
            ranked.append((-best, at, replace(citation, places=places)))
    ranked.sort(key=lambda item: item[:2])
    return [citation for _, _, citation in ranked[:limit]]


# fmt: off
ROUTES = (
    Route("POST", "/api/archive/index", index, "Read the folders of an archive of research", "archives", body=ArchiveBody, write=True, only="owner", status=202, response=SubmittedJob, errors=(429,)),
    Route("GET", "/api/archives", listed, "List archives of research", "archives", write=True, only="owner", response=Archives),
    Route("DELETE", "/api/archives/{name}", remove, "Stop reading an archive; its records stay", "archives", write=True, only="owner", response=Deleted),
    Route("GET", "/api/archive/citations", citations, "Show what a report cites, what cites a page, or the words in which pages are cited", "archives", CitationParameters, response=PageCitations, errors=(404,)),
    Route("GET", "/api/archive/search", search, "Search reports and saved pages, with citations", "archives", ArchiveSearchParameters, response=ArchiveResults),
    Route("POST", "/api/archive/search", search, "Search reports and saved pages, with citations", "archives", body=ArchiveSearchBody, response=ArchiveResults),
    Route("POST", "/api/archive/check", check, "Say whether a question is answered, or a page saved, before the web is asked", "archives", body=ArchiveCheckBody, response=ArchiveCheck),
    Route("GET", "/api/archive/related", related, "List the documents most related to one through citations", "archives", RelatedDocumentParameters, response=RelatedDocuments, errors=(404,)),
    Route("GET", "/api/archive/citation-report", report, "Count citations: of a document, of an archive, or of everything", "archives", ReportParameters, response=CitationReport, errors=(404,)),
)
