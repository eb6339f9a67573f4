"""Embedding passages: what equal content has is copied, the rest is embedded in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Executor

import numpy as np

from mem_search.contracts import Embedder, Vectors
from mem_search.model.ingest import ToEmbed
from mem_search.storage.sql.indexing import Indexing
from mem_search.text.passages import embedded_texts
from mem_search.text.word_forms import seen

EMBED_BATCH = 64
"""Passages for each step: about half a second of work, so that the worker stops soon."""


async def vectors_of(
    store: Indexing,
    model: int,
    embedder: Embedder,
    executor: Executor,
    waiting: Sequence[ToEmbed],
) -> tuple[list[int], Vectors]:
    """Entries and their vectors in the space ``model``. Raises ModelUnavailable."""
    known = await store.vectors_of_equal_content(model, [item.digest for item in waiting])
    entries: list[int] = []
    copied: list[Vectors] = []
    for item in waiting:
        for half, vector in known.get(item.digest, {}).items():
            entries.append(2 * item.passage + half)
            copied.append(vector)
    rows = np.array(copied, np.float32).reshape(len(copied), embedder.dimensions)
    lacking = [item for item in waiting if item.digest not in known]
    if not lacking:
        return entries, rows
    fresh, embedded = await asyncio.get_running_loop().run_in_executor(
        executor, _embedded, embedder, lacking
    )
    return entries + fresh, np.concatenate([rows, embedded])


def _embedded(embedder: Embedder, items: Sequence[ToEmbed]) -> tuple[list[int], Vectors]:
    """Entries and vectors of ``items``. In a thread: cutting 64 takes 10 to 20 ms."""
    entries: list[int] = []
    texts: dict[str, int] = {}
    places: list[int] = []
    for item in items:
        for half, text in enumerate(embedded_texts(item.title, item.text, item.above)):
            entries.append(2 * item.passage + half)
            places.append(texts.setdefault(seen(text), len(texts)))
    return entries, embedder.embed(list(texts))[places]
