"""The default fusion, and the stages that add to the score.

The fusion takes for each leg the z-score over the union of candidates, plus one over the record's
rank in that leg: the first place of a leg says more than its distance to the second. It beats both
legs, while reciprocal rank fusion falls below BM25 alone on short texts (docs/lab/ranking.md, which
has all weights and their effect). Each stage adds a column to the score under its own name.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mem_search.model import NO_SCORES, Hit
from mem_search.model.arrays import are_among
from mem_search.model.kind_codes import KIND_CODES
from mem_search.model.rankings import Values, best_first
from mem_search.search.sparse import MIN_KNOWN, SPARSE
from mem_search.search.stage_data import (
    COMPLETE_MATCHES,
    FEEDBACK,
    FEEDBACK_RECORDS,
    LEANING_RECORDS,
    LIFTED_RECORDS,
    MAX_SHORT_QUESTION_WORDS,
    OPENING_ORDER,
    agreed,
)
from mem_search.search.state import LegScores, RankingState
from mem_search.text import words
from mem_search.text.words import mostly_foreign

CODE_DENSE = 5.0
"""Source code shares few words with questions about it: there the vector leg decides."""

FOREIGN_DENSE = 0.25
"""The bundled model knows only English: for other scripts the keyword leg decides."""

RANK_BONUS = 1.0
"""What rank 1 in a leg adds; rank n adds one n-th of it."""

_MIN_SPREAD = 1e-9

Code = NDArray[np.bool_]
"""Shape (n,): whether the passage of each record of the union is source code."""


@dataclass(frozen=True, slots=True)
class ZScoreSum:
    """``Fusion`` by the weighted sum of standard scores and rank bonuses."""

    name: str = "z-score sum"

    def fuse(self, state: RankingState) -> Values:
        """The fused score of every record of the union."""
        code, foreign = state.union.code, mostly_foreign(state.question.text)
        total = np.zeros(len(code))
        for part in _parts(state.legs, code, foreign=foreign).values():
            total += part["weight"] * (part["z"] + part["bonus"])
        return total

    def scores(self, state: RankingState, row: int) -> dict[str, float]:
        """Raw scores of the legs and parts by stage; with ``explain`` the share of each leg."""
        raw = {name: float(leg.scores[row]) for name, leg in state.legs.items()}
        shown = {name: score for name, score in raw.items() if score == score}  # not NaN
        for name, part in state.parts.items():
            if name == "fused" or part[row]:
                shown[name] = float(part[row])
        if state.request.explain:
            foreign = mostly_foreign(state.question.text)
            shown |= explain(state.union.code, state.legs, row, foreign=foreign)
        return shown


Z_SCORE_SUM: Final = ZScoreSum()


def explain(
    code: Code, legs: Mapping[str, LegScores], row: int, *, foreign: bool
) -> dict[str, float]:
    """What each leg contributed to ``ZScoreSum.fuse`` for the record at ``row``: ``vector.z``, ...

    A leg adds ``weight * (z + bonus)``; ``rank`` is present when the leg lists the record.
    """
    figures: dict[str, float] = {}
    for name, parts in _parts(legs, code, foreign=foreign).items():
        if rank := int(legs[name].ranks[row]):
            figures[f"{name}.rank"] = rank
        for what, values in parts.items():
            figures[f"{name}.{what}"] = float(values[row])
    return figures


def _parts(
    legs: Mapping[str, LegScores], code: Code, *, foreign: bool
) -> dict[str, dict[str, Values]]:
    """``_part`` of each leg. What a leg cannot score yet, such as a record without a vector, has
    there what it has in the others: what is known of it judges it, and nothing raises or lowers it.
    """
    parts = {name: _part(name, leg, code, foreign=foreign) for name, leg in legs.items()}
    for name, leg in legs.items():
        unknown = np.isnan(leg.scores)
        known = [
            other for other in legs if other != name and not np.isnan(legs[other].scores).all()
        ]
        if unknown.any() and known:
            for what in ("z", "bonus"):
                others = np.mean([parts[other][what] for other in known], axis=0)
                parts[name][what] = np.where(unknown, others, parts[name][what])
    return parts


def _part(name: str, leg: LegScores, code: Code, *, foreign: bool) -> dict[str, Values]:
    """``z``, ``bonus`` and ``weight`` of one leg for every record of the union."""
    listed = leg.ranks > 0
    return {
        "z": z_scores(leg.scores),
        "bonus": np.where(listed, RANK_BONUS / np.maximum(leg.ranks, 1), 0.0),
        "weight": weights(name, code, foreign=foreign),
    }


def weights(name: str, code: Code, *, foreign: bool) -> Values:
    """The weight of the leg ``name`` for each record of the union."""
    # Weights of the two legs sum to 2 whatever their ratio, so that all passages compare.
    dense = np.where(code, CODE_DENSE, 1.0) if not foreign else np.full(len(code), FOREIGN_DENSE)
    return np.asarray(2 * (dense if name == "vector" else 1.0) / (1.0 + dense))


def z_scores(values: Values) -> Values:
    """Standard scores; unknown ones (NaN) and those of a leg without spread are 0."""
    unknown = np.isnan(values)
    known = values[~unknown]
    if known.size < 2 or (spread := known.std()) < _MIN_SPREAD:
        return np.zeros(len(values))
    scores: Values = (values - known.mean()) / spread
    scores[unknown] = 0.0
    return scores


NEIGHBOURS: Mapping[int, float] = {-1: 0.4, 1: 0.3, -2: 0.2, 2: 0.1}
"""Weight of a neighbour's score by its distance: the turn before helps most."""

SESSION_WEIGHT = 0.5
SESSION_DEPTH = 3

RECENCY_WEIGHT = 0.5
"""What the newest candidate gains; the best answer is worth about ten times that."""

RECENCY_HALF_LIFE_MS = 30 * 86_400_000
"""Milliseconds after which a record gains half of it."""

TIME_WEIGHT = 2.5
"""What a record gains that is from the time which the question names."""

MAX_EXACT_TIME_MS = 3 * 86_400_000
"""Milliseconds; a time of so few days is meant as it is said."""

WHOLE_TIME_WEIGHT = 2 * TIME_WEIGHT
"""The same for one that has every word of a question of few words, or is asked for by its kind."""

LIFT_WEIGHT = 7.0
"""What a record gains that is of the kind, or from the person, which the question names."""

LEANING_WEIGHT = 4.0
"""What a record gains that is of the type to which ``decided`` or ``fixed`` points."""

EVERY_WORD_WEIGHT = 2.0
"""What such a record gains: its words are not outvoted by what is only near in meaning."""

IMPORTANCE_WEIGHT = 1.0
"""The difference between the least and the most important record."""


def fuse(state: RankingState) -> RankingState:
    """Combines the scores and ranks of the legs into one score, by the fusion strategy."""
    return state.added("fused", state.fusion.fuse(state))


def sparse(state: RankingState) -> RankingState:
    """Moves the score of a record towards what its sparse vector says, where its kind gains by it.

    The sum of three scores is as large as that of two: what is added to it, and what cuts it off,
    stays.
    """
    sparse_scores = state.stored.of(SPARSE)
    if sparse_scores is None:
        return state
    weights = sparse_scores.weights
    known = (weights > 0) & ~np.isnan(sparse_scores.values)
    held = int(known.sum())
    state = replace(state, reports=(*state.reports, sparse_scores.report(held)))
    if held < MIN_KNOWN * np.count_nonzero(weights):
        return state
    own = 2 * z_scores(np.where(known, sparse_scores.values, np.nan)) - state.parts["fused"]
    return state.added("sparse", np.where(known, weights / (2 + weights) * own, 0.0))


def neighbours(state: RankingState) -> RankingState:
    """Raises a chat turn by the scores of the turns before and after it.

    Not in a union of several kinds. Negative scores do not count.
    """
    kinds = state.union.kinds
    chats = np.isin(kinds, KIND_CODES.among(state.traits.chat))
    if not chats.any() or (kinds != kinds[0]).any():
        return state
    support, columns = _support(state), state.stored.columns
    rows = np.flatnonzero(chats & (columns.conversations > 0)).tolist()
    of_row = (columns.conversations.tolist(), kinds.tolist(), columns.positions.tolist())
    places = list(zip(*of_row, strict=True))
    row_at = {places[row]: row for row in rows}
    added = np.zeros(len(support))
    for row in rows:
        conversation, kind, position = places[row]
        for distance, weight in NEIGHBOURS.items():
            neighbour = row_at.get((conversation, kind, position + distance))
            if neighbour is not None:
                added[row] += weight * support[neighbour]
    return state.added("neighbours", added)


def _support(state: RankingState) -> Values:
    """What each record gives others: its own score, unless it is negative."""
    own = state.parts["fused"] + state.parts.get("sparse", 0.0)
    return np.asarray(np.maximum(own, 0.0))


def session(state: RankingState) -> RankingState:
    """Raises each record of a session by half the mean of the session's three best records.

    Negative scores do not count. Where all candidates are of one kind, it must be one whose
    sessions count (``RecordKind.session``).
    """
    kinds = state.union.kinds
    member = state.stored.columns.conversations > 0
    if len(kinds) and not (kinds != kinds[0]).any():
        member = member & np.isin(kinds, KIND_CODES.among(state.traits.session))
    rows = np.flatnonzero(member)
    if not len(rows):
        return state
    support = _support(state)
    _, group = np.unique(state.stored.columns.conversations[rows], return_inverse=True)
    order = np.lexsort((-support[rows], group))
    first = np.searchsorted(group[order], np.arange(group.max() + 1))
    place_in_group = np.arange(len(rows)) - first[group[order]]
    best = order[place_in_group < SESSION_DEPTH]
    sums = np.bincount(group[best], weights=support[rows][best])
    added = np.zeros(len(support))
    added[rows] = SESSION_WEIGHT * sums[group] / SESSION_DEPTH
    return state.added("session", added)


def intent_boost(state: RankingState) -> RankingState:
    """Raises records of the kind and from the person that a question names in words.

    The same for each, so that a clearly better answer stays above.
    """
    if lifted := state.stored.of(LIFTED_RECORDS):
        gain = np.sum([are_among(state.union.records, each) for each in lifted], axis=0)
        state = state.added("intent-boost", LIFT_WEIGHT * gain)
    if leaning := state.stored.of(LEANING_RECORDS):
        gain = np.sum([are_among(state.union.records, each) for each in leaning], axis=0)
        state = state.added("leaning", LEANING_WEIGHT * gain)
    return state


def named_time(state: RankingState) -> RankingState:
    """Raises records from the time that a question names in words.

    All the same; twice where it is that of a document, and for a record with every word of a short
    question.
    """
    if not state.question.times:
        return state
    created = state.stored.columns.created
    inside = np.zeros(len(created), np.bool_)
    exact = np.zeros(len(created), np.bool_)
    for span in state.question.times:
        first = -np.inf if span.start is None else span.start
        last = np.inf if span.end is None else span.end
        within = (created >= first) & (created <= last)
        inside |= within
        exact |= within & (last - first <= MAX_EXACT_TIME_MS)
    whole = state.stored.of(COMPLETE_MATCHES)
    has_all = are_among(state.union.records, whole)
    weight = np.where(
        has_all | exact | state.question.is_for_document, WHOLE_TIME_WEIGHT, TIME_WEIGHT
    )
    return state.added("time", np.where(inside, weight, 0.0))


def every_word(state: RankingState) -> RankingState:
    """Raises records that have every word of a question of two or three words."""
    asked, whole = state.question.words, state.stored.of(COMPLETE_MATCHES)
    if len(state.legs) < 2:  # nothing outvotes the words
        return state
    if not 1 < len(asked.words) + len(asked.phrases) + len(asked.cjk) <= MAX_SHORT_QUESTION_WORDS:
        return state
    has_all = are_among(state.union.records, whole)
    return state.added("every-word", np.where(has_all, EVERY_WORD_WEIGHT, 0.0))


def recency(state: RankingState) -> RankingState:
    """Raises newer records, where the request asks for this boost.

    Age counts from the newest candidate, so that an archive has recent records too; a date after
    the moment of asking counts as that moment.
    """
    if "recency" not in state.request.boosts:
        return state
    created, asked_at = state.stored.columns.created, state.request.asked_at
    now = time.time() if asked_at is None else asked_at.timestamp()
    newest = min(int(now * 1000), int(created.max(initial=0)))
    ages = np.maximum(newest - created, 0) / RECENCY_HALF_LIFE_MS
    return state.added("recency", RECENCY_WEIGHT * 0.5**ages)


def importance(state: RankingState) -> RankingState:
    """Raises more important records and lowers less important ones, where the request asks.

    A record without importance counts as half way.
    """
    if "importance" not in state.request.boosts:
        return state
    known = np.nan_to_num(state.stored.columns.importance, nan=0.5).clip(0.0, 1.0)
    return state.added("importance", IMPORTANCE_WEIGHT * (known - 0.5))


def opened(state: RankingState) -> RankingState:
    """Raises records that were opened, the latest most, where the request asks for this boost."""
    if "opened" not in state.request.boosts:
        return state
    places = state.stored.of(OPENING_ORDER)
    latest = max(1, int(places.max(initial=0)))
    return state.added("opened", RECENCY_WEIGHT * places.clip(min=0) / latest)


def feedback(state: RankingState) -> RankingState:
    """Moves the question halfway towards the two best answers on which all legs agree.

    What answers a question often says in other words what the question meant (J. J. Rocchio,
    1971; for dense vectors X. Wang et al., ICTIR 2021). Answers that only one leg ranks high are
    wrong too often to follow (selective feedback: S. Cronen-Townsend et al., CIKM 2004). Each
    record gains the change of its standard score.
    """
    best = best_first(state.union.records, state.total)[:FEEDBACK_RECORDS]
    scorers = state.stored.of(FEEDBACK)
    if not scorers or not len(best) or not agreed(state.legs)[best].all():
        return state
    foreign = words.mostly_foreign(state.question.text)
    gain: Values | None = None
    for name, score in scorers.items():
        scores = score(best)
        if scores is not None:
            before, after = map(z_scores, scores)
            weight = weights(name, state.union.code, foreign=foreign)
            gain = weight * (after - before) + (0.0 if gain is None else gain)
    return state if gain is None else state.added("feedback", gain)


def sort(state: RankingState) -> RankingState:
    """Orders the matches by score, ties by record number so that equal searches agree."""
    rows, total = state.rows, state.total
    numbers = state.union.records
    rows = rows[best_first(numbers[rows], total[rows])]
    columns = (numbers[rows].tolist(), total[rows].tolist(), state.union.passages[rows].tolist())
    hits = map(Hit, columns[0], columns[1], repeat(NO_SCORES), columns[2])
    return state.ordered(list(hits))
