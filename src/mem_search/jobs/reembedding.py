"""The job that changes the embedding model while searches go on.

Every passage is embedded by the new model beside the vectors that are served. When none is left, a
new index is filled, the worker changes over between two steps of the indexer, and the old vectors
are deleted. A search works with the model that it began with to its end, so spaces never mix
(ADR 0002). The job resumes where it was: a passage with a vector is not embedded again.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from mem_search.contracts import Embedder
from mem_search.errors import ModelUnavailable, StorageError
from mem_search.ingest.embedding import EMBED_BATCH, vectors_of
from mem_search.ingest.indexer import Indexer
from mem_search.jobs.queue import Report
from mem_search.search.pipeline import SearchPipeline
from mem_search.search.service import SearchService
from mem_search.storage.store import SearchStore, Store
from mem_search.storage.vector_index import VectorIndex

NAME: Final = "reembed"
_DROPPED: Final = 2000
"""Vectors that are deleted at a time: some milliseconds, in which nothing else is written."""

_LOOK: Final = 0.1

_LAST_SEARCHES: Final = 30.0
"""Seconds that searches of the old space get to end; what is slower finds fewer vectors."""


@dataclass(slots=True)
class ActiveIndex:
    """What answers by meaning now: the number of a space, its index, and what searches with it.

    ``open_search`` opens the searches of a space, ``pipeline`` makes the one pipeline of a
    space; ``open_index`` opens the first index of a worker that had no model. ``changed`` is told
    the embedder and the searches of each new space.
    """

    space: int
    index: VectorIndex
    searched: SearchStore
    service: SearchService
    indexer: Indexer
    open_search: Callable[[int, int], SearchStore]
    open_index: Callable[[Embedder], VectorIndex]
    pipeline: Callable[[SearchStore, Embedder, VectorIndex], SearchPipeline]
    changed: Callable[[Embedder, SearchStore], None]

    async def change(
        self, embedder: Embedder, space: int, commit: Callable[[], Awaitable[None]]
    ) -> None:
        """Serve ``space`` from now on; ``commit`` stores that.

        Returns when no search uses the space before it any more. Raises IndexUnavailable when the
        new index cannot be filled; then nothing has changed.
        """
        fresh = (
            self.index.beside(embedder.fingerprint, embedder.dimensions)
            if self.indexer.has_model
            else self.open_index(embedder)
        )
        searched, before = self.open_search(space, embedder.dimensions), self.searched
        ended = weakref.ref(self.service.pipeline)

        async def switch() -> VectorIndex:
            await commit()
            self.index = await self.index.replaced_by(fresh)
            self.space, self.searched = space, searched
            self.service.pipeline = self.pipeline(searched, embedder, self.index)
            self.changed(embedder, searched)
            return self.index

        try:
            await searched.fill_caches()
            await self.indexer.move(embedder, space, fresh, switch)
        except BaseException:
            if self.searched is not searched:
                await fresh.close()
                searched.close()
            raise
        for _ in range(int(_LAST_SEARCHES / _LOOK)):
            if ended() is None:
                break
            await asyncio.sleep(_LOOK)
        before.close()


class ReembedJob:
    """Embed everything with the model that ``params["model"]`` names (a setting ``embedder``).

    A cancelled job leaves the space that is served as it is, and what was embedded for the next
    attempt; a job for the model that is served deletes that.
    """

    name = NAME

    def __init__(
        self,
        store: Store,
        open_model: Callable[[str], Embedder],
        active_index: ActiveIndex,
        configured: str,
    ) -> None:
        self._store = store
        self._open_model = open_model
        self._active_index = active_index
        self._configured = configured

    async def run(self, params: Mapping[str, Any], report: Report) -> Mapping[str, Any]:
        """Raises InputError or ModelUnavailable for a model that does not work."""
        setting = str(params["model"])
        store = self._store.indexing
        await report(0, 0, f"loading {setting}")
        embedder = await asyncio.to_thread(self._open_model, setting)
        executor = ThreadPoolExecutor(1, thread_name_prefix="reembed")
        try:
            await _try(embedder, executor)
            space = await store.model_number(
                embedder.fingerprint, embedder.name, embedder.dimensions
            )
            embedded = 0
            chosen = partial(store.choose_embedder, setting, self._configured)
            if space != self._active_index.space:
                embedded = await self._embed(embedder, space, executor, report)
                await report(embedded, embedded, f"changing over to {embedder.name}")
                await _to_its_end(self._active_index.change(embedder, space, chosen))
            else:
                await chosen()
        finally:
            executor.shutdown(wait=False, cancel_futures=True)  # a batch may take a minute
        deleted, note = await self._clean_up(space, report)
        return {
            "embedder": embedder.name, "dimensions": embedder.dimensions,
            "embedded": embedded, "deleted": deleted, **({"note": note} if note else {}),
        }  # fmt: skip

    async def _embed(
        self, embedder: Embedder, space: int, executor: ThreadPoolExecutor, report: Report
    ) -> int:
        """Embed what has no vector in ``space``; how many passages. Newer ones come in the end."""
        store = self._store.indexing
        lacking = await store.count_without_vector(space)
        before = (await self._store.statistics.totals()).passages - lacking
        kept = f"; {before} were embedded before" if before else ""
        message = f"embedding with {embedder.name} beside the old{kept}"
        done = after = 0
        while True:
            await report(done, max(lacking, done), message, begins=not done)
            waiting = await store.without_vector(space, after, EMBED_BATCH)
            if not waiting:
                return done
            entries, rows = await vectors_of(store, space, embedder, executor, waiting)
            await store.add_vectors(space, entries, rows)
            after, done = waiting[-1].passage, done + len(waiting)

    async def _clean_up(self, space: int, report: Report) -> tuple[int, str]:
        """Delete the vectors of all other spaces; how many, and what could not be done."""
        deleted = 0
        for other in await self._store.indexing.other_spaces(space):
            after: int | None = -1
            while after is not None:
                after, count = await self._store.indexing.drop_vectors(
                    other.number, after, _DROPPED
                )
                deleted += count
                await report(deleted, 0, f"deleting the vectors of {other.name}")
        if not deleted:
            return 0, ""
        await report(deleted, 0, "writing the file anew without them")
        try:
            await self._store.forgetting.rewrite_file()
        except StorageError as error:  # no room for a second copy: the room is used again anyway
            return deleted, f"the file keeps its size for now: {error.message}"
        return deleted, ""


async def _try(embedder: Embedder, executor: ThreadPoolExecutor) -> None:
    """Raises ModelUnavailable for a model that gives no vectors of its dimensions."""
    loop = asyncio.get_running_loop()
    rows = await loop.run_in_executor(executor, embedder.embed, ["does this model work?"])
    if rows.shape != (1, embedder.dimensions):
        raise ModelUnavailable(f"{embedder.name} gave vectors of shape {rows.shape}")


async def _to_its_end(change: Awaitable[None]) -> None:
    """Await ``change``; a cancellation that comes meanwhile comes too late."""
    changing = asyncio.ensure_future(change)
    while not changing.done():
        try:
            await asyncio.shield(changing)
        except asyncio.CancelledError:
            if changing.cancelled():
                raise
    changing.result()
