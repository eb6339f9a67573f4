"""Fills the vector index from the outbox while the worker runs.

Two loops run side by side: one embeds passages and stores the vectors, one brings stored vectors
and deletions into the index. Each step is acknowledged in the store after it happened, so a crash
repeats at most one step. Equal content is embedded once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from mem_search.contracts import Embedder, VectorIndex, Vectors
from mem_search.errors import MemSearchError
from mem_search.model.ingest import ToEmbed
from mem_search.storage.ports import IndexingStore
from mem_search.text.passages import embedded_texts

log = logging.getLogger(__name__)

EMBED_BATCH = 64
"""Passages for each step: about half a second of work, so that the worker stops soon."""

ONLINE_BATCH = 50
BULK_BATCH = 500
"""Small batches while the queue is short: a write holds the index's lock (field measurements)."""

RETRY_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Audit:
    """The result of comparing index and store: passages queued and entries removed."""

    missing: int
    extra: int


class Indexer:
    """Works through the outbox. ``run`` until cancelled; call ``wake`` when there is new work."""

    def __init__(
        self,
        store: IndexingStore,
        index: VectorIndex,
        embedder: Embedder,
        model: int,
        executor: Executor,
        changed: Callable[[], None],
    ) -> None:
        self._store = store
        self._index = index
        self._embedder = embedder
        self._model = model
        self._executor = executor
        self._changed = changed
        self._work = {"embed": asyncio.Event(), "index": asyncio.Event()}
        # Passages of a running step may be in the index or not: do not compare or clear meanwhile.
        self._indexing = asyncio.Lock()
        self._complete = False
        self.errors = {"embed": "", "index": ""}
        """Why the last step of each loop failed; empty when it succeeded."""

    @property
    def error(self) -> str:
        """Why the last step failed; empty when it succeeded."""
        return self.errors["embed"] or self.errors["index"]

    def wake(self) -> None:
        """Call this when there is new work."""
        for event in self._work.values():
            event.set()

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._loop("embed", self._embed_all))
            group.create_task(self._loop("index", self.index_some))

    async def _embed_all(self) -> int:
        """``embed_some``, after queueing the passages that this model has not embedded."""
        if not self._complete:
            await self._store.queue_without_vector(self._model)
            self._complete = True
        return await self.embed_some()

    async def embed_some(self) -> int:
        """Embed one batch; returns how many passages."""
        waiting = await self._store.to_embed(EMBED_BATCH)
        if not waiting:
            return 0
        entries, rows = await self._vectors(waiting)
        await self._store.store_vectors(
            self._model, [item.passage for item in waiting], entries, rows
        )
        self._work["index"].set()
        self._changed()
        return len(waiting)

    async def index_some(self) -> int:
        """Index one batch, deletions first; returns how many passages."""
        async with self._indexing:
            return await self._index_batch()

    async def _index_batch(self) -> int:
        gone = await self._store.waiting("delete", BULK_BATCH)
        if gone:
            await self._index.delete([entry for p in gone for entry in (2 * p, 2 * p + 1)])
            await self._store.acknowledge("delete", gone)
        depth = await self._store.outbox_counts()
        size = BULK_BATCH if depth.get("index", 0) >= BULK_BATCH else ONLINE_BATCH
        waiting = await self._store.waiting("index", size)
        if waiting:
            entries, rows = await self._store.vectors(
                self._model, self._embedder.dimensions, waiting
            )
            if entries:
                await self._index.upsert(entries, rows)
            await self._store.acknowledge("index", waiting)
        if gone or waiting:
            self._changed()
        return len(gone) + len(waiting)

    async def ready(self) -> None:
        """Return once the index answers. Raises IndexUnavailable when it does not."""
        await self._index.ready()

    async def audit(self) -> Audit:
        """Compare the index with the store; queue missing entries and remove extra ones."""
        async with self._indexing:
            return await self._compare()

    async def _compare(self) -> Audit:
        held = await self._index.entries()
        stored = await self._store.settled_entries(self._model)
        missing = sorted({entry >> 1 for entry in stored - held})
        if missing:
            await self._store.queue("index", missing)
        known = await self._store.entries(self._model)
        extra = sorted(held - known)
        for first in range(0, len(extra), BULK_BATCH):
            await self._index.delete(extra[first : first + BULK_BATCH])
        if missing:
            self._changed()
            self.wake()
        return Audit(len(missing), len(extra))

    async def rebuild(self) -> int:
        """Empty the index and fill it again from stored vectors; returns passages queued."""
        async with self._indexing:
            await self._index.clear()
            return (await self._compare()).missing

    async def remove_deleted(self) -> None:
        """Remove all deleted passages from the index. Raises IndexUnavailable."""
        while (await self._store.outbox_counts()).get("delete", 0):
            await self.index_some()

    async def rewrite(self) -> None:
        """Write the files of the index anew from stored vectors; searches use the old meanwhile.

        An index keeps the vectors of deleted entries in its files. Raises IndexUnavailable.
        """
        await self._index.rewrite(self._fill)

    async def _fill(self, fresh: VectorIndex) -> None:
        passages = sorted({entry >> 1 for entry in await self._store.settled_entries(self._model)})
        for first in range(0, len(passages), BULK_BATCH):
            entries, rows = await self._store.vectors(
                self._model, self._embedder.dimensions, passages[first : first + BULK_BATCH]
            )
            if entries:
                await fresh.upsert(entries, rows)

    async def _loop(self, name: str, step: Callable[[], Awaitable[int]]) -> None:
        event = self._work[name]
        while True:
            event.clear()
            try:
                served = await step()
                self.errors[name] = ""
                if served:
                    continue
                wait: float | None = None
            except MemSearchError as error:
                if str(error) != self.errors[name]:
                    log.warning("%s is waiting: %s", name, error)
                self.errors[name] = str(error)
                wait = RETRY_SECONDS
            try:
                await asyncio.wait_for(event.wait(), wait)
            except TimeoutError:
                continue

    async def _vectors(self, waiting: list[ToEmbed]) -> tuple[list[int], Vectors]:
        """Entries and vectors: copied where equal content has them, else embedded."""
        known = await self._store.vectors_of_equal_content(
            self._model, [item.digest for item in waiting]
        )
        entries: list[int] = []
        copied: list[Vectors] = []
        for item in waiting:
            for half, vector in known.get(item.digest, {}).items():
                entries.append(2 * item.passage + half)
                copied.append(vector)
        fresh: list[int] = []
        texts: dict[str, int] = {}
        places: list[int] = []
        for item in waiting:
            if item.digest not in known:
                for half, text in enumerate(embedded_texts(item.title, item.text)):
                    fresh.append(2 * item.passage + half)
                    places.append(texts.setdefault(text, len(texts)))
        rows = np.array(copied, np.float32).reshape(len(copied), self._embedder.dimensions)
        if texts:
            embedded = await asyncio.get_running_loop().run_in_executor(
                self._executor, self._embedder.embed, list(texts)
            )
            rows = np.concatenate([rows, embedded[places]])
        return entries + fresh, rows
