"""Recall of the vector leg over PostgreSQL against all vectors, under filters of every share."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import psycopg
import store
from numpy.typing import NDArray

from mem_search.contracts import Question
from mem_search.embedders import open_embedder
from mem_search.model import DateRange, Filters
from mem_search.records.registry import installed_kinds
from mem_search.retrievers.vector import VectorRetriever
from mem_search.search.pipeline import DEPTH
from mem_search.settings import Settings
from mem_search.storage.opening import open_store
from mem_search.text import words

SHARES = (1.0, 0.5, 0.2, 0.1, 0.01, 0.001)
"""Of the records, the newest."""

BEST = 10


class Exact:
    """All vectors of the owner in memory, and the records and dates that they belong to."""

    def __init__(self, address: str, model: int, dimensions: int) -> None:
        with psycopg.connect(address) as asking:
            asking.execute("select set_config('mem_search.owner', 'main', true)")
            rows = asking.execute(
                "select p.record_id, r.created_at, halfvec_send(v.vector)"
                " from mem_search.vectors v join mem_search.passages p on p.id = v.entry_id >> 1"
                " join mem_search.records r on r.id = p.record_id where v.model_id = %s",
                (model,),
                binary=True,
            )
            count = rows.rowcount
            self.records: NDArray[np.int64] = np.empty(count, np.int64)
            self.created: NDArray[np.int64] = np.empty(count, np.int64)
            self.vectors: NDArray[np.float32] = np.empty((count, dimensions), np.float32)
            for place, (record, created, sent) in enumerate(rows):
                self.records[place], self.created[place] = record, created
                self.vectors[place] = np.frombuffer(sent[4:], ">f2")

    def since(self, share: float) -> int:
        """The date since which that share of the records was created."""
        _, first = np.unique(self.records, return_index=True)
        return int(np.quantile(self.created[first], 1 - share, method="nearest"))

    def best(self, question: NDArray[np.float32], since: int) -> set[int]:
        """The records of the nearest vectors."""
        inside = np.flatnonzero(self.created >= since)
        scores = self.vectors[inside] @ question if since >= 0 else self.vectors @ question
        near = np.argpartition(-scores, min(10 * BEST, len(scores) - 1))[: 10 * BEST]
        found: dict[int, None] = {}
        for place in near[np.argsort(-scores[near])]:
            found.setdefault(int(self.records[inside[place]]))
        return set(list(found)[:BEST])


def measure(home: Path, embedder: str, address: str, asked: list[str]) -> dict[str, float]:
    """Filter → mean share of the best ten records that the vector leg has among its first ten."""
    settings = replace(store.settings(home, embedder), store=address)
    return asyncio.run(_measure(settings, embedder, asked))


async def _measure(settings: Settings, name: str, asked: list[str]) -> dict[str, float]:
    embedder = open_embedder(name, settings.models_dir)
    opened = await open_store(settings)
    index = opened.open_index(embedder, on_reset=lambda: None)
    try:
        model = await opened.store.indexing.model_number(
            embedder.fingerprint, embedder.name, embedder.dimensions
        )
        search = opened.store.open_search(
            settings.home, model, embedder.dimensions, installed_kinds().ranking.chat
        )
        exact = await asyncio.to_thread(Exact, settings.store, model, embedder.dimensions)
        with ThreadPoolExecutor(1) as thread:
            leg = VectorRetriever(search, index, embedder, thread)
            found: dict[str, float] = {}
            for share in SHARES:
                since = exact.since(share)
                filters = Filters(created=DateRange(start=since)) if share < 1 else Filters()
                shares = []
                for text in asked:
                    question = Question(text, words.read(text), filters)
                    ranking = await leg.rank(question, DEPTH)
                    scores = ranking.scores
                    first = scores.records[np.argsort(-scores.scores)][:BEST].tolist()
                    wanted = exact.best(embedder.embed([text])[0], since if share < 1 else -1)
                    shares.append(len(wanted & set(first)) / len(wanted))
                found[f"{share:.1%} of the records"] = float(np.mean(shares))
        return found
    finally:
        await index.close()
        await opened.store.close()
