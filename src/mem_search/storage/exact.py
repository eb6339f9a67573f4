"""The vector index of a small store: all vectors in memory, every question answered exactly.

Read from SQLite when it is first asked, so that whoever only stores or lists pays nothing.
Beside Chroma it needs no process and no file, which is why users have it (ADR 0011). It is
not for large stores: 1.5 KB a vector of 384 dimensions, and each question looks at all.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final

import numpy as np

from mem_search.contracts import VectorEntry, Vectors
from mem_search.errors import IndexUnavailable
from mem_search.storage.chroma.server import State
from mem_search.storage.sqlite import vectors as stored
from mem_search.storage.sqlite.database import Database

MOST: Final = 100_000
"""Vectors held, 150 MB of 384 dimensions; a store that grew further is not searched here."""

FEW: Final = 25_000
"""Passages of a store up to which it is opened with this index."""

_PAGE: Final = 4096


class ExactIndex:
    """A VectorIndex over the vectors that ``database`` has of one ``model``."""

    name: str = "exact"
    generation: int = 0

    def __init__(self, database: Database, model: int, dimensions: int) -> None:
        self._database = database
        self._model = model
        self._dimensions = dimensions
        # Between what the store says and what is told here nothing may get lost: one at a time.
        self._lock = asyncio.Lock()
        self._loaded = False
        self._closed = False
        self._empty()

    @property
    def state(self) -> State:
        """ready, or down once it is closed or the store has outgrown it."""
        return "ready" if not self._closed and len(self._places) <= MOST else "down"

    @property
    def detail(self) -> str:
        """Why it is not ready; empty when it is."""
        if self._closed:
            return "the vector index is closed"
        if len(self._places) > MOST:
            return f"more than {MOST} vectors: the store gets a Chroma when it is opened again"
        return ""

    def start(self) -> None:
        """Nothing to start."""

    async def ready(self, timeout: float = 0.0) -> None:  # noqa: ASYNC109  as of ChromaIndex
        """Raises IndexUnavailable when it can answer nothing."""
        if self.state != "ready":
            raise IndexUnavailable(self.detail)

    async def upsert(self, entries: Sequence[VectorEntry], vectors: Vectors) -> None:
        """Of several with one number the last one counts."""
        async with self._alone():
            if self._loaded:  # else the store has them, and will be read
                self._put([entry.entry for entry in entries], vectors)

    async def delete(self, entries: Sequence[int]) -> None:
        """Numbers that it does not hold are ignored."""
        async with self._alone():
            for entry in entries:
                self._drop(entry)

    async def query(
        self, vector: Vectors | Callable[[], Vectors], k: int
    ) -> list[tuple[int, float]]:
        """As the contract says; exact."""
        if k < 1:
            return []
        async with self._alone():
            await self._load()
            await self.ready()
            return await asyncio.to_thread(self._nearest, vector, k)

    async def entries(self) -> set[int]:
        async with self._alone():
            await self._load()
            return set(self._places)

    async def clear(self) -> None:
        async with self._alone():
            self._empty()
            self._loaded = True

    async def close(self) -> None:
        """Let go of the memory; every call raises from now on."""
        async with self._lock:
            self._closed = True
            self._empty()

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        async with self._lock:
            if self._closed:
                raise IndexUnavailable(self.detail)
            yield

    async def _load(self) -> None:
        if self._loaded:
            return
        after = -1
        while True:
            numbers, rows = await self._database.read(
                stored.page, self._model, self._dimensions, after, _PAGE
            )
            if not numbers or len(self._places) > MOST:
                break
            self._put(numbers, rows)
            after = numbers[-1]
        self._loaded = True

    def _nearest(self, vector: Vectors | Callable[[], Vectors], k: int) -> list[tuple[int, float]]:
        asked = vector() if callable(vector) else vector
        if asked.shape != (1, self._dimensions):
            raise ValueError(f"a query needs one vector, not {asked.shape}")
        count = len(self._places)
        scores = self._rows[:count] @ asked[0]
        k = min(k, count)
        best = np.argpartition(-scores, k - 1)[:k] if k else np.zeros(0, dtype=np.int64)
        best = best[np.argsort(-scores[best], kind="stable")]
        return list(zip(self._numbers[best].tolist(), scores[best].tolist(), strict=True))

    def _empty(self) -> None:
        self._places: dict[int, int] = {}
        self._numbers = np.zeros(0, dtype=np.int64)
        self._rows: Vectors = np.zeros((0, self._dimensions), dtype=np.float32)

    def _put(self, entries: Sequence[int], vectors: Vectors) -> None:
        if vectors.shape != (len(entries), self._dimensions):
            raise ValueError(f"{len(entries)} entries cannot have vectors {vectors.shape}")
        if len(self._places) > MOST:
            return  # it answers nothing any more: do not grow
        for entry, vector in zip(entries, vectors, strict=True):
            place = self._places.setdefault(entry, len(self._places))
            if place == len(self._rows):
                self._grow()
            self._numbers[place] = entry
            self._rows[place] = vector

    def _drop(self, entry: int) -> None:
        """The last one takes its place."""
        place = self._places.pop(entry, None)
        last = len(self._places)
        if place is not None and place != last:
            moved = int(self._numbers[last])
            self._places[moved] = place
            self._numbers[place] = moved
            self._rows[place] = self._rows[last]

    def _grow(self) -> None:
        size = max(1024, 2 * len(self._rows))
        numbers = np.zeros(size, dtype=np.int64)
        rows = np.zeros((size, self._dimensions), dtype=np.float32)
        numbers[: len(self._numbers)] = self._numbers
        rows[: len(self._rows)] = self._rows
        self._numbers, self._rows = numbers, rows
