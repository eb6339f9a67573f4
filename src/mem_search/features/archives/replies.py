"""Documents of archives, the citations between them and their counts, as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final, Self

from pydantic import Field

from mem_search.features.archives import model as archives
from mem_search.model import Record, Ref, SearchPage, Snippet, graph
from mem_search.model.records import HOLDINGS
from mem_search.renderers.record_json import title_of
from mem_search.renderers.safe_text import caution_of, one_line
from mem_search.renderers.schema import (
    Absent,
    Count,
    From,
    HowSearched,
    Projection,
    Share,
    Time,
    projected,
    schema,
    text_or_none,
)
from mem_search.search.citations import relevance
from mem_search.text.schedules import parts


@schema
class ArchiveDocument:
    """A report (`source` is `research`) or a saved page (`url-content`). `id` is its ref.

    `score` is from 0 to 1. `path` and `url` are empty where there are none. `caution` is there when
    its text reads like instructions to an agent.
    """

    caution: Annotated[Absent[str], From(".", caution_of)] = None
    id: Annotated[str, From("ref", str)]
    title: Annotated[str, From(".", title_of)]
    path: Annotated[str, From(".", lambda record: str(record.metadata.get("path") or ""))]
    source: Annotated[str, From(".", lambda record: HOLDINGS.get(record.kind, record.source))]
    type: Annotated[str, From(".", lambda record: str(record.metadata.get("type") or record.kind))]
    url: str
    date: Annotated[Time, From("created_at")]
    score: Share

    @classmethod
    def of(cls, record: Record, score: float) -> Self:
        return projected(cls, record, score=round(score, 6))


def _in_lines(snippets: Sequence[Snippet]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one_line(each.text) for each in snippets))


@schema
class FieldMatch(Projection[archives.FieldMatch]):
    """A word of the question in a field; `term` is empty for what was found by its meaning."""

    field: archives.ArchiveField
    term: str
    snippets: Annotated[tuple[str, ...], From(then=_in_lines)]


@schema
class CitationLink(Projection[graph.PageCitation]):
    """`sourceId` cites `targetUrl`, in the words of `context`.

    `targetId` is null while the page is not stored. `confidence` is 1 for what the text says
    explicitly, and less for what similar words show.
    """

    source_id: Annotated[str, Field(serialization_alias="sourceId"), From("citing", str)]
    target_url: Annotated[str, Field(serialization_alias="targetUrl"), From("target")]
    target_id: Annotated[
        str | None, Field(serialization_alias="targetId"), From("cited", text_or_none)
    ]
    context: Annotated[str, From("places", lambda places: places[0].context if places else "")]
    confidence: float


@schema
class CitationAtDepth(CitationLink):
    """A citation, `depth` steps from the document."""

    depth: Count


@schema
class CitationsOfDocument:
    """What cites the document, and what it cites; the nearest first."""

    citing: list[CitationAtDepth]
    cited: list[CitationAtDepth]

    @classmethod
    def of(cls, citations: archives.DocumentCitations) -> Self:
        return cls(
            citing=[CitationAtDepth.of(each, depth=depth) for each, depth in citations.citing],
            cited=[CitationAtDepth.of(each, depth=depth) for each, depth in citations.cited],
        )


@schema
class ArchiveResult:
    """A document, where the words of the question are in it, and its citations where asked for."""

    document: ArchiveDocument
    matches: list[FieldMatch]
    citations: Absent[CitationsOfDocument] = None


@schema
class ArchiveResults:
    """Documents, best first; `total` counts all that answer the question."""

    query: str
    results: list[ArchiveResult]
    total: Count
    search: HowSearched

    @classmethod
    def of(
        cls,
        page: SearchPage,
        matches: Sequence[Sequence[archives.FieldMatch]],
        citations: dict[int, archives.DocumentCitations],
        flags: tuple[str, ...] = (),
    ) -> Self:
        return cls(
            query=page.request.text,
            results=[
                ArchiveResult(
                    document=ArchiveDocument.of(result.record, relevance(page, result)),
                    matches=list(map(FieldMatch.of, field_matches)),
                    citations=CitationsOfDocument.of(citations[result.record.number])
                    if result.record.number in citations
                    else None,
                )
                for result, field_matches in zip(page.results, matches, strict=True)
            ],
            total=page.total,
            search=HowSearched.of(page.report, flags),
        )


_MS_PER_DAY: Final = 24 * 3600 * 1000


@schema
class CheckedDocument:
    """A document that may answer (0.1 or more), how sure that is, and the words that matched.

    `age_days` are the whole days since its date.
    """

    document: ArchiveDocument
    confidence: Share
    age_days: Count
    text: str


@schema
class ArchiveCheck:
    """Whether a question is answered, or a page saved, in reports and saved pages.

    `confidence` is that of the best document; `answered` says that it is at least 0.5. `date` and
    `age_days` are of the newest document that answers. `cited_by` says which reports cite the page,
    also where it is not saved.
    """

    answered: bool
    confidence: Share
    date: Time | None
    age_days: Count | None
    documents: list[CheckedDocument]
    cited_by: Absent[list[CitationLink]] = None
    search: Absent[HowSearched] = None

    @classmethod
    def of(
        cls, scored: Sequence[tuple[ArchiveDocument, float, str]], now: int, /, **more: Any
    ) -> Self:
        """From documents with their confidence and words, best first; ``now`` in ms since 1970."""
        documents = [
            CheckedDocument(
                document=document,
                confidence=confidence,
                age_days=max(0, now - document.date) // _MS_PER_DAY,
                text=text,
            )
            for document, confidence, text in scored
        ]
        highest = max((each.confidence for each in documents), default=0.0)
        answers = [each for each in documents if each.confidence >= archives.ANSWERED]
        newest = min(answers, key=lambda each: each.age_days, default=None)
        return cls(
            answered=bool(answers),
            confidence=highest,
            date=newest.document.date if newest else None,
            age_days=newest.age_days if newest else None,
            documents=documents,
            **more,
        )


@schema
class RelatedDocument:
    """A document related through citations; `depth` is its distance in steps."""

    document: ArchiveDocument
    depth: Count


@schema
class RelatedDocuments:
    """The documents most related to `ref` through what they cite and what cites them."""

    ref: str
    results: list[RelatedDocument]

    @classmethod
    def of(cls, ref: Ref, documents: Sequence[tuple[Record, float, int]]) -> Self:
        return cls(
            ref=str(ref),
            results=[
                RelatedDocument(document=ArchiveDocument.of(record, score), depth=depth)
                for record, score, depth in documents
            ],
        )


@schema
class CountedPage(Projection[archives.CountedPage]):
    """A page, its record where it is stored (`id`), and how many documents cite it."""

    url: str
    id: Annotated[str | None, From("ref", text_or_none)]
    title: str
    count: Count


@schema
class CountedDocument(Projection[archives.CountedDocument]):
    """A document and how many pages it cites; `shared` of them are cited by others, too."""

    id: Annotated[str, From("ref", str)]
    title: str
    count: Count
    shared: Count


@schema
class PagePair(Projection[archives.PagePair]):
    """Two pages that `count` documents cite together."""

    one: CountedPage
    other: CountedPage
    count: Count


@schema
class Freshness(Projection[archives.Freshness]):
    """The dates of the stored pages that are cited."""

    dated: Count
    oldest: Time | None
    newest: Time | None
    median: Time | None


@schema
class CitationReport:
    """Citations counted: of the document `ref`, of an archive, or of everything.

    `citing` of the `documents` cite anything. `citations` are pairs of a document and a page,
    `implicit` of them found by similar words; `places` are where texts state them. `stored` of the
    `pages` have a record; `cited_by` documents cite one of these documents. `most_cited` counts
    the documents that cite a page, `hubs` the pages that a document cites, `together` the
    documents that cite both pages. `dead_ends` are cited pages that are not stored, `orphans`
    documents without any citation. `coupled` are the documents that cite the same pages as `ref`.
    """

    ref: str | None
    archive: str
    documents: Count
    citing: Count
    citations: Count
    implicit: Count
    places: Count
    pages: Count
    stored: Count
    cited_by: Count
    most_cited: list[CountedPage]
    hubs: list[CountedDocument]
    together: list[PagePair]
    dead_ends: list[CountedPage]
    orphan_count: Count
    orphans: list[CountedDocument]
    freshness: Freshness
    coupled: list[CountedDocument]

    @classmethod
    def of(cls, report: archives.CitationReport, ref: str | None, archive: str) -> Self:
        return projected(cls, report, ref=ref, archive=archive)


@schema
class Archive(Projection[archives.Archive]):
    """An archive: its folders, when they are read, and the statistics of the last run.

    `schedule` is a cron expression, `every` an interval; one of them is empty.
    """

    name: str
    research: Annotated[str, Field(serialization_alias="researchPath")]
    pages: Annotated[str, Field(serialization_alias="urlContentPath")]
    schedule: Annotated[str, From(then=lambda schedule: parts(schedule)[1] or "")]
    every: Annotated[str, From("schedule", lambda schedule: parts(schedule)[0] or "")]
    watch: Annotated[bool, Field(serialization_alias="watchFiles")]
    next_at: Time | None
    indexed_at: Time | None
    statistics: dict[str, Any]


@schema
class Archives:
    """Archives by name."""

    archives: list[Archive]


@schema
class CitePlace(Projection[graph.CitePlace]):
    """A place of the citing text: `start` and `end` are characters, `context` is its sentence."""

    form: graph.CiteForm
    start: Count
    end: Count
    context: str


@schema
class PageCitation(CitationLink):
    """A citation with all its places in the text; `context` is that of the first."""

    places: list[CitePlace]


@schema
class PageCitations:
    """Citations, in the order of the text, or the best or newest first."""

    citations: list[PageCitation]
