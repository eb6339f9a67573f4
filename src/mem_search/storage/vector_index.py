"""The port of an index of vectors, which Chroma, PostgreSQL and ``off`` implement."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, Self

from mem_search.model.ingest import VectorEntry
from mem_search.model.rankings import Vectors


class VectorIndex(Protocol):
    """Nearest entries, unfiltered. Derived: it can be emptied and filled again from SQLite.

    Every method raises IndexUnavailable while the index is down.
    """

    damage: int
    """How many passages the index should hold and does not, or not as they were given to it."""

    is_doubted: bool
    """Whether a search found nearer ones than it did: ``Indexer.check`` compares all of it then."""

    @property
    def min_passages(self) -> int:
        """Passages of a store; all vectors of a smaller one are compared in less time."""
        ...

    @property
    def most(self) -> int:
        """Entries that it returns in less time than a scan takes: a filter that few records pass
        needs more of them.
        """
        ...

    @property
    def state(self) -> str:
        """starting, ready, down, or off: there is none, and nothing can be stored."""
        ...

    def start(self) -> None:
        """Start in the background. Needs a running loop."""
        ...

    async def ready(self, timeout: float = 30.0) -> None:  # noqa: ASYNC109  the caller's patience
        """Return once it answers."""
        ...

    async def upsert(self, entries: Sequence[VectorEntry], vectors: Vectors) -> None: ...

    async def delete(self, entries: Sequence[int]) -> None: ...

    async def query(
        self, vector: Vectors | Callable[[], Vectors], k: int
    ) -> list[tuple[int, float]]:
        """The ``k`` nearest as (entry, cosine similarity), best first.

        ``vector`` has shape (1, dimensions). One that must first be computed is given as the
        function that does: it runs in the thread that asks, without a turn in between.
        """
        ...

    async def entries(self) -> set[int]:
        """Every entry that the index holds."""
        ...

    async def count(self) -> int:
        """How many entries the index holds."""
        ...

    async def vectors(self, entries: Sequence[int]) -> dict[int, Sequence[float]]:
        """entry → its vector, of those that the index holds; the length of a vector may differ."""
        ...

    async def written_by_others(self) -> bool:
        """Whether somebody else wrote to the index since the last call; False if unknown."""
        ...

    async def clear(self) -> None:
        """Empty it; the next ``upsert`` starts a fresh index."""
        ...

    def beside(self, fingerprint: str, dimensions: int) -> Self:
        """An index for another space, not started yet; this one continues to answer."""
        ...

    async def replaced_by(self, other: Self) -> Self:
        """The index of the space of ``other``, which came from ``beside`` and is filled.

        It is starting; this one and ``other``, if that is not the result, raise IndexUnavailable
        from now on. Their entries are deleted.
        """
        ...

    async def rewrite(self, fill: Callable[[VectorIndex], Awaitable[None]]) -> None:
        """``fill`` a new index and put its files in the place of the old ones.

        Afterwards no file holds anything of an entry that was deleted before. The files of a
        server that somebody else runs stay as they are.
        """
        ...

    async def close(self) -> None: ...
