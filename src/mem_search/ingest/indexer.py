"""Filling the vector index from the outbox, for as long as the worker lives.

Two loops side by side: one turns passages into stored vectors, one carries stored vectors into
the index (and deletions out of it). Each step is acknowledged in SQLite after it happened, so a
crash repeats at most one step. Equal content is embedded once.
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
"""Passages a step: about half a second of work, so that a stop is soon heard."""

ONLINE_BATCH = 50
BULK_BATCH = 500
"""Small batches while the queue is short: a write holds the index's lock (field measurements)."""

RETRY_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Audit:
    """What a comparison of store and index found, and has queued or removed."""

    missing: int
    extra: int


class Indexer:
    """Owns the way from the outbox to the index. ``run`` until cancelled; ``wake`` on new work."""

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
        # What is being carried is neither in the outbox's past nor surely in the index:
        # comparing or clearing meanwhile would take it for done.
        self._carrying = asyncio.Lock()
        self._complete = False
        self.errors = {"embed": "", "index": ""}
        """Why the last step of each loop failed; empty while all is well."""

    @property
    def error(self) -> str:
        """Why the last step failed; empty while all is well."""
        return self.errors["embed"] or self.errors["index"]

    def wake(self) -> None:
        """There is new work."""
        for event in self._work.values():
            event.set()

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._loop("embed", self._embed_all))
            group.create_task(self._loop("index", self.index_some))

    async def _embed_all(self) -> int:
        """``embed_some``, once it is known which passages this model has not read yet."""
        if not self._complete:
            await self._store.queue_without_vector(self._model)
            self._complete = True
        return await self.embed_some()

    async def embed_some(self) -> int:
        """One step of embedding; returns how many passages it served."""
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
        """One step of indexing: deletions first, then vectors; returns how many passages."""
        async with self._carrying:
            return await self._carry()

    async def _carry(self) -> int:
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
        """Compare the index with the store by set difference, and mend both ways."""
        async with self._carrying:
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
        async with self._carrying:
            await self._index.clear()
            return (await self._compare()).missing

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
