"""The vector index of a store over PostgreSQL: the stored vectors themselves, and HNSW over them.

Nothing is copied into it, so it never lacks what is stored, and all workers of the store share it.
The vectors of a space with few are compared exactly. Above ``MIN_INDEXED`` they get an HNSW index
of pgvector of their own: it is partial, for one owner and one model, so that neither the vectors of
other users nor those of another space cost recall or time.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, TypeVar

import numpy as np
from psycopg import sql

from mem_search.contracts import Vectors
from mem_search.errors import IndexUnavailable, StorageError
from mem_search.model.ingest import VectorEntry
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.postgres.database import Database
from mem_search.storage.postgres.vectors import unpack
from mem_search.storage.vector_index import Protection, State, VectorIndex

T = TypeVar("T")
log = logging.getLogger(__name__)

MIN_INDEXED: Final = 20_000
"""Entries from which an index is built; so many are compared in some 20 ms."""

LOOK_SECONDS: Final = 60.0
"""Between two looks whether an index is worth it by now."""

_LINKS, _BUILD_WIDTH = 16, 100
"""``m`` and ``ef_construction`` of HNSW: what Chroma uses."""

MAX_UNINDEXED: Final = 10_000
"""See ``VectorIndex``. At a million passages they take 85 ms, 50,000 passages compared 200 ms."""

_MIN_WIDTH, _MAX_WIDTH = 200, 1000
"""Of ``ef_search``: pgvector allows a thousand; more entries come from further iterations."""

_MAX_SCANNED: Final = 100_000
"""Entries that the iterations of one search may look at."""

_LOCK: Final = 0x6D656D76
"""Of building an index: "memv"."""


class PgvectorIndex(VectorIndex):
    """``VectorIndex`` over the vectors of one space, whose ``fingerprint`` names it."""

    name = "pgvector"
    protection: Protection = "server"
    most = MAX_UNINDEXED
    min_passages = 0
    """Its vectors are in a server: comparing all of them is never quicker."""

    def __init__(self, database: Database, fingerprint: str, dimensions: int) -> None:
        self._database = database
        self._fingerprint = fingerprint
        self._dimensions = dimensions
        self._model = 0
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def state(self) -> State:
        return "down" if self._closed else "ready"

    def start(self) -> None:
        """Build an index in the background, once it is worth it."""
        self._task = asyncio.create_task(self._keep_built(), name="vector index")

    async def ready(self, timeout: float = 0.0) -> None:  # noqa: ASYNC109  as of the contract
        self._check()

    async def upsert(self, entries: Sequence[VectorEntry], vectors: Vectors) -> None:
        """Do nothing: they are stored, and what is stored is indexed."""
        self._check()

    async def delete(self, entries: Sequence[int]) -> None:
        """Do nothing: they were deleted with their passages."""
        self._check()

    async def query(
        self, vector: Vectors | Callable[[], Vectors], k: int
    ) -> list[tuple[int, float]]:
        self._check()
        if k <= 0:
            return []

        def nearest(connection: Connection) -> list[tuple[int, float]]:
            asked = vector() if callable(vector) else vector
            return self._nearest(connection, str(asked[0].tolist()), k)

        try:
            return await self._database.search(lambda connection, _: nearest(connection))
        except StorageError as error:
            raise IndexUnavailable(error.message) from error

    async def entries(self) -> set[int]:
        return set(await self._read(lambda c: c.column(f"select entry_id {self._rows(c)}")))

    async def count(self) -> int:
        return await self._read(lambda c: c.count(f"select count(*) {self._rows(c)}"))

    async def vectors(self, entries: Sequence[int]) -> dict[int, Sequence[float]]:
        def held(connection: Connection) -> dict[int, Sequence[float]]:
            rows = connection.execute(
                f"select entry_id, halfvec_send(vector) {self._rows(connection)}"
                " and entry_id = any(%s)",
                (list(entries),),
                binary=True,
            ).fetchall()
            vectors = unpack(rows, self._dimensions)
            return {entry: row.tolist() for (entry, _), row in zip(rows, vectors, strict=True)}

        return await self._read(held)

    async def clear(self) -> None:
        """Drop the index; it is built again. The vectors stay: they are the store's."""
        self._check()
        await self._apart(lambda c: c.execute(f"drop index concurrently if exists {self.index}"))
        if self._task is not None:
            self._task.cancel()
            self.start()

    def beside(self, fingerprint: str, dimensions: int) -> PgvectorIndex:
        return PgvectorIndex(self._database, fingerprint, dimensions)

    async def replaced_by(self, other: PgvectorIndex) -> PgvectorIndex:
        await self._apart(lambda c: c.execute(f"drop index concurrently if exists {self.index}"))
        await self.close()
        return other

    async def close(self) -> None:
        self._closed = True
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    @property
    def index(self) -> str:
        """The name of the index in the schema."""
        of = f"{self._database.owner}\0{self._fingerprint}".encode()
        return f"vectors_{hashlib.sha256(of).hexdigest()[:16]}"

    async def build(self, least: int = MIN_INDEXED) -> bool:
        """Build the index if at least so many entries have none, and nobody else builds one on this
        database; whether it did.
        """
        self._check()
        return await self._apart(lambda c: self._built(c, least))

    async def _keep_built(self) -> None:
        while True:
            try:
                if await self.build():
                    log.info("the vector index %s is built", self.index)
            except (IndexUnavailable, StorageError) as error:
                log.warning("the vector index could not be built: %s", error)
            await asyncio.sleep(LOOK_SECONDS)

    def _built(self, connection: Connection, least: int) -> bool:
        if self._is_whole(connection):
            return False
        rows = self._rows(connection)
        if connection.count(f"select count(*) from (select 1 {rows} limit %s) s", (least,)) < least:
            return False
        # Of several workers one builds, of any owner: two builds on one table wait for each other
        # until the server ends one. The lock of a builder that dies goes with its connection.
        if not connection.one("select pg_try_advisory_lock(%s)", (_LOCK,))[0]:
            return False
        created = self._created(connection)
        connection.one("select pg_advisory_unlock(%s)", (_LOCK,))
        return created

    def _created(self, connection: Connection) -> bool:
        whole = self._is_whole(connection)
        if whole:  # another worker built it since the first look
            return False
        if whole is not None:  # its builder died
            connection.execute(f"drop index concurrently if exists {self.index}")
        connection.execute(
            f"create index concurrently {self.index} on vectors using hnsw"
            f" ((vector::halfvec({self._dimensions})) halfvec_cosine_ops)"
            f" with (m = {_LINKS}, ef_construction = {_BUILD_WIDTH})"
            f" where {self._own(connection)}"
        )
        return True

    def _is_whole(self, connection: Connection) -> bool | None:
        """Whether the index can be used; None where there is none."""
        known = connection.maybe(
            "select indisvalid from pg_index where indexrelid = to_regclass(%s)", (self.index,)
        )
        return None if known is None else bool(known[0])

    def _nearest(self, connection: Connection, vector: str, k: int) -> list[tuple[int, float]]:
        width = min(max(k, _MIN_WIDTH), _MAX_WIDTH)
        connection.execute(
            "select set_config('hnsw.ef_search', %s, true),"
            " set_config('hnsw.iterative_scan', 'relaxed_order', true),"
            " set_config('hnsw.max_scan_tuples', %s, true)",
            (str(width), str(_MAX_SCANNED)),
        )
        column = f"vector::halfvec({self._dimensions})"
        rows = connection.execute(
            # The question is not rounded to float16 for the score, as in exact searches.
            "select entry_id, -(vector::vector <#> %(asked)s::vector)"
            f" from (select entry_id, vector {self._rows(connection)}"
            f" order by {column} <=> %(asked)s::halfvec({self._dimensions}) limit %(k)s) near",
            {"asked": vector, "k": k},
        ).fetchall()
        scores = np.array([score for _, score in rows])
        return [(int(rows[place][0]), float(scores[place])) for place in np.argsort(-scores)]

    def _rows(self, connection: Connection) -> str:
        return f"from vectors where {self._own(connection)}"

    def _own(self, connection: Connection) -> str:
        """As literals: the planner uses a partial index for these only."""
        if not self._model:
            self._model = connection.count(
                "select max(id) from embedding_models where fingerprint = %s", (self._fingerprint,)
            )
        owner = sql.Literal(self._database.owner).as_string(connection)
        return f"owner = {owner.replace('%', '%%')} and model_id = {self._model}"

    async def _read(self, query: Callable[[Connection], T]) -> T:
        self._check()
        try:
            return await self._database.read(query)
        except StorageError as error:
            raise IndexUnavailable(error.message) from error

    async def _apart(self, work: Callable[[Connection], T]) -> T:
        try:
            return await self._database.apart(work)
        except StorageError as error:
            raise IndexUnavailable(error.message) from error

    def _check(self) -> None:
        if self._closed:
            raise IndexUnavailable("the vector index is closed")
