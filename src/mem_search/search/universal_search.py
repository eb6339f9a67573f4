"""The universal search: the engine's answer with citations, spans and annotations.

The legs of the engine are what seed 000 calls providers: they run side by side, one that fails
is named in the page's report, and the rest answer. Nothing is ranked here.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from mem_search.contracts import RecordKind
from mem_search.model import Citation, Demand, Record, Result, SearchPage, SearchRequest
from mem_search.records import kind_called
from mem_search.search import annotation, scopes
from mem_search.search.legs import ms
from mem_search.search.universal import (
    SNIPPET_LENGTH,
    Annotation,
    Span,
    UniversalItem,
    UniversalPage,
    UniversalQuery,
)
from mem_search.search.universal_filters import SCRATCHPAD, search_query
from mem_search.storage.sqlite import passage_spans
from mem_search.storage.sqlite.database import Database
from mem_search.storage.sqlite.filter_masks import numbers_passing
from mem_search.storage.sqlite.passage_spans import PassageSpan
from mem_search.storage.sqlite.record_columns import RecordColumns
from mem_search.text.highlight import word_matcher

SPREAD = 2.0
"""Fused scores are sums of z-scores of up to two legs: a good match has about 4."""


class Asked(Protocol):
    """Who answers a plain search: ``search.search_service.Front``."""

    async def search(self, query: SearchRequest, surface: str) -> SearchPage: ...


class UniversalSearch:
    """Universal queries over one store."""

    def __init__(
        self,
        front: Asked,
        database: Database,
        kinds: Callable[[str], RecordKind],
        columns: RecordColumns,
    ) -> None:
        self._front = front
        self._database = database
        self._kinds = kinds
        self._columns = columns

    async def search(
        self, query: UniversalQuery, surface: str, *, asked_at: datetime | None = None
    ) -> UniversalPage:
        """Answer one query for ``surface``, the word for who asked: http, cli, mcp.

        ``asked_at`` is the moment of asking in the caller's time zone. Raises MissingField when
        there is neither a question nor a filter, InputError for a scope that there is not,
        Unavailable when no leg answers.
        """
        started = time.perf_counter()
        scratchpad = await numbers_passing(self._columns, SCRATCHPAD)
        scope = await self.scope(query, asked_at)
        asked = search_query(query, scratchpad=scratchpad, asked_at=asked_at, scope=scope)
        page = await self._front.search(asked, surface)
        items = await self._items(query, page)
        return UniversalPage(
            query=query,
            items=items,
            total=page.total,
            counts=page.counts,
            took_ms=ms(started),
            report=page.report,
        )

    async def scope(self, query: UniversalQuery, asked_at: datetime | None = None) -> Demand | None:
        """What the query's scope demands of a record. Raises InputError when there is none."""
        if not query.scope:
            return None
        now = asked_at or datetime.now().astimezone()
        return await scopes.scope(self._database, query.scope, now, kind_called)

    def citation(self, record: Record) -> Citation:
        """Where ``record`` comes from, as its kind tells it."""
        return self._kinds(record.kind).citation(record)

    async def _items(self, query: UniversalQuery, page: SearchPage) -> tuple[UniversalItem, ...]:
        words = annotation.words_of(page.report.analyzed)
        passages: Mapping[int, Sequence[PassageSpan]] = {}
        if query.mode == "deep_research":
            numbers = [result.record.number for result in page.results]
            passages = await self._database.read(passage_spans.passages_of, numbers)
        is_lit = word_matcher(words)
        is_ranked = page.report.realised != "filter"
        return tuple(
            UniversalItem(
                record=result.record,
                relevance=relevance(result.score) if is_ranked else 0.0,
                citation=self.citation(result.record),
                snippet=_snippet(query, result),
                match_fields=annotation.match_fields(result, is_lit) if is_ranked else (),
                full_content=result.record.text if query.full_content else None,
                annotations=_annotations(query, result, passages, words),
                scores=result.scores,
            )
            for result in page.results
        )


def _snippet(query: UniversalQuery, result: Result) -> Span | None:
    if query.snippet_length is None:
        return None
    cut = result.snippet
    return annotation.span(result.record, cut.start, cut.end, cut.page)


def _annotations(
    query: UniversalQuery,
    result: Result,
    passages: Mapping[int, Sequence[PassageSpan]],
    words: Sequence[str],
) -> tuple[Annotation, ...] | None:
    if query.mode != "deep_research":
        return None
    own = passages.get(result.record.number, ())
    length = query.snippet_length or SNIPPET_LENGTH
    return annotation.annotate(result, own, words, length=length)


def relevance(score: float) -> float:
    """A fused score as a number in 0..1 that grows with it; .5 is the average candidate's."""
    # Far below any score that occurs exp() would overflow.
    return round(1 / (1 + math.exp(-max(score, -1000.0) / SPREAD)), 6)
