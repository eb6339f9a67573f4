"""``scripts/evaluate SET --entries``: what the vector leg loses by asking for fewer entries.

The leg asks its index for as many entries as so many records have on average, and for
``OVERFETCH`` times as many only where these are too few. Each question is asked without a filter
in three ways: with these fewer entries, with all of them from the start, and of all vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from dataset import Dataset

from mem_search.contracts import Question, Vectors
from mem_search.model import Filters
from mem_search.model.rankings import Ranking
from mem_search.retrievers import vector as vector_leg
from mem_search.runtime import Runtime
from mem_search.search.pipeline import DEPTH
from mem_search.storage.vector_index import VectorIndex
from mem_search.text import words

DEPTHS = (10, 50, DEPTH)
"""Records, best first, that are compared with those of all vectors."""

ALL = 1e9
"""A multiple of the average that is more than the leg ever asks for."""


class Counted:
    """An index that counts the entries asked of it."""

    def __init__(self, index: VectorIndex) -> None:
        self._index = index
        self.asked = 0
        self.min_passages = 0
        """It is asked, however small the store is."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)

    async def query(
        self, question: Vectors | Callable[[], Vectors], k: int
    ) -> list[tuple[int, float]]:
        self.asked += k
        return await self._index.query(question, k)


async def measure(runtime: Runtime, data: Dataset) -> dict[str, dict[str, float]]:
    """``fewer`` and ``all`` → the mean number of entries asked for, and for each depth the mean
    share of the best records that the leg has among its own best.
    """
    index = Counted(runtime.index)
    found: dict[str, dict[str, list[float]]] = {"fewer": {}, "all": {}}
    with ThreadPoolExecutor(1) as thread:
        embedder = runtime.model.embedder
        leg = vector_leg.VectorRetriever(runtime.search.store, index, embedder, thread)
        for query in data.queries:
            question = Question(query.text, words.read(query.text), Filters())
            best = _records(await leg.rank(replace(question, exact=True), DEPTH))
            for name, figures in found.items():
                index.asked = 0
                with all_entries(name == "all"):
                    ranking = _records(await leg.rank(question, DEPTH))
                figures.setdefault("entries", []).append(index.asked)
                for depth in DEPTHS:
                    wanted = set(best[:depth])
                    share = len(wanted & set(ranking[:depth])) / max(1, len(wanted))
                    figures.setdefault(f"recall@{depth}", []).append(share)
    return {
        name: {key: float(np.mean(each)) for key, each in figures.items()}
        for name, figures in found.items()
    }


def show(figures: dict[str, dict[str, float]], data: Dataset) -> None:
    print(f"\n{data.name}  ({len(data.documents)} documents, {len(data.queries)} questions)")
    for name, row in figures.items():
        shown = "  ".join(
            f"{key} {value:.4f}" for key, value in row.items() if key.startswith("recall")
        )
        print(f"  {name:6} {row['entries']:6.1f} entries asked for  {shown}")


@contextmanager
def all_entries(wanted: bool) -> Iterator[None]:
    """While this is open, the leg asks for all entries from the start, if ``wanted``."""
    before = vector_leg.SPARE
    try:
        vector_leg.SPARE = ALL if wanted else before
        yield
    finally:
        vector_leg.SPARE = before


def _records(ranking: Ranking) -> list[int]:
    """The records of a ranking, best first; the older one of equals."""
    scores = ranking.scores
    order = np.lexsort((scores.records, -scores.scores))
    return [int(record) for record in scores.records[order][:DEPTH]]
