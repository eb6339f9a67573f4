"""Fills the vector index from the outbox while the worker runs.

Two loops run side by side: one embeds passages and stores the vectors, one brings stored vectors
and deletions into the index. Each step is acknowledged in the store after it happened, so a crash
repeats at most one step. Equal content is embedded once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass
from random import randrange

import numpy as np

from mem_search.contracts import Embedder, Vectors
from mem_search.errors import IndexUnavailable, MemSearchError, StorageError
from mem_search.ingest.embedding import EMBED_BATCH, vectors_of
from mem_search.model.jobs import Pace
from mem_search.storage.sql.indexing import SCANNED_PASSAGES, Indexing
from mem_search.storage.vector_index import VectorIndex
from mem_search.text.dates import now_ms

log = logging.getLogger(__name__)

ONLINE_BATCH = 50
BULK_BATCH = 500
"""Small batches while the queue is short: a write holds the index's lock (field measurements)."""

RETRY_SECONDS = 5.0

CHECK_SECONDS = 30.0
"""Between two checks of the index: damage is noticed within a minute, the check included."""

CHECKED = 128
"""Vectors read from the index at a time to compare them: 4 ms of work for the worker."""

SAMPLED_PLACES = 8
"""Random places of a check. With 128 vectors, damage to a twentieth is noticed in 999 of 1000."""


_TOLERANCE = 1e-4
_NO_LENGTH = 1e-6


@dataclass(frozen=True, slots=True)
class Audit:
    """The result of comparing index and store: passages queued and entries removed.

    ``missing`` passages were not in the index, ``changed`` ones had another vector there.
    """

    missing: int
    extra: int
    changed: int = 0


class Indexer:
    """Works through the outbox. ``run`` until cancelled; call ``wake`` when there is new work."""

    def __init__(
        self,
        store: Indexing,
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
        self._embedding = asyncio.Lock()
        self._rewriting = asyncio.Lock()
        self._complete = False
        self.embedded = 0
        """Passages that were embedded since none waited last; ``pace`` began with them."""
        self.pace: Pace | None = None
        self._steps = 0
        self._agreed = (-1, -1)
        self._looked_at = 0
        self._suspicious = False
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
        async with self._embedding:
            if not self._complete:
                await self._queue_without_vector()
                self._complete = True
            return await self.embed_some()

    async def _queue_without_vector(self) -> None:
        after: int | None = 0
        while after is not None:
            after, _ = await self._store.queue_without_vector(self._model, after, SCANNED_PASSAGES)

    async def embed_some(self) -> int:
        """Embed one batch; returns how many passages."""
        waiting = await self._store.to_embed(EMBED_BATCH)
        if not waiting:
            self.embedded, self.pace = 0, None
            return 0
        self.pace = self.pace or Pace(now_ms())
        entries, rows = await vectors_of(
            self._store, self._model, self._embedder, self._executor, waiting
        )
        await self._store.store_vectors(
            self._model, [item.passage for item in waiting], entries, rows
        )
        self.embedded += len(waiting)
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
        many = await self._store.many_wait("index", BULK_BATCH)
        waiting = await self._store.waiting("index", BULK_BATCH if many else ONLINE_BATCH)
        if waiting:
            entries, rows = await self._store.vectors(
                self._model, self._embedder.dimensions, waiting
            )
            if entries:
                await self._index.upsert(entries, rows)
            await self._store.acknowledge("index", waiting)
        if self._index.damage:
            left = (await self._store.outbox_counts()).get("index", 0)
            self._index.damage = min(self._index.damage, left)
        if gone or waiting:
            self._steps += 1
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
            # An empty index is new, as after a restore: it is filled, and nothing was damaged.
            self._damaged(len(missing) if held else 0)
        return Audit(len(missing), len(extra))

    async def check(self) -> Audit:
        """Look for what somebody else did to the index, and queue its repair.

        Usually cheap: whether somebody wrote, the count, and a sample of the vectors. Only if one
        of these disagrees with the store, or a search doubted it, is everything compared, vectors
        too.
        """
        async with self._indexing:
            doubted, self._index.is_doubted = self._index.is_doubted, False
            if not (self._suspicious or doubted) and await self._agrees():
                return Audit(0, 0)
            self._suspicious = True  # until all of it was compared, whatever fails meanwhile
            audit = await self._compare()
        changed = 0
        after = -1
        while True:
            async with self._indexing:
                entries, differing = await self._differing(after, CHECKED)
                if differing:
                    passages = {entry >> 1 for entry in differing}
                    changed += len(passages)
                    await self._store.queue("index", sorted(passages))
                    self._damaged(len(passages))
            if not entries:
                break
            after = entries[-1]
        self._suspicious = False
        result = Audit(audit.missing, audit.extra, changed)
        if any((result.missing, result.extra, result.changed)):
            log.warning(
                "another program changed the vector index: of its passages %d were missing and %d"
                " changed, %d entries were strange; all of it is being repaired",
                result.missing,
                result.changed,
                result.extra,
            )
        return result

    async def _agrees(self) -> bool:
        if await self._index.written_by_others():
            return False
        held = await self._index.count()
        if self._agreed != (self._steps, held):
            settled = await self._store.settled_count(self._model)
            waiting = sum((await self._store.outbox_counts()).values())
            # Passages of the outbox, two entries each at most, may be in the index or not.
            if not settled <= held <= settled + 2 * waiting:
                return False
            self._agreed = (self._steps, held)
        newest = await self._store.newest_entry()
        places = [randrange(newest + 1) - 1 for _ in range(SAMPLED_PLACES)]
        for after in places:
            _, differing = await self._differing(after, CHECKED // SAMPLED_PLACES)
            if differing:
                return False
        # In turn through all of them: what changed without a trace is found at last, too.
        entries, differing = await self._differing(self._looked_at, CHECKED)
        self._looked_at = entries[-1] if entries else -1
        return not differing

    async def _differing(self, after: int, limit: int) -> tuple[list[int], list[int]]:
        """The next settled entries after ``after``, and those with another vector in the index."""
        entries, stored = await self._store.settled_vectors(
            self._model, self._embedder.dimensions, after, limit
        )
        held = await self._index.vectors(entries) if entries else {}
        differing = [
            entry
            for entry, vector in zip(entries, stored, strict=True)
            if not _same_direction(vector, held.get(entry, ()))
        ]
        return entries, differing

    def _damaged(self, passages: int) -> None:
        self._index.damage += passages
        self._changed()
        self.wake()

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
        async with self._rewriting:
            await self._index.rewrite(self._fill)

    @property
    def has_model(self) -> bool:
        """Whether there is a model to embed with."""
        return self._embedder.dimensions > 0

    async def _fill(self, fresh: VectorIndex) -> None:
        await self._fill_from(await self._store.settled_entries(self._model), fresh, self._space)

    async def _fill_from(self, held: set[int], fresh: VectorIndex, space: tuple[int, int]) -> None:
        passages = sorted({entry >> 1 for entry in held})
        for first in range(0, len(passages), BULK_BATCH):
            entries, rows = await self._store.vectors(*space, passages[first : first + BULK_BATCH])
            if entries:
                await fresh.upsert(entries, rows)

    @property
    def _space(self) -> tuple[int, int]:
        return self._model, self._embedder.dimensions

    async def move(
        self,
        embedder: Embedder,
        model: int,
        fresh: VectorIndex,
        switch: Callable[[], Awaitable[VectorIndex]],
    ) -> None:
        """Fill ``fresh`` with the vectors of another space, and serve that space from then on.

        Between two steps ``switch`` makes the change, which is not undone, and returns the index.
        What has no vector in the space yet is queued. Raises IndexUnavailable, and what ``switch``
        raises; then the space that was served stays.
        """
        async with self._rewriting:
            fresh.start()
            if fresh.state != "off":
                await fresh.ready()
                held = await self._store.entries(model)
                await self._fill_from(held, fresh, (model, embedder.dimensions))
            async with self._embedding, self._indexing:
                self._index = await switch()
                self._embedder, self._model = embedder, model
                self._complete, self._suspicious = False, True
        self.wake()

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
            except Exception as error:
                # The other loop goes on, and so does this one when the next passage is stored.
                log.exception("%s failed", name)
                self.errors[name] = f"internal error: {type(error).__name__}: {error}"
                wait = RETRY_SECONDS
            try:
                async with asyncio.timeout(wait):
                    await event.wait()
            except TimeoutError:
                continue


def _same_direction(stored: Vectors, held: Sequence[float]) -> bool:
    """Whether the index holds the vector that it was given, at whatever length."""
    vector = np.asarray(held, np.float32)
    if vector.shape != stored.shape:
        return False
    lengths = float(np.linalg.norm(stored)), float(np.linalg.norm(vector))
    if lengths[0] < _NO_LENGTH:  # no direction: nothing can be near it, whatever the index holds
        return True
    difference = np.abs(vector / max(lengths[1], _NO_LENGTH) - stored / lengths[0])
    return bool(difference.max() <= _TOLERANCE)


async def audit_after(reset: asyncio.Event, indexer: Indexer) -> None:
    """Compare the index with the store and repair it, whenever it may have lost entries."""
    while True:
        await reset.wait()
        reset.clear()
        indexer.wake()  # it may have been waiting for the index to come back
        try:
            audit = await indexer.audit()
        except IndexUnavailable as error:
            log.warning("the index could not be compared yet: %s", error)  # its next start resets
            continue
        except StorageError as error:
            log.warning("the index could not be compared yet: %s", error)
            await asyncio.sleep(RETRY_SECONDS)
            reset.set()
            continue
        if audit.missing or audit.extra:
            log.info("index audit: %d passages missing, %d extra", audit.missing, audit.extra)


async def check_regularly(indexer: Indexer) -> None:
    """Notice within a minute what somebody else did to the index."""
    while True:
        await asyncio.sleep(CHECK_SECONDS)
        with suppress(IndexUnavailable, StorageError):  # both are told where they happen
            await indexer.check()
