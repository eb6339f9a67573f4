"""The default fusion: the weighted sum of standard scores and rank bonuses.

It takes for each leg the z-score over the union of candidates, with every leg's
exact score for every candidate, plus one over the record's rank in that leg: the first place of a
leg says more than its distance to the second. On the development sets the sum beats both legs,
while equal-weight reciprocal rank fusion (Cormack et al., SIGIR 2009) falls below BM25 alone on
short texts; the ablation is in docs/lab/ranking.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mem_search.model.rankings import Values
from mem_search.search.state import LegScores, RankingState
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
        found = {name: score for name, score in raw.items() if score == score}  # not NaN
        for name, part in state.parts.items():
            if name == "fused" or part[row]:
                found[name] = float(part[row])
        if state.request.explain:
            foreign = mostly_foreign(state.question.text)
            found |= explain(state.union.code, state.legs, row, foreign=foreign)
        return found


Z_SCORE_SUM: Final = ZScoreSum()


def explain(
    code: Code, legs: Mapping[str, LegScores], row: int, *, foreign: bool
) -> dict[str, float]:
    """What each leg contributed to ``ZScoreSum.fuse`` for the record at ``row``: ``vector.z``, ...

    A leg adds ``weight * (z + bonus)``; ``rank`` is present when the leg lists the record.
    """
    found: dict[str, float] = {}
    for name, parts in _parts(legs, code, foreign=foreign).items():
        if rank := int(legs[name].ranks[row]):
            found[f"{name}.rank"] = rank
        for what, values in parts.items():
            found[f"{name}.{what}"] = float(values[row])
    return found


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
