"""``/api/archive/search``, and what citations say: related documents, and counts as a report."""

from __future__ import annotations

from typing import Annotated, Any

from aiohttp import web
from pydantic import AfterValidator, BeforeValidator, Field

from mem_search.errors import InputError, MissingField
from mem_search.http.core.parameter_types import IdOfRecord, Stripped, Text, split
from mem_search.http.core.parameters import Body, Parameters
from mem_search.http.core.replies import json_reply
from mem_search.http.core.routing import Call
from mem_search.http.records import find
from mem_search.ingest.edges import key_of_link
from mem_search.model.archives import FIELDS, MAX_CITATION_STEPS, ArchiveField, ArchiveQuestion
from mem_search.renderers.archives import (
    ArchiveCheck,
    ArchiveDocument,
    ArchiveResults,
    CitationLink,
    CitationReport,
    RelatedDocuments,
)
from mem_search.renderers.safe_text import cut
from mem_search.renderers.schema import HowSearched
from mem_search.search import archive_check
from mem_search.search.archive_search import (
    MAX_CITATIONS,
    SNIPPET,
    citations_of,
    matches_of,
    related_to,
    request_of,
)
from mem_search.search.citations import relevance
from mem_search.text.dates import now_ms
from mem_search.text.page_names import page_name
from mem_search.text.record_ids import RecordId
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
        await citations_of(runtime.store.archives, numbers, asked.citation_depth)
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
        page = await call.search(archive_check.request_of(body.query, body.archive, body.limit))
        sure = await archive_check.confidences(store, page)
        found = [
            (ArchiveDocument.of(each.record, relevance(page, each)), how_sure, each.snippet.text)
            for each, how_sure in zip(page.results, sure, strict=True)
            if how_sure >= archive_check.MIN_SCORE
        ]
        found = sorted(found, key=lambda each: -each[1])[: body.limit]
        how = HowSearched.of(page.report, call.flags)
        return json_reply(ArchiveCheck.of(found, now, search=how))
    if not page_name(body.url):
        raise InputError(f"{body.url[:200]!r} is no address of a page", field="url")
    names = [f"url:{page_name(body.url)}", key_of_link(body.url)]
    numbers, cited = await call.runtime.store.archives.page(names, MAX_CITATIONS)
    records = await store.read(lambda snapshot: snapshot.records(numbers))
    saved = [record for record in records.values() if body.archive in ("", record.project)]
    saved.sort(key=lambda record: -record.created_at)
    found = [
        (ArchiveDocument.of(record, 1.0), 1.0, cut(record.text, SNIPPET))
        for record in saved[: body.limit]
    ]
    links = [CitationLink.of(each) for each in cited]
    return json_reply(ArchiveCheck.of(found, now, cited_by=links))


async def related(call: Call) -> web.StreamResponse:
    """The documents most related to a document through citations."""
    params = call.parameters(RelatedDocumentParameters)
    record, _ = await find(call, RecordId.parse(params.ref))
    found = await call.runtime.search.store.read(
        related_to, record.number, depth=params.depth, limit=params.limit
    )
    return json_reply(RelatedDocuments.of(record.ref, found))


async def report(call: Call) -> web.StreamResponse:
    """Citations counted: of a document, of an archive, or of everything."""
    params = call.parameters(ReportParameters)
    record = (await find(call, RecordId.parse(params.ref)))[0] if params.ref else None
    found = await call.runtime.store.archives.citation_report(
        number=record.number if record else None, project=params.archive, most=params.limit
    )
    ref = str(record.ref) if record else None
    return json_reply(CitationReport.of(found, ref, params.archive))
