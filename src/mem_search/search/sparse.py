"""The third score: of the candidates that the legs bring, by their sparse vectors.

It brings no candidates, and has no index: the vectors of some hundred candidates are read with what
the other stages read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from mem_search.contracts import RankingTraits
from mem_search.errors import ModelUnavailable
from mem_search.model import LegReport, SearchRequest
from mem_search.model.kind_codes import KIND_CODES
from mem_search.model.rankings import Candidates, Numbers, Values
from mem_search.search.state import RankingInput, SparseQuestion, StageData
from mem_search.text import sparse
from mem_search.text.sparse import SparseModel
from mem_search.text.words import mostly_foreign

LEG: Final = "sparse"

MIN_KNOWN: Final = 0.9
"""With vectors of a smaller share of the candidates the score is not used: it compares them."""


@dataclass(frozen=True, slots=True, eq=False)
class SparseScores:
    """The score of each candidate, NaN where it has no vector, and how much it counts.

    ``problem`` is why the question has no vector.
    """

    values: Values
    weights: Values
    problem: str = ""

    def report(self, known: int) -> LegReport:
        """``known`` of those that want a vector have one."""
        wanted = int(np.count_nonzero(self.weights))
        if self.problem:
            return LegReport(LEG, "off", detail=self.problem)
        if known == wanted:
            return LegReport(LEG, "ok", known)
        detail = f"{known} of {wanted} candidates have a sparse vector so far"
        return LegReport(LEG, "degraded", known, detail=detail)


def sparse_question(
    model: SparseModel | None, request: SearchRequest, text: str
) -> SparseQuestion | None:
    """The question whose vector is compared.

    None without a model, in a script that it does not know, and where one leg or the weights of
    the request decide.
    """
    if model is None or request.mode != "hybrid" or request.fusion is not None:
        return None
    return None if mostly_foreign(text) else SparseQuestion(model, text)


def weights(union: Candidates, conversations: Numbers, traits: RankingTraits) -> Values:
    """How much the score counts for each candidate: by its kind, 0 for source code."""
    found = np.zeros(len(union))
    for kind, weight in traits.sparse.items():
        found[(union.kinds == KIND_CODES.code(kind)) & ~union.code] = weight
    in_session = np.isin(union.kinds, KIND_CODES.among(traits.sparse_in_session))
    found[in_session & (conversations == 0)] = 0.0
    return found


def _scored(inputs: RankingInput) -> SparseScores | None:
    question, passages = inputs.sparse, inputs.union.passages
    if question is None or len(inputs.legs) < 2:
        return None
    counts = weights(inputs.union, inputs.stored.columns.conversations, inputs.traits)
    wanted = np.flatnonzero(counts)
    if not len(wanted):
        return None
    values = np.full(len(passages), np.nan)
    try:
        vector = question.vector()
    except ModelUnavailable as error:
        return SparseScores(values, counts, error.message)
    held = inputs.snapshot.sparse_vectors(passages[wanted])
    rows = [row for row in wanted.tolist() if passages[row] in held]
    values[rows] = sparse.scores(vector, [held[passages[row]] for row in rows])
    return SparseScores(values, counts)


SPARSE: Final[StageData[SparseScores | None]] = StageData("sparse", _scored, None)
"""None where there is no such score: of one leg alone, in a script that the model has not, or where
no candidate is of a kind that gains by it."""
