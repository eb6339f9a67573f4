"""Ranking: from the results of the legs to the hits of one page.

``prefetch`` reads from the store all that the stages need, in one consistent read. ``rank`` then
runs the stages (``stages.STAGES``), which are pure. ``legs`` runs the legs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC

import numpy as np

from mem_search.contracts import FeedbackScorer, Question, RankingTraits
from mem_search.model import (
    FacetCounts,
    FacetName,
    Filters,
    Hit,
    LegReport,
    Order,
    SearchRequest,
)
from mem_search.model.rankings import (
    KIND_CODES,
    NO_CANDIDATES,
    NO_MATCHES,
    Candidate,
    Candidates,
    Numbers,
    Ranking,
    are_among,
    distinct,
)
from mem_search.retrievers import graph
from mem_search.retrievers.graph import Expansion
from mem_search.search.legs import LegAnswer, exact_scores, ms, union
from mem_search.search.query_understanding import demands_all, filters_decide
from mem_search.search.stages import STAGES
from mem_search.search.stages.scoring import ANSWERS, MAX_SHORT_QUESTION_WORDS, Z_SCORE_SUM, agreed
from mem_search.search.state import (
    NO_NUMBERS,
    Beyond,
    Expand,
    Fusion,
    LegScores,
    RankingState,
    Stage,
    StoredData,
)
from mem_search.storage.ports.search import SearchSnapshot
from mem_search.text import identifiers, record_ids
from mem_search.text.sketch import NO_SKETCHES
from mem_search.text.words import all_of, any_of

HOLDERS = 200
"""With more records than this, a name does not tell them apart."""

PLAIN_HOLDERS = 20
"""The same for a name of plain words, such as ``chroma-mcp``, beside other words."""

CALLED = (identifiers.MAX_NAMES + 1, 0)
"""A record that is named by its id comes before those that hold names."""

OTHER_WORDS = 3
"""With more other words than this, the names of a question no longer decide what comes first."""


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
    names = {stage.name for stage in stages}
    state = prefetch(snapshot, leg_results, further, fusion, names)
    stage_ms = {}
    for stage in stages:
        started = time.perf_counter()
        state = stage.apply(state)
        stage_ms[stage.name] = ms(started)
    ranked = page(state, stage_ms)
    if not options.facets:
        return ranked
    if state.filters_decide:
        found = snapshot.matching(leg_results.question.filters)
    else:
        beyond = NO_NUMBERS if state.beyond is None else state.beyond.records
        found = np.concatenate([state.union.records[state.rows], beyond])
    return replace(ranked, facets=count_facets(snapshot, options, found))


def count_facets(
    snapshot: SearchSnapshot, request: SearchRequest, found: Numbers
) -> dict[FacetName, FacetCounts]:
    """The facets that ``request`` names, over all that is ``found``."""
    if not request.facets:
        return {}
    zone = (request.asked_at.tzinfo if request.asked_at else None) or UTC
    return snapshot.facet_counts(found, request.facets, request.facet_limit, zone)


def prefetch(
    snapshot: SearchSnapshot,
    leg_results: LegResults,
    further: Sequence[Ranking],
    fusion: Fusion,
    stages: Collection[str],
) -> RankingState:
    """The state before the first stage, with everything that ``stages`` need of the store."""
    request, question = leg_results.request, leg_results.question
    depth = leg_results.depth
    rankings = [answer.ranking for answer in leg_results.answers if answer.ranking is not None]
    named, held, names_alone = NO_CANDIDATES, dict[int, tuple[int, int]](), False
    if "identifier-first" in stages and identifiers.NAME_LIKE.search(question.text):
        named, held, names_alone = _holders(snapshot, question)
    candidates = named.joined(union(rankings, depth))
    if leg_results.from_named:
        candidates = candidates.joined(union(leg_results.from_named, depth))
    columns = snapshot.columns(candidates.records)
    if not columns.exist.all():  # deleted a moment ago, and perhaps still in the index
        candidates, columns = candidates.taken(columns.exist), columns.taken(columns.exist)
    legs = exact_scores(snapshot, question, candidates, leg_results.answers, depth)
    numbers, filters = candidates.records, question.filters
    decided = filters_decide(question)
    follows_links = request.fusion is not None and request.fusion.graph is not None
    reach = request.offset + request.limit
    sketched: Sequence[int] = ()
    sketches = NO_SKETCHES
    if "folding" in stages:
        sketched, sketches = snapshot.near_duplicate_sketches(numbers)
    successors: Mapping[int, tuple[int, ...]] = {}
    if not {"supersession", "folding"}.isdisjoint(stages):
        successors = snapshot.successors(numbers, filters)
    whole = NO_NUMBERS
    if not {"relevant", "every-word"}.isdisjoint(stages):
        whole = np.sort(named.records)
        if not names_alone:
            having_all = _whole(snapshot, question, rankings)
            whole = distinct(np.concatenate([having_all, whole])) if len(whole) else having_all
    beyond = None
    if not decided and request.fusion is None:
        beyond = _beyond(rankings, candidates)
        if request.order != "relevance":
            weaker = request.include_weaker or "relevant" not in stages
            beyond = _first_by_date(snapshot, request, beyond, None if weaker else whole)
    found, sort_values = NO_NUMBERS, dict[str, Numbers]()
    if request.sort:
        found = numbers if beyond is None else np.concatenate([numbers, beyond.records])
        sort_values = snapshot.sort_values(found, [key.removeprefix("-") for key in request.sort])
    feedback: dict[str, FeedbackScorer] = {}
    if "feedback" in stages:
        feedback = _feedback(snapshot, question, leg_results.answers, candidates, legs)
    guessed = None
    if question.words.guessed and "typo-demotion" in stages:
        guessed = _guessed_alone(snapshot, question, rankings)
    return RankingState(
        request=request,
        question=question,
        fusion=fusion,
        rankings=rankings,
        further=further,
        union=candidates,
        legs=legs,
        traits=leg_results.traits,
        filters_decide=decided,
        beyond=beyond,
        stored=StoredData(
            columns=columns,
            exact_matches=held,
            lifted=[snapshot.matching(lift) for lift in question.lifts],
            whole=whole,
            names_alone=names_alone,
            guessed=guessed,
            beyond=beyond,
            successors=successors,
            sketched=sketched,
            sketches=sketches,
            sorted_records=found,
            sort_values=sort_values,
            feedback=feedback,
            counts=snapshot.counts(filters) if decided else None,
            newest=_newest(snapshot, filters, candidates, further, reach) if decided else (),
            expand=_expansion(snapshot, leg_results) if follows_links else None,
        ),
    )


def page(state: RankingState, stage_ms: Mapping[str, float]) -> Ranked:
    """The page of ``state`` after the last stage, each hit with the parts of its score."""
    request, found = state.request, state.union
    counts = state.stored.counts
    if counts is None:
        kinds = found.kinds[state.rows]
        if state.beyond is not None:
            kinds = np.concatenate([kinds, state.beyond.kinds])
        by_code = enumerate(np.bincount(kinds).tolist())
        counts = dict(sorted((KIND_CODES.name(code), count) for code, count in by_code if count))
    hits = list(state.hits[request.offset : request.offset + request.limit])
    row_of = {number: row for row, number in enumerate(found.records.tolist())}
    for place, hit in enumerate(hits):
        if (row := row_of.get(hit.number)) is not None:
            hits[place] = hit._replace(scores={**state.fusion.scores(state, row), **hit.scores})
    folded = sum([len(hit.similar) for hit in state.hits if hit.similar])
    beyond = 0 if state.beyond is None else len(state.beyond.records)
    return Ranked(
        hits, counts, folded, state.weaker, beyond, state.expansion, state.reports, stage_ms
    )


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


def _guessed_alone(
    snapshot: SearchSnapshot, question: Question, rankings: Sequence[Ranking]
) -> tuple[Numbers, Numbers]:
    """Records with a word that the question may mean and none that was typed; and those with a
    typed one.
    """
    asked = any_of(replace(question.words, guessed=()))
    typed = NO_NUMBERS if asked is None else snapshot.records_with_words(asked)
    matched = [leg.matched.records for leg in rankings]
    every = distinct(np.concatenate([NO_NUMBERS, *matched]))
    return every[~are_among(every, typed)], typed


def _whole(snapshot: SearchSnapshot, question: Question, rankings: Sequence[Ranking]) -> Numbers:
    """Records that have every word of a question of few words, or all that it demands."""
    asked = question.words
    matched = [leg.matched.records for leg in rankings if len(leg.matched)]
    terms = len(asked.words) + len(asked.phrases) + len(asked.cjk) + len(asked.guessed)
    is_demanded = question.filters.demand is not None and demands_all(question)
    if not matched or (terms > MAX_SHORT_QUESTION_WORDS and not is_demanded):
        return NO_NUMBERS
    if terms > 1 and not is_demanded and (query := all_of(asked)) is not None:
        having_all = snapshot.records_with_words(query)
        matched = [each[are_among(each, having_all)] for each in matched]
    return matched[0] if len(matched) == 1 else distinct(np.concatenate(matched))


def _holders(
    snapshot: SearchSnapshot, question: Question
) -> tuple[Candidates, dict[int, tuple[int, int]], bool]:
    """The records that hold a name of the question; record → how many, and how well; whether the
    question is nothing but names that some record holds.

    Those whose id it names come first. A name of plain words counts beside other words only where
    few records hold it: ``real-time`` is ordinary language, ``rg-lto`` is not.
    """
    found = _called(snapshot, question)
    held = dict.fromkeys(found.records.tolist(), CALLED)
    asked = identifiers.find(question.text)
    others = {*question.words.all}.difference(*[name.words for name in asked])
    if not asked or len(others) > OTHER_WORDS:
        return found, held, False
    for name in asked:
        most = PLAIN_HOLDERS if name.plain and others else HOLDERS
        matches = snapshot.exact_matches(name, question.filters, most)
        for record, well in zip(matches.records.tolist(), matches.scores.tolist(), strict=True):
            count, sum_ = held.get(record, (0, 0))
            held[record] = (count + 1, sum_ + int(well))
        found = found.joined(matches)
    alone = not others and not any(name.plain for name in asked)
    return found, held, alone and bool(held)


def _called(snapshot: SearchSnapshot, question: Question) -> Candidates:
    """The records within the filters that the question names by an id."""
    ids = record_ids.find(question.text)
    numbers = [each for found in snapshot.records_called(ids) for each in found] if ids else []
    if not numbers:
        return NO_CANDIDATES
    named = distinct(np.array(numbers, np.int64))
    within = named[are_among(named, snapshot.matching(question.filters))].tolist()
    return Candidates.of(
        Candidate(number, kind, field == "code", passage, 0.0)
        for number, (passage, kind, field) in snapshot.first_passages(within).items()
    )


def _feedback(
    snapshot: SearchSnapshot,
    question: Question,
    answers: Sequence[LegAnswer],
    union: Candidates,
    legs: Mapping[str, LegScores],
) -> dict[str, FeedbackScorer]:
    """Leg → what scores the union for a moved question; none where the legs cannot agree."""
    if len(legs) < 2 or not len(union) or agreed(legs).sum() < min(ANSWERS, len(union)):
        return {}
    found = {}
    for answer in answers:
        if answer.leg.name in legs:
            scorer = answer.leg.feedback_scorer(snapshot, question, union.passages)
            if scorer is not None:
                found[answer.leg.name] = scorer
    return found


def _expansion(
    snapshot: SearchSnapshot, leg_results: LegResults
) -> Callable[[Mapping[int, float], int], Expansion]:
    """The walk of the graph over this snapshot."""

    def expand(seeds: Mapping[int, float], depth: int) -> Expansion:
        return leg_results.expand(
            snapshot,
            seeds,
            depth=depth,
            limit=leg_results.depth,
            filters=leg_results.question.filters,
        )

    return expand


def _newest(
    snapshot: SearchSnapshot,
    filters: Filters,
    union: Candidates,
    further: Sequence[Ranking],
    reach: int,
) -> list[int]:
    """The newest records that pass the filters, enough to fill a page whatever was ranked."""
    ranked: list[Numbers] = [union.records, *(leg.candidates.records for leg in further)]
    most = reach + sum(map(len, ranked))
    return snapshot.browse(filters, "date_desc", most, 0)
