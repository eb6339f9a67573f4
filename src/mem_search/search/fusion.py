"""Fusion: the scores of several legs into one, as a pure function of numbers.

For each leg the z-score over the union of candidates, with every leg's exact score for every
candidate, plus one over the record's rank in that leg: the first place of a leg says more than
its distance to the second. On the development sets the sum beats both legs, while equal-weight
reciprocal rank fusion (Cormack et al., SIGIR 2009) falls below BM25 alone on short texts; the
ablation is in docs/retrieval.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mem_search.model.rankings import Numbers, Values

CODE_DENSE = 5.0
"""Source code shares few words with questions about it: there the vector leg decides."""

FOREIGN_DENSE = 0.25
"""The bundled model knows English: for other scripts the words decide."""

RANK_BONUS = 1.0
"""What the first place of a leg adds; the n-th adds one n-th of it."""

_LEAST_SPREAD = 1e-9

Code = NDArray[np.bool_]
"""For each record of the union whether its passage is source code."""


@dataclass(frozen=True, slots=True, eq=False)
class LegScores:
    """What one leg says of each record of the union, in its order.

    ``scores`` are NaN where it knows none; ``ranks`` count from 1 and are 0 where it does not
    list the record.
    """

    scores: Values
    ranks: Numbers


def fuse(code: Code, legs: Mapping[str, LegScores], *, foreign: bool) -> Values:
    """The fused score of every record of the union."""
    total = np.zeros(len(code))
    for name, leg in legs.items():
        part = _part(name, leg, code, foreign=foreign)
        total += part["weight"] * (part["z"] + part["bonus"])
    return total


def explain(
    code: Code, legs: Mapping[str, LegScores], row: int, *, foreign: bool
) -> dict[str, float]:
    """What each leg put into ``fuse`` for the record at ``row``: by name, ``vector.z``, ….

    A leg adds ``weight * (z + bonus)``; ``rank`` is there when the leg lists the record.
    """
    said: dict[str, float] = {}
    for name, leg in legs.items():
        if rank := int(leg.ranks[row]):
            said[f"{name}.rank"] = rank
        for what, values in _part(name, leg, code, foreign=foreign).items():
            said[f"{name}.{what}"] = float(values[row])
    return said


def _part(name: str, leg: LegScores, code: Code, *, foreign: bool) -> dict[str, Values]:
    """``z``, ``bonus`` and ``weight`` of one leg for every record of the union."""
    listed = leg.ranks > 0
    return {
        "z": z_scores(leg.scores),
        "bonus": np.where(listed, RANK_BONUS / np.maximum(leg.ranks, 1), 0.0),
        "weight": weights(name, code, foreign=foreign),
    }


def weights(name: str, code: Code, *, foreign: bool) -> Values:
    """What the leg called ``name`` counts for each record of the union."""
    return np.where(
        code,
        _weight(name, code=True, foreign=foreign),
        _weight(name, code=False, foreign=foreign),
    )


def z_scores(values: Values) -> Values:
    """Standard scores; unknown ones (NaN) and those of a leg without spread are 0."""
    known = values[~np.isnan(values)]
    if known.size < 2 or (spread := known.std()) < _LEAST_SPREAD:
        return np.zeros(len(values))
    scores: Values = np.nan_to_num((values - known.mean()) / spread, nan=0.0, copy=False)
    return scores


def _weight(leg: str, *, code: bool, foreign: bool) -> float:
    """Weights of the two legs sum to 2 whatever their ratio, so that all passages compare."""
    dense = FOREIGN_DENSE if foreign else CODE_DENSE if code else 1.0
    return 2 * (dense if leg == "vector" else 1.0) / (1.0 + dense)
