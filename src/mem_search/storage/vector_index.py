"""What an index of vectors is; Chroma, PostgreSQL and ``off`` are ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal

from mem_search.model.ingest import VectorEntry
from mem_search.model.rankings import Vectors

State = Literal["starting", "ready", "down", "off"]
Protection = Literal["namespace", "address", "port", "server", "none"]
"""What keeps other programs away from Chroma: a network namespace, a random address and port, a
random port alone, whatever a server of somebody else does; "none" where there is no Chroma."""


class VectorIndex(ABC):
    """Nearest entries, unfiltered. Derived: it can be emptied and filled again from SQLite.

    Every method raises IndexUnavailable while the index is down.
    """

    name: str
    damage: int = 0
    """How many passages the index should hold and does not, or not as they were given to it."""

    is_doubted: bool = False
    """Whether a search found nearer ones than it did: ``Indexer.check`` compares all of it then."""

    min_passages: int = 0
    """Passages of a store; all vectors of a smaller one are compared in less time."""

    most: int = 0
    """Entries that it returns in less time than a scan takes: a filter that few records pass needs
    more of them.
    """

    @property
    @abstractmethod
    def state(self) -> State:
        """``off``: there is none, and nothing can be stored."""

    @property
    def detail(self) -> str:
        """Why the index is not ready, and what happens next; empty when it is ready."""
        return ""

    @property
    @abstractmethod
    def protection(self) -> Protection:
        """What keeps other programs away from it."""

    @property
    def refusal(self) -> str:
        """Why it is not protected better, in the words of the system."""
        return ""

    @abstractmethod
    def start(self) -> None:
        """Start in the background. Needs a running loop."""

    @abstractmethod
    async def ready(self, timeout: float = 30.0) -> None:  # noqa: ASYNC109  the caller's patience
        """Return once it answers."""

    @abstractmethod
    async def upsert(self, entries: Sequence[VectorEntry], vectors: Vectors) -> None:
        """Store the vectors; of several with one number the last one counts."""

    @abstractmethod
    async def delete(self, entries: Sequence[int]) -> None:
        """Delete entries; ignores unknown numbers."""

    @abstractmethod
    async def query(
        self, vector: Vectors | Callable[[], Vectors], k: int
    ) -> list[tuple[int, float]]:
        """The ``k`` nearest as (entry, cosine similarity), best first.

        ``vector`` has shape (1, dimensions). One that must first be computed is given as the
        function that does: it runs in the thread that asks, without a turn in between.
        """

    @abstractmethod
    async def entries(self) -> set[int]:
        """Every entry that the index holds."""

    @abstractmethod
    async def count(self) -> int:
        """How many entries the index holds."""

    @abstractmethod
    async def vectors(self, entries: Sequence[int]) -> dict[int, Sequence[float]]:
        """entry → its vector, of those that the index holds; the length of a vector may differ."""

    async def written_by_others(self) -> bool:
        """Whether somebody else wrote to the index since the last call; False if unknown."""
        return False

    @abstractmethod
    async def clear(self) -> None:
        """Empty it; the next ``upsert`` starts a fresh index."""

    @abstractmethod
    def beside(self, fingerprint: str, dimensions: int) -> VectorIndex:
        """An index for another space, not started yet; this one continues to answer."""

    @abstractmethod
    async def replaced_by(self, other: Any) -> VectorIndex:
        """The index of the space of ``other``, which came from ``beside`` and is filled.

        It is starting; this one and ``other``, if that is not the result, raise IndexUnavailable
        from now on. Their entries are deleted.
        """

    async def rewrite(self, fill: Callable[[VectorIndex], Awaitable[None]]) -> None:  # noqa: B027  not every index has files
        """``fill`` a new index and put its files in the place of the old ones.

        Afterwards no file holds anything of an entry that was deleted before. The files of a
        server that somebody else runs stay as they are.
        """

    @abstractmethod
    async def close(self) -> None:
        """Stop; every later call raises."""
