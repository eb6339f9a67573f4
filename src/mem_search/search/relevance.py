"""From what the legs answered to the hits of a page: union → fusion → context → feedback → order.

One read of the store, and pure stages in between that do not know each other. Which legs there
are and how they were asked is ``asking``'s business.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mem_search.contracts import Question
from mem_search.model import KINDS, Hit, SearchRequest
from mem_search.model.rankings import Candidates, Ranking, Values
from mem_search.search import boosts, candidates
from mem_search.search.context import Places, add_context
from mem_search.search.diversity import spread
from mem_search.search.feedback import add_feedback
from mem_search.search.folding import fold
from mem_search.search.fusion import LegScores, explain, fuse
from mem_search.search.legs import LegAnswer, exact_scores
from mem_search.search.or_semantics import filters_decide, remaining_matches
from mem_search.search.supersession import lift
from mem_search.storage.sqlite import fulltext, records, traits
from mem_search.storage.sqlite.record_columns import Columns
from mem_search.text.words import every_expression, hash_expression

FEW_WORDS = 3
"""With more words than this a record that has them all is better than the average anyway."""


@dataclass(frozen=True, slots=True)
class Answered:
    """A question that the legs, asked for ``depth`` candidates each, have answered."""

    query: SearchRequest
    question: Question
    answers: Sequence[LegAnswer]
    columns: Columns
    depth: int


@dataclass(frozen=True, slots=True)
class Ranked:
    """The hits of the page, best first; how many records match, by kind, and how many folded."""

    page: Sequence[Hit]
    counts: Mapping[str, int]
    folded: int


def rank(connection: sqlite3.Connection, answered: Answered, further: Sequence[Ranking]) -> Ranked:
    """Rank what the answers bring; ``further`` are rankings as far as the page reaches."""
    query, question, answers = answered.query, answered.question, answered.answers
    columns, depth = answered.columns, answered.depth
    rankings = [answer.ranking for answer in answers if answer.ranking is not None]
    union = _alive(candidates.union(rankings, depth), columns)
    numbers = union.records
    legs = exact_scores(connection, question, union, answers, depth)
    fused = fuse(union.code, legs, foreign=question.foreign)
    places = Places(union.kinds, columns.conversations(numbers), columns.positions[numbers])
    added = add_context(fused, places) | boosts.add(
        query.boosts, columns.created[numbers], columns.importance[numbers], _moment(query)
    )
    total = sum(added.values(), fused)
    added |= add_feedback(connection, question, answers, union, legs, total)
    total = sum(added.values(), fused)

    settled = filters_decide(question)
    floor = candidates.floor(question.text, rankings)
    matched = np.flatnonzero(settled | candidates.matches(union, legs, rankings, floor))
    matched = matched[candidates.order(numbers[matched], total[matched])]
    hits = candidates.hits(numbers[matched], total[matched], union.passages[matched])
    counts = (
        records.counts(connection, question.filters)
        if settled
        else candidates.counts(numbers[matched], union.kinds[matched], rankings)
    )
    kinds = dict(zip(numbers.tolist(), map(KINDS.__getitem__, union.kinds.tolist()), strict=True))
    if named := hash_expression(question.words):
        hits = candidates.foremost(hits, fulltext.records_having(connection, named))
    known = traits.of_records(connection, columns, numbers, question.filters, fold=query.fold)
    hits = lift(hits, known.successors)
    hits = fold(hits, kinds, known.sketched, known.sketches, known.successors)
    folded = sum(len(hit.similar) for hit in hits)
    good = candidates.near_the_best(
        numbers[matched], [leg.scores[matched] for leg in legs.values()]
    )
    if absent := candidates.absent(hits, kinds, query.limit):
        good |= _with_every_word(connection, question, rankings, absent)
    hits = candidates.represent(hits, kinds, query.limit, good)
    if query.per_session is not None:
        sessions = dict(zip(numbers.tolist(), places.conversations.tolist(), strict=True))
        hits = spread(hits, sessions, query.per_session)

    reach = query.offset + query.limit
    hits = candidates.tail(hits, further, reach)
    if settled and len(hits) < reach:
        seen = {number for hit in hits for number in (hit.number, *hit.similar)}
        least = hits[-1].score if hits else 0.0
        hits += [
            Hit(n, least) for n in remaining_matches(connection, question, seen, reach - len(hits))
        ]
    page = hits[query.offset : reach]
    row_of = {number: row for row, number in enumerate(numbers.tolist())}
    for place, hit in enumerate(page):
        if (row := row_of.get(hit.number)) is not None:
            scores = {**_scores(row, legs, fused, added), **hit.scores}
            if query.explain:
                scores |= explain(union.code, legs, row, foreign=question.foreign)
            page[place] = hit._replace(scores=scores)
    return Ranked(page, counts, folded)


def _alive(union: Candidates, columns: Columns) -> Candidates:
    """Without what was deleted a moment ago: it may still be in the index."""
    alive = columns.exist(union.records)
    return union if alive.all() else union.taken(alive)


def _with_every_word(
    connection: sqlite3.Connection,
    question: Question,
    rankings: Sequence[Ranking],
    hits: Sequence[Hit],
) -> frozenset[int]:
    """Those of ``hits`` whose passage has all of the few words of the question."""
    if len(question.words.all) > FEW_WORDS:
        return frozenset()
    found = np.array([hit.number for hit in hits], dtype=np.int64)
    worded = np.any([~np.isnan(ranking.matched.of(found)) for ranking in rankings], axis=0)
    passages = np.array([hit.passage or 0 for hit in hits], dtype=np.int64)[worded]
    if not len(passages):
        return frozenset()
    having = fulltext.having(connection, every_expression(question.words), passages)
    return frozenset(hit.number for hit in hits if hit.passage in having)


def _moment(query: SearchRequest) -> int:
    """When the query was asked, in milliseconds."""
    at = query.asked_at
    return int((time.time() if at is None else at.timestamp()) * 1000)


def _scores(
    row: int, legs: Mapping[str, LegScores], fused: Values, added: Mapping[str, Values]
) -> dict[str, float]:
    """What made the score of the record at ``row``, by name."""
    raw = {name: float(leg.scores[row]) for name, leg in legs.items()}
    more = {name: float(by[row]) for name, by in added.items() if by[row]}
    known = {name: score for name, score in raw.items() if score == score}  # not NaN
    return {**known, "fused": float(fused[row]), **more}
