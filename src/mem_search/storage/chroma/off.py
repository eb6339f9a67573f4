"""The vector index of a worker without one: an exact search over SQLite answers instead.

It has the interface of ``VectorIndex``, so no other module needs to know whether there is an index.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NoReturn

from mem_search.contracts import VectorEntry, VectorIndex, Vectors
from mem_search.errors import IndexUnavailable
from mem_search.storage.chroma.server import Protection, State

DETAIL: Final = "the vector index is turned off (chroma_url is off)"
NO_MODEL: Final = "there is no vector index without a working model; run: mem-search doctor"


class OffIndex:
    """Accepts and drops every entry; every query raises IndexUnavailable."""

    name: str = "off"
    state: State = "off"
    generation: int = 0
    damage: int = 0
    most: int = 0
    protection: Protection = "none"
    refusal: str = ""

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

    async def written_by_others(self) -> bool:
        """Nobody can write to it."""
        return False

    async def clear(self) -> None:
        """Do nothing: the index is empty."""

    async def rewrite(self, fill: Callable[[VectorIndex], Awaitable[None]]) -> None:
        """Do nothing: the index has no files."""

    def beside(self, fingerprint: str, dimensions: int) -> OffIndex:
        """None for any space."""
        return OffIndex()

    async def replaced_by(self, other: OffIndex) -> OffIndex:
        """Do nothing: nothing is in it."""
        return other

    async def close(self) -> None:
        """Do nothing."""
