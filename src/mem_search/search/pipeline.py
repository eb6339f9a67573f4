"""The search, on one screen: question → rankings → union → fusion → context → page.

It knows the legs only by their contract. The page's report says what went wrong on the way; only
a search that no leg can answer raises.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mem_search.contracts import Question, Retriever
from mem_search.errors import Unavailable
from mem_search.model import (
    Filters,
    Hit,
    LegReport,
    Result,
    SearchPage,
    SearchReport,
    SearchRequest,
)
from mem_search.model.rankings import Ranking
from mem_search.records.registry import KindRegistry
from mem_search.search.hydration import hydrate
from mem_search.search.legs import LegAnswer, ms, run_legs
from mem_search.search.query_understanding import understand_query
from mem_search.search.ranking import Answered, rank
from mem_search.search.scopes import filters_of
from mem_search.search.stages import STAGES
from mem_search.search.state import Stage
from mem_search.storage.ports.search import SearchSnapshot, SearchStore

DEPTH = 200
"""Candidates a leg brings into the union; 100 loses a point of recall on chats."""

VECTOR_DEPTH = 500
"""How far a search by meaning alone can be paged: its total counts what lies within."""


@dataclass(frozen=True, slots=True)
class _Found:
    """The results of the page, best first, and how many records match, by kind."""

    results: tuple[Result, ...]
    counts: Mapping[str, int]
    folded: int = 0
    legs: tuple[LegReport, ...] = ()
    notices: tuple[str, ...] = ()
    realised: str = "filter"


class SearchPipeline:
    """Search over one store with a fixed set of legs."""

    def __init__(
        self,
        store: SearchStore,
        legs: Sequence[Retriever],
        kinds: KindRegistry,
        stages: Sequence[Stage] = STAGES,
    ) -> None:
        self._store = store
        self._legs = legs
        self._kinds = kinds
        self._stages = stages

    async def search(self, request: SearchRequest) -> SearchPage:
        """Answer one search.

        Raises MissingField when there is neither a question nor a filter, InputError for an
        unknown scope, Unavailable when no leg answers.
        """
        started = time.perf_counter()
        query = replace(request, filters=await self.filters_of(request))
        question, analyzed = await understand_query(self._store, query, self._kinds)
        is_asked = bool(question.text.strip())
        found = await (self._rank if is_asked else self._browse)(query, question)
        corpus = await self._store.corpus()
        coverage = corpus.coverage
        notices = list(found.notices)
        if coverage < 1 and is_asked and query.mode != "keyword":
            notices.append(
                f"the vector index covers {coverage:.1%} of the store so far;"
                " keyword search covers all of it"
            )
        return SearchPage(
            request=request,
            results=_in_order(found.results, query),
            total=sum(found.counts.values()),
            counts=found.counts,
            folded=found.folded,
            report=SearchReport(
                requested=query.mode,
                realised=found.realised,  # type: ignore[arg-type]
                legs=found.legs,
                coverage=coverage,
                index_age_s=corpus.index_age(time.time()),
                took_ms=ms(started),
                notices=tuple(notices),
                analyzed=analyzed,
            ),
        )

    async def filters_of(self, request: SearchRequest) -> Filters:
        """The filters of ``request`` with its scope, folder, domain and hidden scratchpad."""
        return await filters_of(self._store, request, self._kinds)

    async def _browse(self, query: SearchRequest, question: Question) -> _Found:
        """Nothing to look for: everything that passes the filters, by date."""
        return await self._store.read(_browsed, query, question)

    async def _rank(self, query: SearchRequest, question: Question) -> _Found:
        legs = [leg for leg in self._legs if query.mode in ("hybrid", leg.name)]
        depth = VECTOR_DEPTH if query.mode == "vector" else DEPTH
        answers = await run_legs(self._store, legs, question, depth)
        rankings = [answer.ranking for answer in answers if answer.ranking is not None]
        if not rankings:
            raise Unavailable("; ".join(f"{a.leg.name}: {a.error}" for a in answers))
        answered = Answered(query, question, answers, depth, self._kinds.ranking)
        found = await self._store.read(_ranked, answered, rankings, self._stages)
        reach = query.offset + query.limit + found.folded
        if reach > depth:
            further = await self._further(question, answers, reach)
            found = await self._store.read(_ranked, answered, further, self._stages)
        return replace(
            found,
            legs=tuple(answer.report for answer in answers),
            notices=tuple(
                f"{answer.leg.name} search did not answer ({answer.error});"
                " results come from the other leg"
                for answer in answers
                if answer.ranking is None
            ),
            realised=query.mode if len(rankings) == len(legs) else rankings[0].name,
        )

    async def _further(
        self, question: Question, answers: Sequence[LegAnswer], reach: int
    ) -> list[Ranking]:
        """The rankings as far as a page at ``reach`` needs them.

        Only what follows the fused hits comes from deeper down: the union, and with it every
        score, is the same for all pages of a search, so that they fit together.
        """
        given = [(a.leg, a.ranking) for a in answers if a.ranking is not None]
        return await asyncio.gather(
            *(leg.rank(question, reach) for leg, ranking in given if len(ranking.matched))
        )


def _browsed(snapshot: SearchSnapshot, query: SearchRequest, question: Question) -> _Found:
    numbers = snapshot.browse(question.filters, query.order, query.limit, query.offset)
    hits = [Hit(number, 0.0) for number in numbers]
    return _Found(
        _hydrated(snapshot, query, hits, ()),
        snapshot.counts(question.filters),
    )


def _ranked(
    snapshot: SearchSnapshot,
    answered: Answered,
    further: Sequence[Ranking],
    stages: Sequence[Stage],
) -> _Found:
    """All that follows the legs, in one read: a turn between threads costs as much as a stage."""
    ranked = rank(snapshot, answered, further, stages=stages)
    return _Found(
        _hydrated(snapshot, answered.request, ranked.page, answered.question.words.all),
        ranked.counts,
        ranked.folded,
    )


def _hydrated(
    snapshot: SearchSnapshot,
    request: SearchRequest,
    hits: Sequence[Hit],
    words: Sequence[str],
) -> tuple[Result, ...]:
    results = hydrate(snapshot, hits, words, length=request.texts.snippet_length)
    if not request.is_research:
        return results
    passages = snapshot.spans_of_records([each.record.number for each in results])
    return tuple(
        replace(each, passages=tuple(passages.get(each.record.number, ()))) for each in results
    )


def _in_order(results: tuple[Result, ...], query: SearchRequest) -> tuple[Result, ...]:
    """Relevance has decided which results make the page; then, and only then, the asked order."""
    if query.order == "relevance":
        return results
    return tuple(
        sorted(
            results,
            key=lambda result: (result.record.created_at, result.record.number),
            reverse=query.order == "date_desc",
        )
    )
