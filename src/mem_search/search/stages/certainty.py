"""How sure a result is: two probabilities that mean the same in every search.

A fused score says which candidate of one search is better. Whether any of them answers is another
question. It is told by what does not depend on the other candidates: which share of the question's
words a passage has, weighted by how rare they are; its cosine; and how much of the question is
words that no passage has. Both are logistic regressions; docs/adr/0042-answers.md says on what they
were fitted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from mem_search.model.rankings import Values
from mem_search.search.stage_data import COVERED, NAMED
from mem_search.search.state import RankingState
from mem_search.text import words

RELEVANCE: Final = {"covered": 4.96, "cosine": 1.63, "bias": -5.78}
"""Of a passage to the question: fitted on the judged results of the development sets."""

ANSWER: Final = {"covered": 3.3, "cosine": 10.2, "unknown": -4.7, "named": 5.2, "bias": -6.6}
"""That a passage answers the question: fitted on questions with and without an answer. The bias is
that of questions near what an archive holds, of which many have none."""

ESTIMATED: Final = {"covered": 0.41, "bias": 0.26}
"""The mean cosine of a passage with such a share of the words, where there is none to go by."""

MIN_ANSWER: Final = 0.08
"""With less than this from the best results the store has no answer."""

ALL: Final = 0.999
MIN_OF_ALL: Final = 0.2
"""A passage with all words, which is this share of them, is at least so sure."""

BEST: Final = 5
"""So many results, the best of the ranking, may have the answer."""

NEAREST: Final = 3
"""So many results are shown where none answers."""


def certainty(state: RankingState) -> RankingState:
    """Gives each record the probability that it is relevant, and the search that it has an answer.

    Both are the same whatever else is found. Explicit demands, such as quotes, answer themselves.
    """
    covered = state.stored.of(COVERED)
    if covered is None:
        return state
    cosines = ESTIMATED["bias"] + ESTIMATED["covered"] * covered.shares
    if (vector := state.legs.get("vector")) and not words.mostly_foreign(state.question.text):
        cosines = np.where(np.isnan(vector.scores), cosines, vector.scores)
    relevance = _logistic(RELEVANCE, covered=covered.shares, cosine=cosines)
    answers = _logistic(
        ANSWER,
        covered=covered.shares,
        cosine=cosines,
        unknown=covered.unknown,
        named=float(state.question.is_for_document),
    )
    answers = np.where(covered.shares > ALL, np.maximum(answers, MIN_OF_ALL), answers)
    state = replace(state, relevance=relevance, answers=answers)
    demanded = state.question.filters.demand is not None and not state.question.is_for_document
    if demanded or state.filters_decide or state.stored.of(NAMED).held:
        return state
    rows = state.rows
    best = rows[np.argsort(-state.total[rows], kind="stable")][:BEST]
    said = bool((answers[best] >= MIN_ANSWER).any())
    return replace(state, is_answered=said, missing=covered.missing)


def no_answer(state: RankingState) -> RankingState:
    """Keeps the nearest records, and counts none as found, where the store has no answer."""
    request = state.request
    if state.is_answered or request.include_weaker or request.is_research:
        return state
    if request.mode == "vector":  # what is nearest in meaning was asked for
        return state
    rows = state.rows
    kept = set(state.union.records[rows[np.argsort(-state.total[rows], kind="stable")]][:NEAREST])
    hits = [hit._replace(similar=()) for hit in state.hits if hit.number in kept]
    return replace(
        state, hits=hits, matched=np.zeros(len(state.union), np.bool_), beyond=None, weaker=0
    )


def _logistic(weights: dict[str, float], **features: Values | float) -> Values:
    odds = sum(weights[name] * value for name, value in features.items()) + weights["bias"]
    return np.asarray(1 / (1 + np.exp(-np.asarray(odds))), np.float64)
