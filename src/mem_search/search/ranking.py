"""Ranking: makes of what the legs find the hits of one page.

``rank`` reads from the store all that the stages declare (``stage_data``), in one consistent read,
and then runs the stages (``stages.STAGES``), which are pure.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC

import numpy as np

from mem_search.contracts import Question, RankingTraits
from mem_search.model import (
    FacetCounts,
    FacetName,
    Hit,
    LegReport,
    Order,
    SearchRequest,
)
from mem_search.model.arrays import are_among
from mem_search.model.kind_codes import KIND_CODES
from mem_search.model.rankings import (
    NO_CANDIDATES,
    NO_MATCHES,
    Candidates,
    Numbers,
    Ranking,
    Values,
)
from mem_search.retrievers import graph
from mem_search.retrievers.graph import Expansion
from mem_search.search.query_understanding import filters_decide
from mem_search.search.stage_data import COMPLETE_MATCHES, NAMED_RECORDS
from mem_search.search.stages import STAGES
from mem_search.search.stages.relevance import RELEVANT
from mem_search.search.stages.scoring import Z_SCORE_SUM
from mem_search.search.state import (
    NO_NUMBERS,
    Beyond,
    Expand,
    Fusion,
    LegAnswer,
    LegScores,
    RankingInput,
    RankingState,
    SparseQuestion,
    Stage,
)
from mem_search.storage.sql.snapshot import SearchSnapshot


@dataclass(frozen=True, slots=True)
class LegResults:
    """A question and the answers of the legs, each asked for ``depth`` candidates.

    ``from_named`` are rankings of what the question names: times, kinds, people.
    """

    request: SearchRequest
    question: Question
    answers: Sequence[LegAnswer]
    depth: int
    traits: RankingTraits
    expand: Expand = graph.expand
    from_named: Sequence[Ranking] = ()
    sparse: SparseQuestion | None = None


@dataclass(frozen=True, slots=True)
class Ranked:
    """The hits of the page, best first; how many records match, by kind, and how many folded.

    ``weaker`` matches are left out; ``beyond`` of those found are no candidates of the legs.
    ``facets`` count all that is found.
    ``expansion`` and ``reports`` are those of the graph, where links were followed; ``stage_ms``
    is the milliseconds of each stage.
    """

    page: Sequence[Hit]
    counts: Mapping[str, int]
    folded: int
    weaker: int = 0
    beyond: int = 0
    expansion: Expansion | None = None
    reports: tuple[LegReport, ...] = ()
    stage_ms: Mapping[str, float] = field(default_factory=dict)
    facets: Mapping[FacetName, FacetCounts] = field(default_factory=dict)
    is_answered: bool = True
    missing: tuple[str, ...] = ()


NOT_RANKED = Ranked((), {}, 0)
"""Of a page of filters alone."""


def rank(
    snapshot: SearchSnapshot,
    leg_results: LegResults,
    further: Sequence[Ranking],
    fusion: Fusion = Z_SCORE_SUM,
    stages: Sequence[Stage] = STAGES,
) -> Ranked:
    """Rank the results of the legs; ``further`` are rankings as far as the page reaches."""
    options = leg_results.request
    stages = [each for each in stages if not each.option or getattr(options, each.option)]
    state = _before_stages(snapshot, leg_results, further, fusion, stages)
    stage_ms = {}
    for stage in stages:
        started = time.perf_counter()
        state = stage.apply(state)
        stage_ms[stage.name] = ms(started)
    ranked = page(state, stage_ms)
    if not options.facets:
        return ranked
    if state.filters_decide:
        numbers = snapshot.matching(leg_results.question.filters)
    else:
        beyond = NO_NUMBERS if state.beyond is None else state.beyond.records
        numbers = np.concatenate([state.union.records[state.rows], beyond])
    return replace(ranked, facets=count_facets(snapshot, options, numbers))


def count_facets(
    snapshot: SearchSnapshot, request: SearchRequest, records: Numbers
) -> dict[FacetName, FacetCounts]:
    """The facets that ``request`` names, over ``records``."""
    if not request.facets:
        return {}
    zone = (request.asked_at.tzinfo if request.asked_at else None) or UTC
    return snapshot.facet_counts(records, request.facets, request.facet_limit, zone)


def _before_stages(
    snapshot: SearchSnapshot,
    leg_results: LegResults,
    further: Sequence[Ranking],
    fusion: Fusion,
    stages: Sequence[Stage],
) -> RankingState:
    """The state before the first stage, with all that ``stages`` declare to read of the store."""
    request, question = leg_results.request, leg_results.question
    depth, answers = leg_results.depth, leg_results.answers
    wanted = dict.fromkeys(data for stage in stages for data in stage.reads)
    given = RankingInput(
        snapshot=snapshot,
        request=request,
        question=question,
        answers=answers,
        further=further,
        depth=depth,
        expand=leg_results.expand,
        filters_decide=filters_decide(question),
        sparse=leg_results.sparse,
        traits=leg_results.traits,
    )
    if NAMED_RECORDS in wanted:  # it brings candidates
        given = given.having(NAMED_RECORDS)
    candidates = given.stored.of(NAMED_RECORDS).candidates.joined(union(given.rankings, depth))
    if leg_results.from_named:
        candidates = candidates.joined(union(leg_results.from_named, depth))
    columns = snapshot.columns(candidates.records)
    if not columns.exist.all():  # deleted a moment ago, and perhaps still in the index
        candidates, columns = candidates.taken(columns.exist), columns.taken(columns.exist)
    counts = snapshot.counts(question.filters) if given.filters_decide else None
    given = replace(
        given,
        union=candidates,
        legs=exact_scores(snapshot, question, candidates, answers, depth),
        stored=replace(given.stored, columns=columns, counts=counts),
    )
    if COMPLETE_MATCHES in wanted:
        given = given.having(COMPLETE_MATCHES)
    if not given.filters_decide and request.fusion is None:
        beyond = _beyond(given.rankings, candidates)
        if request.order != "relevance":
            cuts = not request.include_weaker and any(each.name == RELEVANT for each in stages)
            whole = given.stored.of(COMPLETE_MATCHES) if cuts else None
            beyond = _first_by_date(snapshot, request, beyond, whole)
        given = replace(given, beyond=beyond)
    for data in wanted:
        given = given.having(data)
    return RankingState(
        request=request,
        question=question,
        fusion=fusion,
        rankings=given.rankings,
        further=further,
        union=candidates,
        legs=given.legs,
        traits=leg_results.traits,
        filters_decide=given.filters_decide,
        beyond=given.beyond,
        stored=given.stored,
    )


def page(state: RankingState, stage_ms: Mapping[str, float]) -> Ranked:
    """The page of ``state`` after the last stage, each hit with the parts of its score."""
    request, union = state.request, state.union
    counts = state.stored.counts
    if counts is None:
        kinds = union.kinds[state.rows]
        if state.beyond is not None:
            kinds = np.concatenate([kinds, state.beyond.kinds])
        by_code = enumerate(np.bincount(kinds).tolist())
        counts = dict(sorted((KIND_CODES.name(code), count) for code, count in by_code if count))
    hits = list(state.hits[request.offset : request.offset + request.limit])
    row_of = {number: row for row, number in enumerate(union.records.tolist())}
    for place, hit in enumerate(hits):
        if (row := row_of.get(hit.number)) is not None:
            scores = {**state.fusion.scores(state, row), **hit.scores}
            sure = _at(state.relevance, row), _at(state.confidence, row)
            hits[place] = hit._replace(scores=scores, relevance=sure[0], confidence=sure[1])
    folded = sum([len(hit.similar) for hit in state.hits if hit.similar])
    beyond = 0 if state.beyond is None else len(state.beyond.records)
    return Ranked(
        hits,
        counts,
        folded,
        state.weaker,
        beyond,
        state.expansion,
        state.reports,
        stage_ms,
        is_answered=state.is_answered,
        missing=state.missing,
    )


def _at(sure: Values | None, row: int) -> float | None:
    return None if sure is None or np.isnan(sure[row]) else round(float(sure[row]), 4)


def _beyond(rankings: Sequence[Ranking], union: Candidates) -> Beyond:
    """The word matches of all legs that are not in ``union``."""
    matching = [leg.matched for leg in rankings if len(leg.matched)] or [NO_MATCHES]
    records, kinds = matching[0].records, matching[0].kinds  # in order, each once
    if len(matching) > 1:
        records, first = np.unique(
            np.concatenate([each.records for each in matching]), return_index=True
        )
        kinds = np.concatenate([each.kinds for each in matching])[first]
    outside = ~are_among(records, np.sort(union.records))
    return Beyond(records[outside], kinds[outside], NO_NUMBERS, NO_NUMBERS)


def _first_by_date(
    snapshot: SearchSnapshot, request: SearchRequest, beyond: Beyond, whole: Numbers | None
) -> Beyond:
    """``beyond`` with the first by date of those that may stay: that are in ``whole``, if given."""
    stay = beyond.records
    if whole is not None:
        stay = stay[are_among(stay, whole)]
    order: Order = "date_asc" if request.order == "date_asc" else "date_desc"
    # What is sorted by fields needs all of them: the page is chosen by other values.
    reach = len(stay) if request.sort else request.offset + request.limit
    first, created = snapshot.first_by_date(stay, order, reach)
    return replace(beyond, first=first, created=created)


def union(rankings: Sequence[Ranking], depth: int) -> Candidates:
    """The best ``depth`` candidates of every leg, and a tenth as many of each rarer kind.

    Each record appears once, with the passage of the first leg that lists it.
    """
    candidates = NO_CANDIDATES
    for ranking in rankings:
        best = ranking.candidates
        if len(best) > depth:
            chosen = np.arange(len(best)) < depth
            for kind in np.unique(best.kinds[depth:]):
                chosen[np.flatnonzero(best.kinds == kind)[: depth // 10]] = True
            best = best.taken(chosen)
        candidates = candidates.joined(best)
    return candidates


def exact_scores(
    snapshot: SearchSnapshot,
    question: Question,
    candidates: Candidates,
    answers: Sequence[LegAnswer],
    depth: int,
) -> dict[str, LegScores]:
    """For each leg its exact score of every record of the union, listed or not."""
    scores_of = {}
    for answer in answers:
        if (ranking := answer.ranking) is None:
            continue
        scores = ranking.scores.of(candidates.records)
        unlisted = np.isnan(scores)
        if unlisted.any():
            scores[unlisted] = answer.early.of(candidates.records[unlisted])
            unlisted = np.isnan(scores)
        if unlisted.any():
            missing = candidates.records[unlisted]
            scores[unlisted] = answer.leg.score(snapshot, question, ranking, missing)
        ranks = ranking.candidates.ranks_of(candidates.records)
        listed = np.where(ranks <= depth, ranks, 0)
        scores_of[answer.leg.name] = LegScores(scores, listed, answer.leg.space)
    return scores_of


def ms(started: float) -> float:
    """Milliseconds since ``started``, a reading of ``time.perf_counter``."""
    return round((time.perf_counter() - started) * 1000, 3)
