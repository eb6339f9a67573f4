"""Embedding passages: what equal content has is copied, the rest is embedded in a thread.

Sparse vectors are made after the dense ones: nothing waits for them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from concurrent.futures import Executor

import numpy as np

from mem_search.contracts import Embedder, RankingTraits, Vectors
from mem_search.errors import MemSearchError
from mem_search.model.ingest import ToEmbed
from mem_search.storage.sql.indexing import Indexing
from mem_search.text.passages import embedded_texts, heading_of
from mem_search.text.sparse import SparseModel
from mem_search.text.word_forms import seen

EMBED_BATCH = 64
"""Passages for each step: about half a second of work, so that the worker stops soon."""

SPARSE_BATCH = 16
"""Passages for each step: a tenth of a second, in which dense vectors of new ones wait."""

LOOK_SECONDS = 0.5
"""Between two looks whether dense vectors are still being made."""

RETRY_SECONDS = 5.0


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


log = logging.getLogger(__name__)


class SparseFilling:
    """Fills a store little by little. ``run`` until cancelled; ``wake`` when there are passages.

    Without a ``model`` it does nothing. Which passages get one, ``traits`` say.
    """

    def __init__(
        self,
        store: Indexing,
        model: SparseModel | None,
        executor: Executor,
        traits: RankingTraits,
    ) -> None:
        self._store = store
        self._model = model
        self._executor = executor
        in_session = traits.sparse_in_session
        self._kinds = ([each for each in traits.sparse if each not in in_session], in_session)
        self._more = asyncio.Event()
        self._after = 0
        self._rounds = 0
        self.error = ""
        """Why the last step failed; empty when it succeeded."""

    async def counts(self) -> tuple[int, int]:
        """How many passages have a vector, and how many get one."""
        return await self._store.sparse_counts(*self._kinds)

    def wake(self) -> None:
        """There may be new passages."""
        self._more.set()

    def begin_again(self) -> None:
        """Vectors may have been dropped."""
        self._after = 0
        self._rounds += 1
        self.wake()

    async def run(self) -> None:
        """Fill until cancelled. A step that fails is tried again."""
        while self._model is not None:
            self._more.clear()
            try:
                wait = await self._fill(self._model)
                self.error = ""
            except MemSearchError as error:
                if str(error) != self.error:
                    log.warning("sparse vectors are waiting: %s", error)
                self.error, wait = str(error), RETRY_SECONDS
            try:
                async with asyncio.timeout(wait):
                    await self._more.wait()
            except TimeoutError:
                continue

    async def _fill(self, model: SparseModel) -> float | None:
        """Make those that are missing; after so many seconds there may be more to do."""
        loop = asyncio.get_running_loop()
        while not await self._store.many_wait("embed", 1):
            round_ = self._rounds
            after, waiting = await self._store.without_sparse(
                *self._kinds, self._after, SPARSE_BATCH
            )
            if after is None:
                return None
            if waiting:
                vectors = await loop.run_in_executor(self._executor, _vectors, model, waiting)
                await self._store.add_sparse(vectors)
            if self._rounds == round_:  # not begun again meanwhile
                self._after = after
        return LOOK_SECONDS


def _vectors(model: SparseModel, waiting: Sequence[ToEmbed]) -> dict[int, bytes]:
    """Passage → its vector. In a thread."""
    return {
        each.passage: model.of_passage(heading_of(each.title, each.above) + each.text)
        for each in waiting
    }
