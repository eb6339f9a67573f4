"""A re-weighting that was learned from what one person opens: few weights, in a file of the home.

``features.learning`` fits them and keeps only what wins on clicks that were held out. Without the
file there is no such stage.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from mem_search.errors import StorageError
from mem_search.model.arrays import are_among
from mem_search.model.rankings import Values
from mem_search.regular_file import read_regular_file
from mem_search.search.stage_data import COMPLETE_MATCHES
from mem_search.search.stages.scoring import RECENCY_HALF_LIFE_MS, z_scores
from mem_search.search.state import RankingState, Stage

log = logging.getLogger(__name__)

LEARNED: Final = "learned"
FEATURES: Final = ("meaning", "recent", "in_session", "important", "every_word")
"""Nearer in meaning than in words; new; a part of a session; important; with every word."""
MAX_WEIGHT: Final = 5.0
"""A rank bonus is 1, and the kind that a question names gains 7."""
_MAX_BYTES: Final = 64 * 1024


def features(state: RankingState) -> Values:
    """One row for each record of the union, one column for each of ``FEATURES``."""
    columns, legs, whole = state.stored.columns, state.legs, state.stored.of(COMPLETE_MATCHES)
    meaning = np.zeros(len(state.union))
    if "vector" in legs and "keyword" in legs:
        meaning = z_scores(legs["vector"].scores) - z_scores(legs["keyword"].scores)
    age = np.maximum(int(columns.created.max(initial=0)) - columns.created, 0)
    return np.stack(
        [
            meaning,
            0.5 ** (age / RECENCY_HALF_LIFE_MS),
            columns.conversations > 0,
            np.nan_to_num(columns.importance, nan=0.5).clip(0.0, 1.0) - 0.5,
            are_among(state.union.records, whole),
        ],
        axis=1,
    ).astype(np.float64)


def stage_of(weights: Sequence[float]) -> Stage:
    """The stage that adds what ``weights`` make of the features."""

    def apply(state: RankingState) -> RankingState:
        # A step of research gives the same results again, whatever was learned meanwhile.
        if state.request.is_research or state.request.fusion is not None:
            return state
        return state.added(LEARNED, features(state) @ np.asarray(weights))

    apply.__doc__ = "Adds what was learned from what the person opens."
    return Stage(LEARNED, apply, reads=(COMPLETE_MATCHES,))


def file_of(home: Path) -> Path:
    """Where the weights of a home are; whoever deletes it takes back all that was learned."""
    return home / "learned.json"


def read_file(home: Path) -> Mapping[str, Any] | None:
    """What was learned; None where nothing was, and of a file of no use, as the log says."""
    file = file_of(home)
    try:
        kept: Mapping[str, Any] = json.loads(read_regular_file(file, _MAX_BYTES))
        weights, _, _ = kept["weights"], kept["learned_at"], {**kept["outcome"]}
        if len(weights) != len(FEATURES) or not all(abs(each) <= MAX_WEIGHT for each in weights):
            raise ValueError("its weights are not those of this version")
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError, StorageError, RecursionError) as error:
        log.warning("%s is not used (%s); learn again: mem-search learn", file, error)
        return None
    return kept
