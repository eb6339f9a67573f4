"""Fusion of the legs' scores into one score: the measured default.

For each leg the z-score over the union of candidates, with every leg's exact score for every
candidate, plus one over the record's rank in that leg: the first place of a leg says more than
its distance to the second. On the development sets the sum beats both legs, while equal-weight
reciprocal rank fusion (Cormack et al., SIGIR 2009) falls below BM25 alone on short texts; the
ablation is in docs/retrieval.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mem_search.model.rankings import Values
from mem_search.search.state import LegScores, RankingState

CODE_DENSE = 5.0
"""Source code shares few words with questions about it: there the vector leg decides."""

FOREIGN_DENSE = 0.25
"""The bundled model knows only English: for other scripts the keyword leg decides."""

RANK_BONUS = 1.0
"""What rank 1 in a leg adds; rank n adds one n-th of it."""

_LEAST_SPREAD = 1e-9

Code = NDArray[np.bool_]
"""Shape (n,): whether the passage of each record of the union is source code."""


@dataclass(frozen=True, slots=True)
class ZScoreSum:
    """``Fusion`` by the weighted sum of standard scores and rank bonuses."""

    name: str = "z-score sum"

    def fuse(self, state: RankingState) -> Values:
        """The fused score of every record of the union."""
        return fuse(state.union.code, state.legs, foreign=state.question.foreign)

    def scores(self, state: RankingState, row: int) -> dict[str, float]:
        """Raw scores of the legs and parts by stage; with ``explain`` the share of each leg."""
        raw = {name: float(leg.scores[row]) for name, leg in state.legs.items()}
        found = {name: score for name, score in raw.items() if score == score}  # not NaN
        for name, part in state.parts.items():
            if name == "fused" or part[row]:
                found[name] = float(part[row])
        if state.request.explain:
            found |= explain(state.union.code, state.legs, row, foreign=state.question.foreign)
        return found


Z_SCORE_SUM: Final = ZScoreSum()


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
    """What each leg contributed to ``fuse`` for the record at ``row``, as ``vector.z`` and so on.

    A leg adds ``weight * (z + bonus)``; ``rank`` is present when the leg lists the record.
    """
    found: dict[str, float] = {}
    for name, leg in legs.items():
        if rank := int(leg.ranks[row]):
            found[f"{name}.rank"] = rank
        for what, values in _part(name, leg, code, foreign=foreign).items():
            found[f"{name}.{what}"] = float(values[row])
    return found


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
