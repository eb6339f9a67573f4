"""Weighted reciprocal rank fusion, as a pure function of ranks.

``score(r) = Σ weight(leg) / (k + rank(leg, r))`` over the legs that list ``r`` (Cormack,
Clarke and Büttcher, SIGIR 2009, with weights), divided by what a record at the top of every
leg would get: 1 is the first place everywhere. Scores of the legs play no part, which makes it
easy to foresee and blind to how much better the first answer is; ``fusion`` is the default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

K = 60
"""What the authors chose; smaller favours the first places, larger evens the legs out."""


def fuse(
    rankings: Mapping[str, Sequence[int]], weights: Mapping[str, float], k: int = K
) -> dict[int, float]:
    """Record → score in (0, 1], for every record that a leg with a weight above 0 lists.

    ``model/rankings`` has each record at most once per leg, best first; ``weights`` are at least 0
    and need not sum to 1: a leg that did not answer is left out of both sides of the division.
    """
    best = sum(weights.get(leg, 0.0) for leg in rankings) / (k + 1)
    total: dict[int, float] = {}
    for leg, records in rankings.items():
        weight = weights.get(leg, 0.0)
        if weight <= 0:
            continue
        for rank, record in enumerate(records, start=1):
            total[record] = total.get(record, 0.0) + weight / (k + rank)
    # Rounding of the sum may reach past its own maximum by the last bit.
    return {record: min(1.0, score / best) for record, score in total.items()}
