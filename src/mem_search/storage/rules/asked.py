"""Which logged searches asked the same: they differ only in case, in filters or in the punctuation
at their end.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from mem_search.model.statistics import AskedQuery

MOST_LOGGED: Final = 10_000
"""Searches that the log keeps, the newest ones."""

MOST_SHARING: Final = 2_000
"""The newest searches, in which those with a word are looked for."""


def asked_queries(rows: Iterable[tuple[str, str, int, int]]) -> list[tuple[AskedQuery, int]]:
    """Each question of ``rows``, (query, filters, when, total) with the newest first, and what it
    found in all when it was last asked with each of its filters; the most frequent first.

    It is written, and its total is, as when it was last asked.
    """
    # In Python: databases differ in the letters whose case they fold.
    asked: dict[str, AskedQuery] = {}
    found: dict[str, dict[str, int]] = {}
    for query, filters, at, total in rows:
        key = query.casefold().rstrip(" ?!.") or query
        known = asked.get(key)
        asked[key] = (
            AskedQuery(query, 1, at, total)
            if known is None
            else replace(known, times=known.times + 1)
        )
        found.setdefault(key, {}).setdefault(filters, total)
    ordered = sorted(asked, key=lambda key: (-asked[key].times, -asked[key].last_at))
    return [(asked[key], sum(found[key].values())) for key in ordered]
