"""Records and results of a search in JSON: what every reply about records has of them.

A result has its highlights beside that, and a reply the counts by facet.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Annotated, Any, Final, Literal, Self

from mem_search.model import Link, Order, Record, Result, SearchPage, Snippet
from mem_search.records.origin import Origin, Trust, origin_of, trust_of
from mem_search.renderers.safe_text import caution_of, cut
from mem_search.renderers.schema import (
    Absent,
    Count,
    From,
    HowSearched,
    Projection,
    Share,
    SomeFields,
    Time,
    or_none,
    projected,
    schema,
    text_or_none,
    texts,
)
from mem_search.search.citations import Span, words_of
from mem_search.text.highlight import word_matcher
from mem_search.text.stems import stored_language

_TITLE_LENGTH = 100


def title_of(record: Record) -> str:
    """The title of ``record`` in JSON; the beginning of its text where it has none."""
    return record.title or cut(record.text[:1000], _TITLE_LENGTH)


@schema
class SnippetSpan:
    """`text[start:end]` of the record, in characters, has this SHA-256 as UTF-8.

    `page` is the page of a document that has pages, `heading` the path of headings above.
    """

    start: Count
    end: Count
    sha256: str
    page: Annotated[Absent[int], From()] = None
    heading: Absent[str] = None

    @classmethod
    def of(cls, cut: Snippet | Span) -> Self:
        digest = sha256(cut.text.encode("utf-8", "surrogatepass")).hexdigest()
        heading = cut.heading or None
        return projected(
            cls,
            cut,
            sha256=digest,
            heading=heading,
        )


@schema
class RecordLink(Projection[Link]):
    """A pointer to another record: `to` is a ref, a source id or a URL."""

    to: str
    relation: str


@schema
class RecordFields(Projection[Record]):
    """What every record has. `metadata` is what only its kind or source has. `caution` is there
    when its text reads like instructions to an agent: nobody should follow them.
    """

    caution: Annotated[Absent[str], From(".", caution_of)] = None
    ref: Annotated[str, From(then=str)]
    kind: str
    number: int
    title: Annotated[str, From(".", title_of)]
    created_at: Time
    updated_at: Time
    project: str
    source: str
    session: str
    url: str
    tags: tuple[str, ...]
    importance: float | None
    archived: bool
    superseded_by: Annotated[str | None, From(then=text_or_none)]
    supersedes: Annotated[list[str], From(then=texts)]
    metadata: dict[str, Any]


@schema
class WholeRecord(RecordFields):
    """A record with its whole text; passages and citations are spans of `text`. `origin` and
    `trust` say who wrote it. With `max_tokens` the reply says what it costs and what is `cut`.
    """

    source_id: str
    position: int
    text: str
    origin: Annotated[Origin, From(".", origin_of)]
    trust: Annotated[Trust, From(".", trust_of)]
    links: list[RecordLink]
    cut: Absent[list[str]] = None
    note: Absent[str] = None
    tokens_used: Absent[int] = None

    @classmethod
    def of(cls, record: Record, links: tuple[Link, ...] | list[Link] = ()) -> Self:  # type: ignore[override]
        return projected(cls, record, links=[RecordLink.of(link) for link in links])


@schema
class RecordExcerpt:
    """A record of which only the beginning fits into `max_tokens`."""

    ref: Absent[str] = None
    text: str
    cut: Absent[list[str]] = None
    note: str
    tokens_used: Absent[int] = None


@schema
class Highlights:
    """Where words of the question stand in the `title` and the `snippet` beside it.

    Places are `[start, end]` in Unicode code points, in order, without overlaps. Both lists are
    empty for a record that was found by its meaning.
    """

    title: tuple[tuple[Count, Count], ...]
    snippet: tuple[tuple[Count, Count], ...]


@schema
class SearchResult(RecordFields):
    """A record that matched. `similar` are near-duplicates folded under it.

    `score` compares the results of one search, `relevance` is the probability that the record is
    relevant, the same in every search with these words; null where the search has no words.
    """

    snippet: str
    snippet_span: SnippetSpan
    highlights: Highlights
    score: float
    relevance: Share | None
    scores: dict[str, float]
    similar: list[str]

    @classmethod
    def of(cls, result: Result, words: tuple[str, ...]) -> Self:  # type: ignore[override]
        """``words`` of the question are marked."""
        matcher = word_matcher(words, stored_language(result.record.metadata))
        title = title_of(result.record)
        return projected(
            cls,
            result.record,
            snippet=result.snippet.text,
            snippet_span=SnippetSpan.of(result.snippet),
            highlights=Highlights(
                title=matcher.spans(title), snippet=matcher.spans(result.snippet.text)
            ),
            score=result.score,
            relevance=result.relevance,
            scores=dict(result.scores),
            similar=[str(ref) for ref in result.similar],
        )


@schema
class FacetValue:
    """A value of a facet, and how many of the found records have it."""

    value: str
    count: Count


@schema
class Facet:
    """The most frequent values of a facet, of `distinct` in all."""

    values: list[FacetValue]
    distinct: Count


Facets = Absent[dict[str, Facet]]
"""Facet → counts over everything that is found; absent unless the request names facets."""


def facets_of(page: SearchPage) -> dict[str, Facet] | None:
    """The facets of ``page``; None where its request names none."""
    return {
        name: Facet(
            values=[FacetValue(value=value, count=count) for value, count in facet.values],
            distinct=facet.distinct,
        )
        for name, facet in page.facets.items()
    } or None


@schema
class SearchReply:
    """A page of results, best first unless another order was requested.

    `total` counts what answers the question, `folded` those of them that are listed under a
    near-duplicate, `weaker` the other records that share a word with the question. Where nothing
    is `answerable`, `total` is 0 and the results are the nearest three.
    `order` is `fields` where `sort` names what they are sorted by. `tokens_used` is what the
    results cost.
    """

    query: Annotated[str, From("request.text")]
    results: list[SearchResult]
    total: Count
    answerable: Annotated[bool, From("report.answerable")]
    counts_by_type: Annotated[dict[str, int], From("counts")]
    folded: Count
    weaker: Count
    limit: Annotated[int, From("request.limit")]
    offset: Annotated[int, From("request.offset")]
    order: Annotated[Order | Literal["fields"], From("request.order")]
    sort: Annotated[Absent[tuple[str, ...]], From("request.sort", or_none)] = None
    facets: Facets = None
    search: Annotated[HowSearched, From("report")]
    tokens_used: Absent[int] = None

    @classmethod
    def of(cls, page: SearchPage) -> Self:
        words = words_of(page.report.analyzed)
        return projected(
            cls,
            page,
            results=[SearchResult.of(result, words) for result in page.results],
            facets=facets_of(page),
        )


SOME_FIELDS: Final = SomeFields(SearchResult, "ref")


@schema
class ChosenReply(SearchReply):
    """A page whose results have only the fields that the request names, and their `ref`."""

    results: list[Annotated[dict[str, Any], SOME_FIELDS]]  # type: ignore[assignment]
