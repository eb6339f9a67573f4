"""Feedback: the question moved halfway to its two best answers, as Rocchio did.

What answers a question often says in other words what the question meant (J. J. Rocchio, 1971;
for dense vectors X. Wang et al., ICTIR 2021). Only a leg by meaning can be moved, and only where
words and meaning both had a say in what is best. What it is worth is in docs/retrieval.md.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

from mem_search.contracts import Question
from mem_search.rankings import Candidates, Values
from mem_search.search import matching
from mem_search.search.asking import Answer
from mem_search.search.fusion import LegScores, weights, z_scores

ANSWERS = 2
"""Records that the question is moved to; with none there is no feedback."""


def add_feedback(
    connection: sqlite3.Connection,
    question: Question,
    answers: Sequence[Answer],
    union: Candidates,
    legs: Mapping[str, LegScores],
    total: Values,
) -> dict[str, Values]:
    """What the moved question adds to each record of the union; ``total`` are its scores so far."""
    if len(legs) < 2 or not ANSWERS:
        return {}
    best = union.records[matching.order(union.records, total)[:ANSWERS]]
    added: dict[str, Values] = {}
    for answer in answers:
        name = answer.leg.name
        moved = (
            answer.leg.towards(connection, question, best, union.records) if name in legs else None
        )
        if moved is not None:
            weight = weights(name, union.code, foreign=question.foreign)
            gain = weight * (z_scores(moved) - z_scores(legs[name].scores))
            added["feedback"] = added.get("feedback", 0.0) + gain
    return added
