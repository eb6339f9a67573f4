"""Supersession: what stands in for a record stands above it, as a pure function.

A successor is brought up to directly above the record that it supersedes, not the other down to
it: that the old one answers well says that the new one is about the question. Only what is a
hit itself is brought up. Where the successor is none, the old record keeps its place and names
it (``Record.superseded_by``): totals and filters stay true.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mem_search.model import Hit

NAME = "supersession"
"""What the score of a record that was brought up has gained by it."""


def lift(hits: Sequence[Hit], successors: Mapping[int, Sequence[int]]) -> list[Hit]:
    """``hits``, best first, with successors above what they supersede.

    ``successors`` of a record are the nearest first. Whatever is brought up gets the score of the
    record above which it stands.
    """
    if not successors:
        return [*hits]
    known = {hit.number: hit for hit in hits}
    lifted: dict[int, Hit] = {}
    for hit in hits:
        if hit.number in lifted:
            continue
        for number in reversed(successors.get(hit.number, ())):
            if number in known and number not in lifted:
                lifted[number] = _raised(known[number], hit.score)
        lifted[hit.number] = hit
    return [*lifted.values()]


def _raised(hit: Hit, score: float) -> Hit:
    return hit._replace(score=score, scores={**hit.scores, NAME: score - hit.score})
