"""The tool ``search_local_archives``: reports and saved pages, and who cites whom."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Annotated, Final, Self

from pydantic import Field

from mem_search.errors import MissingField
from mem_search.features.archives.model import (
    FIELDS,
    MAX_CITATION_STEPS,
    ArchiveQuestion,
    DocumentCitations,
    FieldMatch,
)
from mem_search.features.archives.replies import CitationLink, CitationReport
from mem_search.features.archives.search import (
    citations_of,
    matches_of,
    related_to,
    request_of,
)
from mem_search.features.archives.sql import ArchiveStore
from mem_search.mcp.tool import BUDGET, MAX_TEXT_CHARS, Arguments, Budget, Text, Tool, ToolContext
from mem_search.model import Record, Result, Snippet
from mem_search.model.graph import PageCitation
from mem_search.model.records import HOLDINGS
from mem_search.records.origin import flags_of
from mem_search.renderers.record_json import title_of
from mem_search.renderers.record_line import notices_of, reading_notes
from mem_search.renderers.safe_text import after_title, fenced, fenced_title, marked, one_line
from mem_search.renderers.schema import Absent, Count, Share, Time, schema, to_values
from mem_search.renderers.token_budget import cost, first_that_fit
from mem_search.renderers.universal import id_of, url_of
from mem_search.runtime import Runtime
from mem_search.search.opening import open_record
from mem_search.text.record_ids import RecordId

MAX_SHOWN: Final = 3
"""Places of a text that show why it was found."""


class ArchiveArguments(Arguments):
    """A question, or a document whose citations are wanted."""

    query: Annotated[Text, Field(max_length=MAX_TEXT_CHARS)] = ""
    id: Annotated[Text, Field(max_length=100)] = Field(
        default="", description="Instead of query: a document; returns what is related to it"
    )
    report: bool = Field(
        default=False, description="Counts of citations instead: of id, of archive, or of all"
    )
    include_citations: bool = Field(default=False, description="Who cites whom, with the words")
    citation_depth: int = Field(default=1, ge=1, le=MAX_CITATION_STEPS)
    archive: Text = Field(default="", description="Only this archive")
    limit: int = Field(default=10, ge=1, le=100)
    max_tokens: Budget = BUDGET


@schema
class ArchiveHit:
    """A report (``source`` is ``research``) or a saved page, with what matched."""

    id: str
    title: str
    source: str
    url: str
    date: Time
    text: str

    @classmethod
    def of(cls, record: Record, text: str, base: str) -> Self:
        title = title_of(record)
        if flags_of(record.metadata):
            title, text = fenced_title(title), fenced(text) if text else ""
        return cls(
            id=id_of(record),
            title=title,
            source=HOLDINGS.get(record.kind, record.source),
            url=url_of(record, base),
            date=record.created_at,
            text=text,
        )


@schema
class GraphNode:
    """A document, or a page that is not stored, which has its address as ``id``."""

    id: str


@schema
class GraphEdge:
    """``source`` cites ``target``."""

    source: str
    target: str
    confidence: float


@schema
class CitationGraph:
    """Who cites whom; ``picture`` is the address of a drawing."""

    nodes: list[GraphNode]
    edges: list[GraphEdge]
    picture: Absent[str] = None

    @classmethod
    def of(
        cls, hits: Sequence[ArchiveHit], links: Sequence[CitationLink], room: int, base: str
    ) -> Self:
        """Of ``hits`` and their citations, with as many edges as cost at most ``room`` tokens."""
        edges = [
            GraphEdge(
                source=f"local:{link.source_id}",
                target=f"local:{link.target_id}" if link.target_id else link.target_url,
                confidence=link.confidence,
            )
            for link in links
        ]
        kept, _ = first_that_fit(edges, max(0, room) // 2)
        titles = {hit.id: hit.title for hit in hits}
        named = dict.fromkeys([*titles, *(end for edge in edges[:kept] for end in
                                          (edge.source, edge.target))])  # fmt: skip
        about = next((edge.source for edge in edges), next(iter(titles), ""))
        drawn = f"{base}/api/graph/export?format=svg&ref={about.removeprefix('local:')}"
        return cls(
            nodes=[GraphNode(id=name) for name in named],
            edges=edges[:kept],
            picture=drawn if about else None,
        )


@schema
class ArchiveHits:
    """Documents, best first. ``confidence`` is that one of them answers: 0.5 is enough to read
    them before the web is asked. ``citations`` are there where they are asked for.
    """

    results: list[ArchiveHit]
    total: Count
    confidence: Absent[Share] = None
    citations: Absent[list[CitationLink]] = None
    citation_graph: Annotated[Absent[CitationGraph], Field(serialization_alias="citationGraph")] = (
        None
    )
    report: Absent[CitationReport] = None
    note: Absent[str] = None


async def search_local_archives(context: ToolContext, arguments: ArchiveArguments) -> ArchiveHits:
    """Documents that answer ``query``, or are related to ``id``; with ``report`` the counts.

    Raises MissingField, NotFound.
    """
    if arguments.report:
        return await _counted(context.runtime, arguments)
    runtime, notes, confidence = context.runtime, [], None
    if arguments.id.strip():
        record, _ = await open_record(
            runtime.search.store, RecordId.parse(arguments.id, field="id"), "id"
        )
        documents = await runtime.search.store.read(
            related_to, record.number, depth=arguments.citation_depth, limit=arguments.limit
        )
        hits = [ArchiveHit.of(each, "", context.base) for each, _, _ in documents]
        numbers, total = [record.number], len(documents)
    elif arguments.query.strip():
        question = ArchiveQuestion(
            arguments.query, limit=arguments.limit, archive=arguments.archive.strip()
        )
        request = await request_of(runtime.search.store, question)
        page = await runtime.search.service.search(
            replace(request, asked_at=context.display.now), context.surface
        )
        confidence = max((each.confidence or 0.0 for each in page.results), default=0.0)
        matches = matches_of(page, FIELDS)
        hits = [
            ArchiveHit.of(result.record, " … ".join(_shown(result, some)), context.base)
            for result, some in zip(page.results, matches, strict=True)
        ]  # fmt: skip
        numbers, total = [result.record.number for result in page.results], page.total
        notes = notices_of(page.report)
        notes += reading_notes(page.report.analyzed, "after:DATE and before:DATE in the query", "")
    else:
        raise MissingField("give a query, or the id of a document", field="query")
    kept, spent = first_that_fit(hits, arguments.max_tokens)
    reply = ArchiveHits(results=hits[:kept], total=total, confidence=confidence)
    if arguments.include_citations or arguments.id.strip():
        citations = await citations_of(
            runtime.store.part(ArchiveStore), numbers, arguments.citation_depth
        )
        links = [CitationLink.of(each) for each in _distinct(citations.values())]
        links = [replace(each, context=marked(each.context)) for each in links]
        fitting, cited = first_that_fit(links, max(0, arguments.max_tokens - spent))
        reply.citations = links[:fitting]
        room = arguments.max_tokens - spent - cited
        reply.citation_graph = CitationGraph.of(reply.results, reply.citations, room, context.base)
        if fitting < len(links):
            notes.append(f"{fitting} of {len(links)} citations fit max_tokens")
    if kept < len(hits):
        notes.append(f"{kept} of {len(hits)} documents fit max_tokens={arguments.max_tokens}")
    reply.note = "\n".join(notes) or None
    return reply


async def _counted(runtime: Runtime, arguments: ArchiveArguments) -> ArchiveHits:
    """The counts of citations, with as many items of each list as fit."""
    record: Record | None = None
    if arguments.id.strip():
        ref = RecordId.parse(arguments.id, field="id")
        record, _ = await open_record(runtime.search.store, ref, "id")
    archive, most = arguments.archive.strip(), arguments.limit
    while True:
        counts = await runtime.store.part(ArchiveStore).citation_report(
            number=record.number if record else None, project=archive, most=most
        )
        report = CitationReport.of(counts, str(record.ref) if record else None, archive)
        if most == 1 or cost(to_values(report)) <= arguments.max_tokens:
            break
        most //= 2
    note = f"{most} of each list, to fit max_tokens" if most < arguments.limit else None
    return ArchiveHits(results=[], total=counts.documents, report=report, note=note)


def _shown(result: Result, matches: Sequence[FieldMatch]) -> list[str]:
    """Up to three places of the text that match, none twice, without the title that is shown."""
    record, shown = result.record, list[Snippet]()
    begins = after_title(record.text, title_of(record))
    for match in matches:
        for each in match.snippets[:1] if match.field == "content" else ():
            if each.end > begins and all(each.end <= b.start or each.start >= b.end for b in shown):
                shown.append(each)
    kept = sorted(shown[:MAX_SHOWN] or [result.snippet], key=lambda each: each.start)
    return [one_line(record.text[max(each.start, begins) : each.end]) for each in kept]


def _distinct(documents: Iterable[DocumentCitations]) -> list[PageCitation]:
    """Each citation once, in order."""
    by_pair: dict[tuple[object, str], PageCitation] = {}
    for each in documents:
        for citation, _ in (*each.citing, *each.cited):
            by_pair.setdefault((citation.citing, citation.target), citation)
    return list(by_pair.values())


SEARCH_LOCAL_ARCHIVES = Tool(
    name="search_local_archives",
    aliases=("searchLocalArchives",),
    title="Search research and its citations",
    description="Search research reports and saved web pages, with who cites whom. Use it before"
    " researching something on the web again.",
    arguments=ArchiveArguments,
    reply=ArchiveHits,
    handler=search_local_archives,
)
