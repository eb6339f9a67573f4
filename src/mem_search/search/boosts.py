"""Boosts: what counts for a record beside the question, a little; as a pure function.

Each is off unless it is asked for, because no judged set gains by it (docs/retrieval.md). What a
boost adds is among the scores of a result, under its name.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from mem_search.model import Boost

RECENCY_WEIGHT = 0.5
"""What the newest candidate gains; the best answer is worth about ten times that."""

HALF_LIFE = 30 * 86_400_000
"""Milliseconds after which a record gains half of it."""

IMPORTANCE_WEIGHT = 1.0
"""What lies between the least and the most important; a record without importance is between."""


def add(
    wanted: Collection[Boost],
    created: NDArray[np.int64],
    importance: NDArray[np.float64],
    now: int,
) -> dict[str, NDArray[np.float64]]:
    """What each boost of ``wanted`` adds to each record, all in one order.

    ``created`` and ``now`` are milliseconds, ``importance`` lies in 0..1 or is NaN. Age counts
    from the newest of the candidates, so that an archive has recent records, too; a date after
    ``now`` is as new as can be.
    """
    added: dict[str, NDArray[np.float64]] = {}
    if "recency" in wanted:
        newest = min(now, int(created.max(initial=0)))
        ages = np.maximum(newest - created, 0) / HALF_LIFE
        added["recency"] = RECENCY_WEIGHT * 0.5**ages
    if "importance" in wanted:
        known = np.nan_to_num(importance, nan=0.5).clip(0.0, 1.0)
        added["importance"] = IMPORTANCE_WEIGHT * (known - 0.5)
    return added
