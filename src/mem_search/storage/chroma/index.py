"""The vector index over Chroma: one collection for one embedding space, ids are entry numbers.

Everything in it is also in SQLite. ``generation`` grows whenever the content may differ from what
was acknowledged; the indexer then compares ``entries`` with SQLite. Chroma gets neither filters
nor documents: both are slow there, and SQLite has them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from hashlib import sha256
from typing import Final, NoReturn, TypeVar

import numpy as np

from mem_search.contracts import Vectors
from mem_search.errors import IndexUnavailable
from mem_search.model.ingest import VectorEntry
from mem_search.platform import scale_timeout
from mem_search.storage.chroma.connection import (
    FORMAT,
    CollectionGone,
    Connect,
    Connection,
    NoAnswer,
    number,
)
from mem_search.storage.chroma.server import Server
from mem_search.storage.vector_index import Protection, State, VectorIndex

T = TypeVar("T")

_log = logging.getLogger(__name__)

_WORK_PATIENCE = 60.0
_MAX_PATIENCE_SECONDS = 60.0
"""Seconds for a query where other programs keep the processors busy."""


class ChromaIndex(VectorIndex):
    """A VectorIndex on ``server``, for vectors of one ``fingerprint`` and ``dimensions``.

    ``start`` it in a running loop. ``on_reset`` is called in the loop each time ``generation``
    grows: after every start of the server, and when the collection was missing. Queries have two
    separate threads, so none waits for a bulk write. They end after ``patience`` seconds.
    """

    most = 3000
    min_passages = 15_000

    def __init__(
        self,
        server: Server,
        fingerprint: str,
        dimensions: int,
        *,
        on_reset: Callable[[], None] | None = None,
        patience: float = 5.0,
    ) -> None:
        self.name: str = f"passages-{sha256(fingerprint.encode()).hexdigest()[:12]}"
        self.generation = 0
        self._server = server
        self._dimensions = dimensions
        self._about = {
            "fingerprint": fingerprint,
            "dimensions": str(dimensions),
            "format": FORMAT,
        }
        self._revision: int | None = None
        self._foreign = False
        self._on_reset = on_reset
        self._patience = patience
        self._queries: Connection | None = None
        self._work: Connection | None = None
        self._query_threads = ThreadPoolExecutor(2, "chroma-query")
        self._work_thread = ThreadPoolExecutor(1, "chroma-work")

    @property
    def state(self) -> State:
        return self._server.state

    @property
    def detail(self) -> str:
        return self._server.detail

    @property
    def protection(self) -> Protection:
        return self._server.protection

    @property
    def refusal(self) -> str:
        return self._server.refusal

    def start(self) -> None:
        """Start, or start again, in the background. Needs a running loop."""
        self._server.start(self._opened)

    async def ready(self, timeout: float = 30.0) -> None:  # noqa: ASYNC109  the caller's patience
        """Return once it is ready; raise IndexUnavailable after ``timeout`` seconds."""
        await self._server.wait_ready(timeout)

    async def upsert(self, entries: Sequence[VectorEntry], vectors: Vectors) -> None:
        """Store the vectors, 500 at a time. Of several with one number the last one counts."""
        if vectors.shape != (len(entries), self._dimensions):
            raise ValueError(f"{len(entries)} entries cannot have vectors {vectors.shape}")
        rows = sorted({entry.entry: row for row, entry in enumerate(entries)}.values())
        if len(rows) < len(entries):
            entries, vectors = [entries[row] for row in rows], vectors[rows]
        await self._written(lambda work: work.upsert(entries, vectors))

    async def delete(self, entries: Sequence[int]) -> None:
        """Delete entries; ignores unknown numbers."""
        names = [str(entry) for entry in dict.fromkeys(entries)]
        await self._written(lambda work: work.delete(names))

    async def query(
        self, vector: Vectors | Callable[[], Vectors], k: int
    ) -> list[tuple[int, float]]:
        """See ``VectorIndex.query``; the result is approximate."""

        def ask(connection: Connection) -> list[tuple[int, float]]:
            rows = vector() if callable(vector) else vector
            if rows.shape != (1, self._dimensions):
                raise ValueError(f"a query needs one vector, not {rows.shape}")
            return connection.query(rows, k) if k > 0 else []

        try:
            async with asyncio.timeout(scale_timeout(self._patience, most=_MAX_PATIENCE_SECONDS)):
                return await self._call(self._query_threads, lambda: self._queries, ask)
        except TimeoutError:
            fault = NoAnswer("Chroma did not answer in time while searching")
            self._server.check_after(fault)
            raise fault from None

    async def entries(self) -> set[int]:
        """Every entry that the index holds; deletes what has an id that we never give."""
        names = await self._worked(lambda work: work.names())
        by_name = {name: number(name) for name in names}
        if strangers := [name for name, entry in by_name.items() if entry is None]:
            _log.warning("the vector index had %d entries of another program", len(strangers))
            await self._written(lambda work: work.delete(strangers))
        return {entry for entry in by_name.values() if entry is not None}

    async def count(self) -> int:
        return await self._worked(lambda work: work.count())

    async def vectors(self, entries: Sequence[int]) -> dict[int, Sequence[float]]:
        return await self._worked(lambda work: work.vectors(entries))

    async def written_by_others(self) -> bool:
        """Whether somebody else wrote to Chroma since the last call; False if unknown."""

        def look(_: Connection) -> bool:
            self._note_foreign()
            was_foreign, self._foreign = self._foreign, False
            return was_foreign

        return await self._worked(look)

    async def clear(self) -> None:
        await self._written(lambda work: work.clear())

    async def rewrite(self, fill: Callable[[VectorIndex], Awaitable[None]]) -> None:
        """See ``VectorIndex.rewrite``; the old index answers until the new one is filled."""
        replacement = self._server.replacement()
        if replacement is None:
            return
        self._server.require_ready()
        fresh = ChromaIndex(replacement, self._about["fingerprint"], self._dimensions)
        try:
            fresh.start()
            await fresh.ready()
            await fill(fresh)
        finally:
            await fresh.close()
        await self._server.stop()
        try:
            await asyncio.to_thread(self._server.take_over, replacement)
        finally:
            self._server.start(self._opened)
        await self.ready()

    def beside(self, fingerprint: str, dimensions: int) -> ChromaIndex:
        """See ``VectorIndex.beside``: in files of its own, or in the same server."""
        server = self._server.replacement() or self._server.again()
        return ChromaIndex(server, fingerprint, dimensions, on_reset=self._on_reset)

    async def replaced_by(self, other: ChromaIndex) -> ChromaIndex:
        """See ``VectorIndex.replaced_by``. A server of somebody else keeps an empty collection."""
        if self._server.replacement() is None:
            await self.clear()
            await self.close()
            return other
        await other.close()
        server = self._server
        await server.stop()
        try:
            await asyncio.to_thread(server.take_over, other._server)
        except BaseException:
            server.start(self._opened)
            raise
        self._server = other._server  # which is stopped: every later call of this index raises
        await self._leave()
        about = other._about
        successor = ChromaIndex(
            server, about["fingerprint"], other._dimensions, on_reset=self._on_reset
        )
        successor.start()
        return successor

    async def close(self) -> None:
        """Stop the child, or disconnect from the remote server; every later call raises."""
        await self._server.stop()
        await self._leave()

    async def _leave(self) -> None:
        # Running calls fail with the server; calls to a hanging remote server are abandoned.
        with suppress(TimeoutError):
            async with asyncio.timeout(self._patience):
                await asyncio.to_thread(self._query_threads.shutdown)
                await asyncio.to_thread(self._work_thread.shutdown)
        await asyncio.to_thread(self._disconnect)

    async def _written(self, do: Callable[[Connection], None]) -> None:
        def bracketed(work: Connection) -> None:
            self._note_foreign()
            try:
                do(work)
            finally:
                self._revision = self._server.revision()

        await self._worked(bracketed)

    def _note_foreign(self) -> None:
        revision = self._server.revision()
        self._foreign |= revision != self._revision
        self._revision = revision

    async def _worked(self, do: Callable[[Connection], T]) -> T:
        return await self._call(self._work_thread, lambda: self._work, do)

    async def _call(
        self,
        threads: ThreadPoolExecutor,
        connected: Callable[[], Connection | None],
        do: Callable[[Connection], T],
    ) -> T:
        self._server.require_ready()
        connection = connected()
        assert connection is not None
        loop = asyncio.get_running_loop()
        try:
            try:
                return await loop.run_in_executor(threads, do, connection)
            except CollectionGone:
                connection.forget()
                return await loop.run_in_executor(threads, do, connection)
        except IndexUnavailable as fault:
            self._server.check_after(fault)
            raise

    async def _opened(self, connect: Connect) -> None:
        """The server is up: connect, and check that our collection can be read."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._work_thread, self._connect, connect, loop)
        self._reset()

    def _connect(self, connect: Connect, loop: asyncio.AbstractEventLoop) -> None:
        self._disconnect()
        made = partial(self._tell_made, loop)
        self._queries = connect(self.name, about=self._about, timeout=self._patience, made=made)
        self._work = connect(self.name, about=self._about, timeout=_WORK_PATIENCE, made=made)
        # A damaged collection often fails only here, when its files are read.
        if self._work.count():
            any_direction = np.zeros((1, self._dimensions), np.float32)
            any_direction[0, 0] = 1
            self._work.query(any_direction, 1)
        self._revision = self._server.revision()

    def _disconnect(self) -> None:
        for connection in (self._queries, self._work):
            if connection is not None:
                connection.close()
        self._queries = self._work = None

    def _tell_made(self, loop: asyncio.AbstractEventLoop) -> None:
        loop.call_soon_threadsafe(self._made)

    def _made(self) -> None:
        if self.state == "ready":  # while opening, ``_opened`` reports it
            self._reset()

    def _reset(self) -> None:
        self.generation += 1
        if self._on_reset is not None:
            self._on_reset()


DETAIL: Final = "the vector index is turned off (chroma_url is off)"
NO_MODEL: Final = "there is no vector index without a working model; run: mem-search doctor"


class OffIndex(VectorIndex):
    """Accepts and drops every entry; every query raises IndexUnavailable."""

    name = "off"
    state: State = "off"
    protection: Protection = "none"
    detail = ""

    def __init__(self, detail: str = DETAIL) -> None:
        self.detail = detail

    def start(self) -> None:
        """Do nothing."""

    async def ready(self, timeout: float = 0.0) -> NoReturn:  # noqa: ASYNC109  as of ChromaIndex
        raise IndexUnavailable(self.detail)

    async def upsert(self, entries: Sequence[VectorEntry], vectors: Vectors) -> None:
        """Do nothing: searches read the stored vectors."""

    async def delete(self, entries: Sequence[int]) -> None:
        """Do nothing: the index is empty."""

    async def query(self, vector: Vectors | Callable[[], Vectors], k: int) -> NoReturn:
        raise IndexUnavailable(self.detail)

    async def entries(self) -> NoReturn:
        raise IndexUnavailable(self.detail)

    async def count(self) -> NoReturn:
        raise IndexUnavailable(self.detail)

    async def vectors(self, entries: Sequence[int]) -> NoReturn:
        raise IndexUnavailable(self.detail)

    async def clear(self) -> None:
        """Do nothing: the index is empty."""

    def beside(self, fingerprint: str, dimensions: int) -> OffIndex:
        """None for any space."""
        return OffIndex()

    async def replaced_by(self, other: OffIndex) -> OffIndex:
        """Do nothing: nothing is in it."""
        return other

    async def close(self) -> None:
        """Do nothing."""
