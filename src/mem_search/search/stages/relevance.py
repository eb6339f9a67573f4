"""What is found: the relevant set, how sure each result is, and when the store has no answer.

A fused score says which candidate of one search is better. Whether any of them answers is another
question. It is told by what does not depend on the other candidates: which share of the question's
words a passage has, weighted by how rare they are; its cosine; and how much of the question is
words that no passage has. Both are logistic regressions; docs/adr/0042-answers.md says on what they
were fitted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from mem_search.model.rankings import Values, are_among
from mem_search.search.stage_data import COVERED, NAMED, WHOLE
from mem_search.search.stages.scoring import COSINE_FLOOR
from mem_search.search.state import LegScores, Mask, RankingState
from mem_search.text import words

RELEVANT: Final = "relevant"
CERTAINTY: Final = "certainty"

RATIO = 2 / 3
"""A relevant record has this share of the best score, less what follows."""

SLACK = {True: 3.2, False: 3.8}
"""How far below it may lie: with several legs, and with one, whose scores are half as large."""

CLOSENESS = 11.0
"""How much further with a cosine of 1."""

LEADERS = 10
"""So many of the best, a page, may lie further below the best one."""

LEADERS_SLACK = 3.0
"""How much further these may lie."""

RELEVANCE: Final = {"covered": 4.96, "cosine": 1.63, "bias": -5.78}
"""Of a passage to the question: fitted on the judged results of the development sets."""

CONFIDENCE: Final = {"covered": 3.3, "cosine": 10.2, "unknown": -4.7, "named": 5.2, "bias": -6.6}
"""That a passage answers the question: fitted on questions with and without an answer. The bias is
that of questions near what an archive holds, of which many have none."""

ESTIMATED: Final = {"covered": 0.41, "bias": 0.26}
"""The mean cosine of a passage with such a share of the words, where there is none to go by."""

MIN_CONFIDENCE: Final = 0.08
"""With less than this from the best results the store has no answer."""

ALL: Final = 0.999
MIN_OF_ALL: Final = 0.2
"""A passage with all words, which is this share of them, is at least so sure."""

BEST: Final = 5
"""So many results, the best of the ranking, may have the answer."""

NEAREST: Final = 3
"""So many results are shown where none answers."""


def relevant(state: RankingState) -> RankingState:
    """Keeps the records that answer the question nearly as well as the best one does.

    A record that has every word of a short question, or all that an explicit one demands, stays
    whatever its score. A name alone finds only what holds it. docs/lab/ranking.md has the figures.
    """
    if state.filters_decide or state.request.include_weaker or not len(state.union):
        return state
    found, whole = state.union.records, state.stored.of(WHOLE)
    matched = np.ones(len(found), np.bool_) if state.matched is None else state.matched
    keep = matched & are_among(found, whole)
    if not state.stored.of(NAMED).alone:
        keep |= matched & near_the_best(state.total, matched, state.legs)
    left_out = int(matched.sum() - keep.sum())
    if (beyond := state.beyond) is not None:
        kept = beyond.taken(are_among(beyond.records, whole))
        left_out += len(beyond.records) - len(kept.records)
        beyond = kept
    return replace(state, matched=keep, beyond=beyond, weaker=left_out)


def near_the_best(total: Values, matched: Mask, legs: Mapping[str, LegScores]) -> Mask:
    """Which records lie near enough to the best of those that are ``matched``.

    The nearer the meaning of a record, the further its score may lie below the best, and the
    ``LEADERS`` may lie further still: a page that ends early loses more than it gains.
    """
    ordered = np.sort(total[matched])[::-1][:LEADERS]
    best = float(ordered.max(initial=0.0))
    slack = np.full(len(total), SLACK[len(legs) > 1])
    if len(legs) > 1 and (vector := legs.get("vector")) is not None:
        slack += CLOSENESS * np.nan_to_num(vector.scores, nan=COSINE_FLOOR)
    slack += np.where(total >= ordered.min(initial=best), LEADERS_SLACK, 0.0)
    return np.asarray(total >= RATIO * best - slack)


def certainty(state: RankingState) -> RankingState:
    """Gives each record the probability that it is relevant, and that it answers the question.

    Both are the same whatever else is found.
    """
    covered = state.stored.of(COVERED)
    if covered is None:
        return state
    cosines = ESTIMATED["bias"] + ESTIMATED["covered"] * covered.shares
    if (vector := state.legs.get("vector")) and not words.mostly_foreign(state.question.text):
        cosines = np.where(np.isnan(vector.scores), cosines, vector.scores)
    relevance = _logistic(RELEVANCE, covered=covered.shares, cosine=cosines)
    confidence = _logistic(
        CONFIDENCE,
        covered=covered.shares,
        cosine=cosines,
        unknown=covered.unknown,
        named=float(state.question.is_for_document),
    )
    whole = covered.shares > ALL
    confidence = np.where(whole, np.maximum(confidence, MIN_OF_ALL), confidence)
    return replace(state, relevance=relevance, confidence=confidence)


def no_answer(state: RankingState) -> RankingState:
    """Keeps the nearest records, and counts none as found, where the store has no answer.

    Explicit demands, such as quotes, answer themselves.
    """
    request, covered, confidence = state.request, state.stored.of(COVERED), state.confidence
    demanded = state.question.filters.demand is not None and not state.question.is_for_document
    if covered is None or confidence is None or demanded or state.filters_decide:
        return state
    if state.stored.of(NAMED).held:
        return state
    rows = state.rows
    best = rows[np.argsort(-state.total[rows], kind="stable")]
    said = bool((confidence[best[:BEST]] >= MIN_CONFIDENCE).any())
    state = replace(state, is_answered=said, missing=covered.missing)
    if said or request.include_weaker or request.is_research:
        return state
    if request.mode == "vector":  # what is nearest in meaning was asked for
        return state
    kept = set(state.union.records[best[:NEAREST]])
    hits = [hit._replace(similar=()) for hit in state.hits if hit.number in kept]
    return replace(
        state, hits=hits, matched=np.zeros(len(state.union), np.bool_), beyond=None, weaker=0
    )


def _logistic(weights: dict[str, float], **features: Values | float) -> Values:
    odds = sum(weights[name] * value for name, value in features.items()) + weights["bias"]
    return np.asarray(1 / (1 + np.exp(-np.asarray(odds))), np.float64)
