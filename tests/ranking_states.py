"""Ranking states for tests of single stages: given columns, everything else empty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mem_search.contracts import Question
from mem_search.model import Filters, Hit, Kind, SearchRequest
from mem_search.model.kind_codes import KIND_CODES
from mem_search.model.rankings import Candidates, RecordColumns
from mem_search.records.registry import installed_kinds
from mem_search.search.stages.scoring import Z_SCORE_SUM
from mem_search.search.state import LegScores, RankingState, StoredData
from mem_search.text import words


def state(
    count: int,
    *,
    kinds: Sequence[Kind] | None = None,
    parts: Mapping[str, Sequence[float]] | None = None,
    legs: Mapping[str, LegScores] | None = None,
    hits: Sequence[Hit] = (),
    request: SearchRequest | None = None,
    **given: Any,
) -> RankingState:
    """The records 1, 2, … up to ``count``, each with the passage of its own number."""
    numbers = np.arange(1, count + 1, dtype=np.int64)
    columns: dict[str, Any] = {
        "exist": np.ones(count, np.bool_),
        "conversations": np.zeros(count, np.int64),
        "positions": np.zeros(count, np.int32),
        "created": np.zeros(count, np.int64),
        "importance": np.full(count, np.nan),
        **given,
    }
    request = request or SearchRequest("words")
    return RankingState(
        request=request,
        question=Question(request.text, words.read(request.text), Filters()),
        fusion=Z_SCORE_SUM,
        rankings=(),
        further=(),
        union=Candidates(
            numbers,
            KIND_CODES.codes(kinds or ["note"] * count),
            np.zeros(count, np.bool_),
            numbers,
            np.zeros(count),
        ),
        legs=legs or {},
        traits=installed_kinds().ranking,
        stored=StoredData(RecordColumns(**columns)),
        parts={name: np.array(values, np.float64) for name, values in (parts or {}).items()},
        hits=hits,
    )
