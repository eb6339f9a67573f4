"""What is found: what matches, what of it is relevant, how sure each result is, and when the store
has no answer.

A fused score says which candidate of one search is better. Whether any of them answers is another
question. It is told by what does not depend on the other candidates: which share of the question's
words a passage has, weighted by how rare they are; its cosine; and how much of the question is
words that no passage has. Both are logistic regressions; docs/adr/0042-answers.md says on what they
were fitted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mem_search.model.arrays import are_among
from mem_search.model.rankings import Candidates, Ranking, Values
from mem_search.search.stage_data import COMPLETE_MATCHES, NAMED_RECORDS, TERM_COVERAGE
from mem_search.search.state import LegScores, Mask, RankingState
from mem_search.text import wordpieces, words

RELEVANT: Final = "relevant"
CERTAINTY: Final = "certainty"

COSINE_FLOOR = 0.30
"""Below this a passage is not about the query (docs/lab/ranking.md has the distributions)."""

UNREADABLE_COSINE_FLOOR = 0.45
"""The floor for words that neither the store nor the model knows: nonsense reaches .43."""

MIN_CHARS_PER_PIECE = 2.2
"""The fewest characters per word piece of known words: ``zzqqxx`` has 1.2, ``kubernetes`` 2.5."""

RELEVANT_SHARE = 2 / 3
"""A relevant record has this share of the best score, less what follows."""

SLACK = {True: 3.2, False: 3.8}
"""How far below it may lie: with several legs, and with one, whose scores are half as large."""

COSINE_SLACK = 11.0
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

ESTIMATED_COSINE: Final = {"covered": 0.41, "bias": 0.26}
"""The mean cosine of a passage with such a share of the words, where there is none to go by."""

MIN_CONFIDENCE: Final = 0.08
"""With less than this from the best results the store has no answer."""

COSINE_SCALES: Final = {
    "minilm-l6-v2": (1.0, 0.0),
    "chroma-default": (1.0, 0.0),
}
"""Model → by what its cosines are multiplied and then what is added, to mean what those of the
bundled model mean. Of another model no cosine is known to mean anything: words alone decide."""

COMPLETE_COVERAGE: Final = 0.999
MIN_COMPLETE_CONFIDENCE: Final = 0.2
"""A passage with all words, which is this share of them, is at least so sure."""

ANSWER_DEPTH: Final = 5
"""So many results, the best of the ranking, may have the answer."""

MAX_SHOWN_UNANSWERED: Final = 3
"""So many results are shown where none answers."""

MIN_COSINE_LEAD: Final = 0.22
"""What lies so far above the tenth cosine answers in other words than the question's. Of questions
without an answer 3 % have such a record, of paraphrases without a shared word a fifth."""

MIN_TELLING_COVERAGE: Final = 0.5
"""Where none of the five best has half of what the question says, words decide little."""


def match(state: RankingState) -> RankingState:
    """Keeps the records that contain a word of the question or are near it in meaning."""
    if state.filters_decide:
        return state
    floor = cosine_floor(state.question.text, state.rankings)
    matched = matches(state.union, state.legs, state.rankings, floor)
    if held := state.stored.of(NAMED_RECORDS).held:
        matched |= are_among(state.union.records, np.array(sorted(held), np.int64))
    return replace(state, matched=matched)


def cosine_floor(text: str, rankings: Sequence[Ranking]) -> float:
    """The lowest cosine at which meaning alone makes a record a match for the query ``text``."""
    matched = [ranking for ranking in rankings if len(ranking.matched)]
    if matched and not words.hashes_alone(text):
        return COSINE_FLOOR
    letters = sum(not char.isspace() for char in text)
    readable = letters >= MIN_CHARS_PER_PIECE * wordpieces.count(text)
    return COSINE_FLOOR if readable else UNREADABLE_COSINE_FLOOR


def matches(
    union: Candidates,
    scores: Mapping[str, LegScores],
    rankings: Sequence[Ranking],
    floor: float,
) -> NDArray[np.bool_]:
    """Which records of ``union`` match: by their words, or by a cosine of at least ``floor``."""
    matched = np.zeros(len(union), np.bool_)
    for ranking in rankings:
        matched |= ~np.isnan(ranking.matched.of(union.records))
    if "vector" in scores:
        matched |= scores["vector"].scores >= floor
    return matched


def relevant(state: RankingState) -> RankingState:
    """Keeps the records that answer the question nearly as well as the best one does.

    A record that has every word of a short question, or all that an explicit one demands, stays
    whatever its score. A name alone finds only what holds it. docs/lab/ranking.md has the figures.
    """
    if state.filters_decide or state.request.include_weaker or not len(state.union):
        return state
    records, whole = state.union.records, state.stored.of(COMPLETE_MATCHES)
    matched = np.ones(len(records), np.bool_) if state.matched is None else state.matched
    keep = matched & are_among(records, whole)
    if (first := first_in_meaning(state)) is not None:
        keep[first] = True
    if not state.stored.of(NAMED_RECORDS).alone:
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
        slack += COSINE_SLACK * np.nan_to_num(vector.scores, nan=COSINE_FLOOR)
    slack += np.where(total >= ordered.min(initial=best), LEADERS_SLACK, 0.0)
    return np.asarray(total >= RELEVANT_SHARE * best - slack)


def certainty(state: RankingState) -> RankingState:
    """Gives each record the probability that it is relevant, and that it answers the question.

    Both are the same whatever else is found.
    """
    covered = state.stored.of(TERM_COVERAGE)
    if covered is None:
        return state
    cosines = ESTIMATED_COSINE["bias"] + ESTIMATED_COSINE["covered"] * covered.shares
    if (known := calibrated_cosines(state)) is not None:
        cosines = np.where(np.isnan(known), cosines, known)
    relevance = _logistic(RELEVANCE, covered=covered.shares, cosine=cosines)
    confidence = _logistic(
        CONFIDENCE,
        covered=covered.shares,
        cosine=cosines,
        unknown=covered.unknown,
        named=float(state.question.is_for_document),
    )
    whole = covered.shares > COMPLETE_COVERAGE
    confidence = np.where(whole, np.maximum(confidence, MIN_COMPLETE_CONFIDENCE), confidence)
    return replace(state, relevance=relevance, confidence=confidence)


def calibrated_cosines(state: RankingState) -> Values | None:
    """Those of each record, as the bundled model would have them; None where nothing tells that."""
    vector = state.legs.get("vector")
    if vector is None or words.mostly_foreign(state.question.text):
        return None
    meant = COSINE_SCALES.get(vector.space.partition(":")[0])
    return None if meant is None else meant[0] * vector.scores + meant[1]


def first_in_meaning(state: RankingState) -> int | None:
    """The row of the record that the vector leg has first beside another leg, where it matches."""
    vector = state.legs.get("vector")
    if vector is None or len(state.legs) < 2 or words.mostly_foreign(state.question.text):
        return None
    rows = np.flatnonzero((vector.ranks == 1) & (vector.scores >= COSINE_FLOOR))
    if state.matched is not None:
        rows = rows[state.matched[rows]]
    return int(rows[0]) if len(rows) else None


def in_other_words(state: RankingState) -> RankingState:
    """Gives the record that is first in meaning the fifth place where words decide little.

    That is where none of the five best has half of what the question says: these share a word with
    it by chance more often than not. Elsewhere a place for it costs more answers than it brings.
    """
    first, covered = first_in_meaning(state), state.stored.of(TERM_COVERAGE)
    hits = state.hits
    if first is None or covered is None or state.request.order != "relevance":
        return state
    row_of = {each: row for row, each in enumerate(state.union.records.tolist())}
    best = [row_of[hit.number] for hit in hits[:ANSWER_DEPTH]]
    covers = covered.shares[best].max(initial=0.0) >= MIN_TELLING_COVERAGE
    if covers or len(state.stored.of(COMPLETE_MATCHES)):
        return state
    number = int(state.union.records[first])
    at = next((at for at, hit in enumerate(hits) if hit.number == number), 0)
    if at < ANSWER_DEPTH:
        return state
    last = ANSWER_DEPTH - 1
    return state.ordered([*hits[:last], hits[at], *hits[last:at], *hits[at + 1 :]])


def _stands_out(state: RankingState) -> bool:
    """Whether one record is much nearer in meaning than the tenth."""
    cosines = calibrated_cosines(state)
    if cosines is None or first_in_meaning(state) is None:
        return False
    ordered = np.sort(cosines[~np.isnan(cosines)])[::-1]
    return len(ordered) >= LEADERS and bool(ordered[0] - ordered[LEADERS - 1] >= MIN_COSINE_LEAD)


def no_answer(state: RankingState) -> RankingState:
    """Keeps the nearest records, and counts none as found, where the store has no answer.

    Explicit demands, such as quotes, answer themselves.
    """
    request, covered, confidence = state.request, state.stored.of(TERM_COVERAGE), state.confidence
    question = state.question
    read = question.is_for_document or question.in_words
    demanded = question.filters.demand is not None and not read
    if covered is None or confidence is None or demanded or state.filters_decide:
        return state
    if state.stored.of(NAMED_RECORDS).by_name:
        return state
    rows = state.rows
    best = rows[np.argsort(-state.total[rows], kind="stable")]
    said = bool((confidence[best[:ANSWER_DEPTH]] >= MIN_CONFIDENCE).any()) or _stands_out(state)
    state = replace(state, is_answered=said, missing=covered.missing)
    if said or request.include_weaker or request.is_research:
        return state
    if request.mode == "vector":  # what is nearest in meaning was asked for
        return state
    nearest = best[:MAX_SHOWN_UNANSWERED]
    if (first := first_in_meaning(state)) is not None and first not in nearest:
        nearest = np.append(nearest[:-1], first)
    kept = set(state.union.records[nearest].tolist())
    hits = [hit._replace(similar=()) for hit in state.hits if hit.number in kept]
    return replace(
        state, hits=hits, matched=np.zeros(len(state.union), np.bool_), beyond=None, weaker=0
    )


def _logistic(weights: dict[str, float], **features: Values | float) -> Values:
    odds = sum(weights[name] * value for name, value in features.items()) + weights["bias"]
    return np.asarray(1 / (1 + np.exp(-np.asarray(odds))), np.float64)
