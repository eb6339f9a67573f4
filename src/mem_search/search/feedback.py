"""Feedback: where both legs agree on the best answers, the question moves halfway to them.

What answers a question often says in other words what the question meant (J. J. Rocchio, 1971;
for dense vectors X. Wang et al., ICTIR 2021). Answers that only one leg holds for the best are
wrong too often to follow, and to move on agreement alone spares most searches the work (selective
feedback: S. Cronen-Townsend et al., CIKM 2004). What it is worth is in docs/retrieval.md.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

from mem_search.contracts import Question
from mem_search.model.rankings import Candidates, Numbers, Values
from mem_search.search import candidates
from mem_search.search.fusion import LegScores, weights, z_scores
from mem_search.search.legs import LegAnswer

ANSWERS = 2
"""Records that the question is moved to; with none there is no feedback."""

AGREED = 5
"""Every leg has to list each of them among so many of its best."""


def add_feedback(
    connection: sqlite3.Connection,
    question: Question,
    answers: Sequence[LegAnswer],
    union: Candidates,
    legs: Mapping[str, LegScores],
    total: Values,
) -> dict[str, Values]:
    """What the moved question adds to each record of the union; ``total`` are its scores so far.

    Nothing when there is but one leg, or when the legs do not agree.
    """
    best = candidates.order(union.records, total)[:ANSWERS]
    if len(legs) < 2 or not len(best) or not all(_lists(leg, best) for leg in legs.values()):
        return {}
    added: dict[str, Values] = {}
    for answer in answers:
        name = answer.leg.name
        if name not in legs:
            continue
        scores = answer.leg.towards(connection, question, union.passages, best)
        if scores is not None:
            before, after = map(z_scores, scores)
            gain = weights(name, union.code, foreign=question.foreign) * (after - before)
            added["feedback"] = added.get("feedback", 0.0) + gain
    return added


def _lists(leg: LegScores, rows: Numbers) -> bool:
    """Whether ``leg`` has all of ``rows`` among its best."""
    ranks = leg.ranks[rows]
    return bool(((ranks > 0) & (ranks <= AGREED)).all())
