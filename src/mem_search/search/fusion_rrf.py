"""Weighted reciprocal rank fusion: the strategy of a request that brings its own weights.

``score(r) = Σ weight(leg) / (k + rank(leg, r))`` over the legs that list ``r`` (Cormack, Clarke
and Büttcher, SIGIR 2009, with weights), divided by the score of a record that is first in every
leg: 1 is the first place everywhere. Scores of the legs play no part, which makes the result easy
to foresee and blind to how much better the first answer is; ``ZScoreSum`` is the measured default.

The strategy has stages of its own: a graph walk from the best results is a further leg, and
nothing beside the weights changes the order (no context, boosts, feedback or folding).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from mem_search.errors import MemSearchError
from mem_search.model import LegReport, RrfOptions
from mem_search.model.rankings import Numbers, Ranking, Values, best_first
from mem_search.retrievers.graph import NAME as GRAPH
from mem_search.retrievers.graph import Expansion
from mem_search.search.ranking import ms
from mem_search.search.stage_data import LINKS, NEWEST_RECORDS, TERM_COVERAGE
from mem_search.search.stages import ordering, scoring
from mem_search.search.stages.relevance import CERTAINTY, certainty, match
from mem_search.search.state import LegScores, Mask, RankingState, Stage

MAX_RANKED = 200
"""Matches of each leg that are fused: twice the longest page."""


@dataclass(frozen=True, slots=True)
class WeightedRrf:
    """``Fusion`` by reciprocal ranks with the weights of ``options``."""

    options: RrfOptions
    name: str = "weighted reciprocal rank fusion"

    def fuse(self, state: RankingState) -> Values:
        """The fused score of every record of the union, 0 where no leg that counts lists it."""
        return fuse(_ranks(state), self.options.weights, self.options.k)

    def scores(self, state: RankingState, row: int) -> dict[str, float]:
        """For each leg its score in 0..1 (``vector``) and its rank (``vector.rank``), if any."""
        shown: dict[str, float] = {}
        for name, leg in state.legs.items():
            if not np.isnan(leg.scores[row]):
                shown[name] = float(leg.scores[row])
            if rank := int(leg.ranks[row]):
                shown[f"{name}.rank"] = float(rank)
        return shown


def fuse(ranks: Mapping[str, Numbers], weights: Mapping[str, float], k: int) -> Values:
    """A score in 0..1 for each record; ``ranks`` of a leg count from 1 and are 0 for none.

    ``weights`` are at least 0 and need not sum to 1: a leg without ranks here did not answer, and
    is left out of both sides of the division.
    """
    total: Values = np.zeros(max(map(len, ranks.values()), default=0))
    best = sum(weights.get(leg, 0.0) for leg in ranks) / (k + 1)
    if best <= 0:
        return total
    for leg, places in ranks.items():
        if (weight := weights.get(leg, 0.0)) > 0:
            total += np.where(places > 0, weight / (k + np.maximum(places, 1)), 0.0)
    # Rounding of the sum may reach past its own maximum by the last bit.
    return np.minimum(1.0, total / best)


def rank_matches(state: RankingState) -> RankingState:
    """Ranks the matches of each leg, and makes the leg's scores comparable: 0 to 1."""
    mask = np.ones(len(state.union), np.bool_) if state.matched is None else state.matched
    legs = {
        ranking.name: _ranked(ranking, state.legs[ranking.name], state.union.records, mask)
        for ranking in state.rankings
    }
    return replace(state, legs=legs)


def graph(state: RankingState) -> RankingState:
    """Adds the records that links of the best results lead to, as a further leg."""
    expand, options = state.stored.of(LINKS), state.request.fusion
    if expand is None or options is None or options.graph is None:
        return state
    started = time.perf_counter()
    ranks = _ranks(state)
    counts = any(options.weights.get(name) for name in ranks)
    # Where only links count, the walk starts from what the other legs find together.
    scores = fuse(ranks, options.weights if counts else dict.fromkeys(ranks, 1.0), options.k)
    order = best_first(state.union.records, scores)[: options.graph.seeds]
    numbers = state.union.records
    seeds = {int(numbers[row]): float(scores[row]) for row in order if scores[row] > 0}
    try:
        expansion = expand(seeds, options.graph.depth)
    except MemSearchError as error:
        report = LegReport(GRAPH, "failed", ms=ms(started), detail=error.message)
        return replace(state, reports=(*state.reports, report))
    report = LegReport(GRAPH, "ok", len(expansion.ranking.candidates), ms(started))
    return replace(_joined(state, expansion), reports=(*state.reports, report))


def least_score(state: RankingState) -> RankingState:
    """Drops what no leg that counts lists, and what scores less than the request asks for."""
    fused = state.total
    return replace(state, matched=(fused > 0) & (fused >= _least(state)))


def unranked_matches(state: RankingState) -> RankingState:
    """Adds the newest other records, with score 0, where the filters alone decide."""
    return state if _least(state) > 0 else ordering.filter_matches(state, score=0.0)


RRF_STAGES: Final[tuple[Stage, ...]] = (
    Stage("match", match),
    Stage("ranks", rank_matches, required=True),
    Stage(CERTAINTY, certainty, reads=(TERM_COVERAGE,)),
    Stage("graph", graph, reads=(LINKS,)),
    Stage("fused", scoring.fuse, required=True),
    Stage("least-score", least_score, required=True),
    Stage("sort", scoring.sort, required=True),
    Stage("filter-matches", unranked_matches, required=True, reads=(NEWEST_RECORDS,)),
)


def _ranked(ranking: Ranking, leg: LegScores, records: Numbers, mask: Mask) -> LegScores:
    places = ranking.candidates.ranks_of(records)
    rows = np.flatnonzero((places > 0) & mask)
    rows = rows[np.argsort(places[rows])][:MAX_RANKED]
    ranks = np.zeros(len(records), np.int64)
    ranks[rows] = np.arange(1, len(rows) + 1)
    scores = leg.scores
    if ranking.name == "keyword":
        # BM25 has no upper end: it is relative to the best of this search; 0 is no match.
        best = float(scores[rows].max(initial=0.0)) or 1.0
        scores = np.where(scores == 0, np.nan, scores / best)
    return LegScores(scores.clip(0.0, 1.0), ranks)


def _joined(state: RankingState, expansion: Expansion) -> RankingState:
    """The state with the graph as a leg and what it reached at the end of the union.

    ``stored`` keeps the rows of the union before: no later stage of the strategy reads them. What
    links alone reach has no relevance.
    """
    reached = expansion.ranking.candidates
    union = state.union.joined(reached)
    more = len(union) - len(state.union)
    legs = {
        name: LegScores(
            np.concatenate([leg.scores, np.full(more, np.nan)]),
            np.concatenate([leg.ranks, np.zeros(more, np.int64)]),
        )
        for name, leg in state.legs.items()
    }
    ranks = reached.ranks_of(union.records)
    legs[GRAPH] = LegScores(expansion.ranking.scores.of(union.records), ranks)
    matched = state.matched
    if matched is not None:
        matched = np.concatenate([matched, np.ones(more, np.bool_)]) | (ranks > 0)
    unknown = np.full(more, np.nan)
    relevance, confidence = state.relevance, state.confidence
    if relevance is not None and confidence is not None:
        relevance = np.concatenate([relevance, unknown])
        confidence = np.concatenate([confidence, unknown])
    return replace(
        state,
        union=union,
        legs=legs,
        matched=matched,
        expansion=expansion,
        relevance=relevance,
        confidence=confidence,
    )


def _ranks(state: RankingState) -> dict[str, Numbers]:
    return {name: leg.ranks for name, leg in state.legs.items()}


def _least(state: RankingState) -> float:
    return 0.0 if state.request.fusion is None else state.request.fusion.min_score
