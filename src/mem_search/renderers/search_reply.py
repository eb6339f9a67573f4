"""The JSON reply of a search: results with their highlights, and counts by facet."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, Self

from mem_search.model import Order, Result, SearchPage
from mem_search.renderers.projection import From, or_none, projected
from mem_search.renderers.record_json import RecordFields, SnippetSpan, title_of
from mem_search.renderers.schema import Absent, Count, HowSearched, SomeFields, schema
from mem_search.search.citations import words_of
from mem_search.text.highlight import WordMatcher, word_matcher


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
    """A record that matched. `similar` are near-duplicates folded under it."""

    snippet: str
    snippet_span: SnippetSpan
    highlights: Highlights
    score: float
    scores: dict[str, float]
    similar: list[str]

    @classmethod
    def of(cls, result: Result, matcher: WordMatcher) -> Self:  # type: ignore[override]
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
    near-duplicate, `weaker` the other records that share a word with the question.
    `order` is `fields` where `sort` names what they are sorted by. `tokens_used` is what the
    results cost.
    """

    query: Annotated[str, From("request.text")]
    results: list[SearchResult]
    total: Count
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
        matcher = word_matcher(words_of(page.report.analyzed))
        return projected(
            cls,
            page,
            results=[SearchResult.of(result, matcher) for result in page.results],
            facets=facets_of(page),
        )


SOME_FIELDS: Final = SomeFields(SearchResult, "ref")


@schema
class ChosenReply(SearchReply):
    """A page whose results have only the fields that the request names, and their `ref`."""

    results: list[Annotated[dict[str, Any], SOME_FIELDS]]  # type: ignore[assignment]
