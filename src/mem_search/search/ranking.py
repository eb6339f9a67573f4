"""Ranking: from what the legs answered to the hits of one page.

``prefetch`` reads from the store all that the stages need, in one consistent read. ``rank`` then
runs the stages (``stages.STAGES``), which are pure. How the legs are asked is in ``legs``.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mem_search.contracts import FeedbackScorer, Question, RankingTraits
from mem_search.model import Hit, SearchRequest
from mem_search.model.rankings import Candidates, Numbers, Ranking
from mem_search.search import candidates
from mem_search.search.fusion import Z_SCORE_SUM
from mem_search.search.legs import LegAnswer, exact_scores
from mem_search.search.or_semantics import filters_decide
from mem_search.search.stages import STAGES
from mem_search.search.stages.scoring import ANSWERS, agreed
from mem_search.search.state import Fusion, LegScores, RankingState, Stage, StoredData
from mem_search.storage.sqlite import fulltext, records, traits
from mem_search.storage.sqlite.record_columns import Columns
from mem_search.text.words import all_of, hashes_of

FEW_WORDS = 3
"""With more words than this a record that has them all is better than the average anyway."""


@dataclass(frozen=True, slots=True)
class Answered:
    """A question that the legs, asked for ``depth`` candidates each, have answered."""

    request: SearchRequest
    question: Question
    answers: Sequence[LegAnswer]
    columns: Columns
    depth: int
    traits: RankingTraits


@dataclass(frozen=True, slots=True)
class Ranked:
    """The hits of the page, best first; how many records match, by kind, and how many folded."""

    page: Sequence[Hit]
    counts: Mapping[str, int]
    folded: int


def rank(
    connection: sqlite3.Connection,
    answered: Answered,
    further: Sequence[Ranking],
    fusion: Fusion = Z_SCORE_SUM,
    stages: Sequence[Stage] = STAGES,
) -> Ranked:
    """Rank what the legs answered; ``further`` are rankings as far as the page reaches."""
    state = prefetch(connection, answered, further, fusion)
    for stage in stages:
        state = stage.apply(state)
    return page(state)


def prefetch(
    connection: sqlite3.Connection,
    answered: Answered,
    further: Sequence[Ranking],
    fusion: Fusion,
) -> RankingState:
    """The state before the first stage, with everything that stages need of the store."""
    request, question = answered.request, answered.question
    columns, depth = answered.columns, answered.depth
    rankings = [answer.ranking for answer in answered.answers if answer.ranking is not None]
    union = candidates.union(rankings, depth)
    exist = columns.exist(union.records)
    if not exist.all():  # deleted a moment ago, and perhaps still in the index
        union = union.taken(exist)
    legs = exact_scores(connection, question, union, answered.answers, depth)
    numbers, filters = union.records, question.filters
    decided = filters_decide(question)
    reach = request.offset + request.limit
    known = traits.of_records(connection, columns, numbers, filters, fold=request.fold)
    named = hashes_of(question.words)
    return RankingState(
        request=request,
        question=question,
        fusion=fusion,
        rankings=rankings,
        further=further,
        union=union,
        legs=legs,
        traits=answered.traits,
        filters_decide=decided,
        stored=StoredData(
            conversations=columns.conversations(numbers),
            positions=columns.positions[numbers],
            created=columns.created[numbers],
            importance=columns.importance[numbers],
            named=fulltext.records_having(connection, named) if named else (),
            complete=_complete(connection, question, rankings, union, request.limit),
            successors=known.successors,
            sketched=known.sketched,
            sketches=known.sketches,
            feedback=_feedback(connection, question, answered.answers, union, legs),
            counts=records.counts(connection, filters) if decided else None,
            newest=_newest(connection, question, union, further, reach) if decided else (),
        ),
    )


def page(state: RankingState) -> Ranked:
    """The page of ``state`` after the last stage, each hit with the parts of its score."""
    request, union = state.request, state.union
    counts = state.stored.counts
    if counts is None:
        rows = state.rows
        counts = candidates.counts(union.records[rows], union.kinds[rows], state.rankings)
    hits = list(state.hits[request.offset : request.offset + request.limit])
    row_of = {number: row for row, number in enumerate(union.records.tolist())}
    for place, hit in enumerate(hits):
        if (row := row_of.get(hit.number)) is not None:
            hits[place] = hit._replace(scores={**_scores(state, row), **hit.scores})
    return Ranked(hits, counts, sum(len(hit.similar) for hit in state.hits))


def _scores(state: RankingState, row: int) -> dict[str, float]:
    """What made the score of the record at ``row``: raw scores of the legs, parts by stage."""
    raw = {name: float(leg.scores[row]) for name, leg in state.legs.items()}
    scores = {name: score for name, score in raw.items() if score == score}  # not NaN
    for name, part in state.parts.items():
        if name == "fused" or part[row]:
            scores[name] = float(part[row])
    if state.request.explain:
        scores |= state.fusion.explain(state, row)
    return scores


def _complete(
    connection: sqlite3.Connection,
    question: Question,
    rankings: Sequence[Ranking],
    union: Candidates,
    limit: int,
) -> set[int]:
    """Passages that contain every word of a short question, where a kind may lack a place."""
    if len(question.words.all) > FEW_WORDS or len(union) <= limit:
        return set()
    if not (union.kinds != union.kinds[0]).any():
        return set()
    worded = np.any([~np.isnan(leg.matched.of(union.records)) for leg in rankings], axis=0)
    passages = union.passages[worded]
    if not len(passages):
        return set()
    query = all_of(question.words)
    return set() if query is None else fulltext.having(connection, query, passages)


def _feedback(
    connection: sqlite3.Connection,
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
            scorer = answer.leg.feedback_scorer(connection, question, union.passages)
            if scorer is not None:
                found[answer.leg.name] = scorer
    return found


def _newest(
    connection: sqlite3.Connection,
    question: Question,
    union: Candidates,
    further: Sequence[Ranking],
    reach: int,
) -> list[int]:
    """The newest records that pass the filters, enough to fill a page whatever was ranked."""
    ranked: list[Numbers] = [union.records, *(leg.candidates.records for leg in further)]
    most = reach + sum(map(len, ranked))
    return records.browse(connection, question.filters, "date_desc", most, 0)
