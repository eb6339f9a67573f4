"""Boosts: what counts for a record beside the question, a little; as a pure function.

Each is off unless it is asked for, because no judged set gains by it (docs/retrieval.md). What a
boost adds is among the scores of a result, under its name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from mem_search.model import Boost

RECENCY_WEIGHT = 0.5
"""What the newest candidate gains; the best answer is worth about ten times that."""

HALF_LIFE = 30 * 86_400_000
"""Milliseconds after which a record gains half of it."""

IMPORTANCE_WEIGHT = 1.0
"""What lies between the least and the most important; a record without importance is between."""


def add(
    wanted: Collection[Boost],
    dates: Mapping[int, int],
    importance: Mapping[int, float],
    now: int,
) -> dict[str, dict[int, float]]:
    """What each boost of ``wanted`` adds to each record.

    ``dates`` are milliseconds, ``importance`` lies in 0..1. Age counts from the newest of the
    candidates, so that an archive has recent records, too; a date after ``now`` is as new as
    can be.
    """
    added: dict[str, dict[int, float]] = {}
    if "recency" in wanted and dates:
        newest = min(now, max(dates.values()))
        added["recency"] = {
            record: RECENCY_WEIGHT * 0.5 ** (max(0, newest - date) / HALF_LIFE)
            for record, date in dates.items()
        }
    if "importance" in wanted:
        added["importance"] = {
            record: IMPORTANCE_WEIGHT * (min(1.0, max(0.0, value)) - 0.5)
            for record, value in importance.items()
        }
    return added
