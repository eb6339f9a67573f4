"""``/api/archive/search``, and what citations say: related documents, and counts as a report."""

from __future__ import annotations

from typing import Annotated, Any

from aiohttp import web
from pydantic import AfterValidator, BeforeValidator, Field

from mem_search.http.core.parameter_types import IdOfRecord, Stripped, Text, split
from mem_search.http.core.parameters import Body, Parameters
from mem_search.http.core.replies import json_reply
from mem_search.http.core.routing import Call
from mem_search.http.records import find
from mem_search.model.archives import DEEPEST, FIELDS, ArchiveField, ArchiveQuestion
from mem_search.renderers.archives import ArchiveResults, CitationReport, RelatedDocuments
from mem_search.search.archive_search import citations_of, matches_of, related_to, request_of
from mem_search.text.record_ids import RecordId
from mem_search.validation import not_blank

_WORDS: Any = Field(description="Words or a question; may use the query language")
_FUZZY: Any = Field(
    default=True,
    description="Any word counts, by its meaning too, and misspellings are corrected; false: a"
    " document has all words",
)
_WHERE: Any = Field(default=FIELDS, description="Where words have to be: title, content, query")
_MOST: Any = Field(default=20, ge=1, le=100, description="How many at most")
_INCLUDE: Any = Field(
    default=False, alias="includeCitations", description="What cites each document, and it cites"
)
_DEPTH: Any = Field(
    default=1, alias="citationDepth", ge=1, le=DEEPEST, description="Steps along citations"
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
    limit: int = _MOST
    include_citations: bool = _INCLUDE
    citation_depth: int = _DEPTH
    archive: Stripped = _ARCHIVE


class ArchiveSearchBody(Body):
    """The same as a body."""

    query: Question = _WORDS
    fuzzy: bool = _FUZZY
    fields: list[ArchiveField] = Field(default=[*FIELDS], description=_WHERE.description)
    limit: int = _MOST
    include_citations: bool = _INCLUDE
    citation_depth: int = _DEPTH
    archive: Stripped = _ARCHIVE


class RelatedDocumentParameters(Parameters):
    """Of which document, and how far away."""

    ref: IdOfRecord = Field(description="A report or a page, by its ref")
    depth: int = Field(default=1, ge=1, le=DEEPEST, description="Steps along citations")
    limit: int = _MOST


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
