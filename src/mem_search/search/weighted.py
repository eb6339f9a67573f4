"""The search with weights that the caller sets: legs → RRF → graph → RRF → page.

Beside ``engine``: that one decides by itself how much each leg counts, this one does as it is
told and says what every leg contributed. Both ask the same legs and call the same things a match
(``matching``). Filters hold in every leg, also for what the graph reaches.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from mem_search.contracts import Question, Retriever
from mem_search.errors import MemSearchError, Unavailable
from mem_search.model import Filters, Hit, LegReport, SearchRequest
from mem_search.records.registry import KindRegistry
from mem_search.retrievers.graph import NAME as GRAPH
from mem_search.retrievers.graph import Expansion, GraphExpansion
from mem_search.search import candidates, rrf
from mem_search.search.hydration import hydrate
from mem_search.search.legs import exact_scores, ms, run_legs
from mem_search.search.priority import SearchPriority
from mem_search.search.query_understanding import filters_decide, understand_query
from mem_search.search.weights import Found, Graph, Share, Walk, WeightedPage, WeightedQuery
from mem_search.storage.ports.search import SearchStore

DEPTH = 200
"""Candidates of each leg that are fused: twice the longest page."""

CLOUD = 40
"""Records beside the seeds in the picture of the graph: more is no picture."""


@dataclass(frozen=True, slots=True)
class _Ranked:
    """The hits of the page, best first, and what every leg says of them."""

    hits: tuple[Hit, ...] = ()
    shares: Mapping[int, Mapping[str, Share]] = field(default_factory=dict)
    legs: tuple[LegReport, ...] = ()
    fusion_ms: float = 0.0
    expansion: Expansion | None = None


class WeightedSearch:
    """Search over one store with weights given per question."""

    def __init__(
        self,
        store: SearchStore,
        legs: Sequence[Retriever],
        graph: GraphExpansion,
        kinds: KindRegistry,
        priority: SearchPriority | None = None,
    ) -> None:
        self._store = store
        self._legs = legs
        self._graph = graph
        self._kinds = kinds
        self._priority = priority or SearchPriority()

    async def search(self, query: WeightedQuery) -> WeightedPage:
        """Answer one search. Raises Unavailable when none of its legs answers.

        A text that only filters (``type:bugfix``) is answered by the newest that pass, score 0.
        """
        with self._priority:
            return await self._search(query)

    async def _search(self, query: WeightedQuery) -> WeightedPage:
        started = time.perf_counter()
        asked = SearchRequest(query.text, query.filters, asked_at=query.asked_at)
        question, analyzed = await understand_query(self._store, asked, self._kinds)
        ranked = await (self._rank if question.text.strip() else self._browse)(query, question)
        corpus, graph, found = await asyncio.gather(
            self._store.corpus(),
            self._around(ranked.expansion, ranked.hits, question.filters),
            self._found(query, question, ranked),
        )
        return WeightedPage(
            found=found,
            words=question.words.all,
            analyzed=analyzed,
            legs=ranked.legs,
            coverage=corpus.coverage,
            index_age_s=corpus.index_age(time.time()),
            took_ms=ms(started),
            fusion_ms=ranked.fusion_ms,
            notices=_notices(ranked, corpus.coverage),
            graph=graph,
        )

    async def _browse(self, query: WeightedQuery, question: Question) -> _Ranked:
        """Nothing to look for: whatever passes the filters, newest first."""
        if query.least > 0:
            return _Ranked()
        numbers = await self._newest(question.filters, query.limit)
        return _Ranked(tuple(Hit(number, 0.0) for number in numbers))

    async def _rank(self, query: WeightedQuery, question: Question) -> _Ranked:
        answers = await run_legs(self._store, self._needed(query.weights), question, DEPTH)
        rankings = [answer.ranking for answer in answers if answer.ranking is not None]
        if not rankings:
            raise Unavailable("; ".join(f"{a.leg.name}: {a.error}" for a in answers))
        union = candidates.union(rankings, DEPTH)
        legs = await self._store.read(exact_scores, question, union, answers, DEPTH)
        floor = candidates.floor(question.text, rankings)
        settled = filters_decide(question)
        matched = union.records[settled | candidates.matches(union, legs, rankings, floor)]
        lists = {
            ranking.name: listed[np.isin(listed, matched)][:DEPTH].tolist()
            for ranking in rankings
            for listed in (ranking.candidates.records,)
        }
        numbers = union.records.tolist()
        scores: dict[str, Mapping[int, float]] = {
            name: _known(numbers, leg.scores.tolist()) for name, leg in legs.items()
        }
        reports = [answer.report for answer in answers]
        expansion = None
        if query.walk is not None:
            expansion, report = await self._follow(query.walk, query, question.filters, lists)
            reports.append(report)
        if expansion is not None:
            reached = expansion.ranking.candidates
            lists[GRAPH] = reached.records.tolist()
            scores[GRAPH] = expansion.scores
            union = union.joined(reached)

        fusing = time.perf_counter()
        fused = rrf.fuse(lists, query.weights, query.k)
        passages = dict(zip(union.records.tolist(), union.passages.tolist(), strict=True))
        hits = [
            Hit(record, fused[record], passage=passages[record])
            for record in _best_first(fused)
            if fused[record] >= query.least
        ][: query.limit]
        if settled and query.least <= 0 and len(hits) < query.limit:
            lacking = query.limit - len(hits)
            newest = await self._newest(question.filters, lacking + len(fused))
            unranked = [number for number in newest if number not in fused]
            hits += [Hit(number, 0.0) for number in unranked[:lacking]]
        return _Ranked(
            hits=tuple(hits),
            shares=_shares(lists, scores),
            legs=tuple(reports),
            fusion_ms=ms(fusing),
            expansion=expansion,
        )

    def _needed(self, weights: Mapping[str, float]) -> list[Retriever]:
        """The legs that count; all of them when only the graph does, which must start somewhere."""
        counting = [leg for leg in self._legs if weights.get(leg.name)]
        return counting or list(self._legs)

    async def _follow(
        self,
        walk: Walk,
        query: WeightedQuery,
        filters: Filters,
        lists: Mapping[str, Sequence[int]],
    ) -> tuple[Expansion | None, LegReport]:
        """What the links of the best results so far lead to; None when the graph cannot say."""
        started = time.perf_counter()
        counting = any(query.weights.get(name) for name in lists)
        weights = query.weights if counting else dict.fromkeys(lists, 1.0)
        fused = rrf.fuse(lists, weights, query.k)
        seeds = {record: fused[record] for record in _best_first(fused)[: walk.seeds]}
        try:
            expansion = await self._graph.expand(
                seeds, depth=walk.depth, limit=DEPTH, filters=filters
            )
        except MemSearchError as error:
            return None, LegReport(GRAPH, "failed", ms=ms(started), detail=error.message)
        count = len(expansion.ranking.candidates)
        return expansion, LegReport(GRAPH, "ok", count, ms(started))

    async def _around(
        self, expansion: Expansion | None, hits: Sequence[Hit], filters: Filters
    ) -> Graph | None:
        if expansion is None:
            return None
        cloud, ties = await asyncio.gather(
            self._graph.cloud(expansion, CLOUD),
            self._graph.relationships([hit.number for hit in hits], filters),
        )
        return Graph(cloud, ties)

    async def _newest(self, filters: Filters, count: int) -> list[int]:
        return await self._store.read(
            lambda snapshot: snapshot.browse(filters, "date_desc", count, 0)
        )

    async def _found(
        self,
        query: WeightedQuery,
        question: Question,
        ranked: _Ranked,
    ) -> tuple[Found, ...]:
        hits = ranked.hits
        passages = {hit.number: hit.passage for hit in hits}
        results, places = await asyncio.gather(
            self._store.read(hydrate, hits, question.words.all, length=query.snippet),
            self._store.read(lambda snapshot: snapshot.passage_contexts(passages, query.reach)),
        )
        return tuple(
            Found(result, ranked.shares.get(number, {}), places[number])
            for result in results
            if (number := result.record.number) in places  # else gone between the two reads
        )


def _best_first(fused: Mapping[int, float]) -> list[int]:
    """Ties by number, so that equal questions give equal pages."""
    return sorted(fused, key=lambda record: (-fused[record], record))


def _known(records: Sequence[int], scores: Sequence[float]) -> dict[int, float]:
    """record → score, without the records that a leg has none for."""
    pairs = zip(records, scores, strict=True)
    return {record: score for record, score in pairs if not math.isnan(score)}


def _shares(
    lists: Mapping[str, Sequence[int]], scores: Mapping[str, Mapping[int, float]]
) -> dict[int, dict[str, Share]]:
    """record → leg → what the leg says of it."""
    shares: dict[int, dict[str, Share]] = {}
    for name, leg in scores.items():
        ranks = {record: rank for rank, record in enumerate(lists[name], start=1)}
        best = max((leg[record] for record in ranks), default=1.0) or 1.0
        for record, raw in leg.items():
            # BM25 has no upper end: it is told relative to the best of this search.
            score = raw / best if name == "keyword" else raw
            unmatched = name == "keyword" and not raw
            known = None if unmatched else min(1.0, max(0.0, score))
            shares.setdefault(record, {})[name] = Share(known, ranks.get(record))
    return shares


def _notices(ranked: _Ranked, coverage: float) -> tuple[str, ...]:
    reports = ranked.legs
    if not reports:
        return ("nothing to look for, only filters: the newest come first, without a score",)
    said = [
        f"{report.name} search did not answer ({report.detail}); the others share its weight"
        for report in reports
        if report.state == "failed"
    ]
    if coverage < 1 and any(report.name == "vector" for report in reports):
        said.append(f"the vector index covers {coverage:.1%} of the store so far")
    return tuple(said)
