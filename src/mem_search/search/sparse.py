"""The third score: of the candidates that the legs bring, by their sparse vectors.

It brings no candidates, and has no index: the vectors of some hundred candidates are read with what
the other stages read.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

import numpy as np

from mem_search.errors import ModelUnavailable
from mem_search.model import LegReport, SearchRequest
from mem_search.model.rankings import Values
from mem_search.search.state import RankingInput, SparseQuestion, StageData
from mem_search.text import sparse
from mem_search.text.sparse import SparseModel
from mem_search.text.words import mostly_foreign

LEG: Final = "sparse"

MIN_KNOWN: Final = 0.9
"""With vectors of a smaller share of the candidates the score is not used: it compares them."""


@dataclass(frozen=True, slots=True, eq=False)
class SparseScores:
    """The score of each candidate, NaN where it has no vector, or the ``problem``."""

    values: Values
    problem: str = ""

    def report(self, wanted: int, known: int) -> LegReport:
        """``known`` of the ``wanted`` candidates have their vector."""
        if self.problem:
            return LegReport(LEG, "off", detail=self.problem)
        if known == wanted:
            return LegReport(LEG, "ok", known)
        detail = f"{known} of {wanted} candidates have a sparse vector so far"
        return LegReport(LEG, "degraded", known, detail=detail)


async def encode_question(
    model: SparseModel | None, request: SearchRequest, text: str
) -> SparseQuestion | None:
    """The question's vector, made in a thread while the legs search.

    None without a model, in a script that it does not know, and where one leg or the weights of
    the request decide.
    """
    if model is None or request.mode != "hybrid" or request.fusion is not None:
        return None
    if mostly_foreign(text):
        return None
    try:
        return SparseQuestion(await asyncio.to_thread(model.of_question, text))
    except ModelUnavailable as error:
        return SparseQuestion(problem=error.message)


def _scored(inputs: RankingInput) -> SparseScores | None:
    asked, passages = inputs.sparse, inputs.union.passages
    if asked is None or len(inputs.legs) < 2:
        return None
    values = np.full(len(passages), np.nan)
    if not asked.problem:
        held = inputs.snapshot.sparse_vectors(passages)
        rows = [row for row, passage in enumerate(passages.tolist()) if passage in held]
        values[rows] = sparse.scores(asked.vector, [held[passages[row]] for row in rows])
    return SparseScores(values, asked.problem)


SPARSE: Final[StageData[SparseScores | None]] = StageData("sparse", _scored, None)
"""None where there is no such score: of one leg alone, or in a script that the model has not."""
