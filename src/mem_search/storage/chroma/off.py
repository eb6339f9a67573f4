"""The vector index of a worker that is told to have none: exact search over SQLite answers.

``VectorIndex`` in name only, so that nothing else needs to know whether there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NoReturn

from mem_search.contracts import VectorEntry, Vectors
from mem_search.errors import IndexUnavailable
from mem_search.storage.chroma.server import State

DETAIL: Final = "the vector index is turned off (chroma_url is off)"
NO_MODEL: Final = "there is no vector index without a model that works; see: mem-search doctor"


class OffIndex:
    """Takes in everything and keeps nothing; every question raises IndexUnavailable."""

    name: str = "off"
    state: State = "off"
    generation: int = 0

    def __init__(self, detail: str = DETAIL) -> None:
        self.detail = detail

    def start(self) -> None:
        """Nothing to start."""

    async def ready(self, timeout: float = 0.0) -> NoReturn:  # noqa: ASYNC109  as of ChromaIndex
        raise IndexUnavailable(self.detail)

    async def upsert(self, entries: Sequence[VectorEntry], vectors: Vectors) -> None:
        """Nothing to keep: the stored vectors are what is searched."""

    async def delete(self, entries: Sequence[int]) -> None:
        """Nothing was kept."""

    async def query(self, vector: Vectors | Callable[[], Vectors], k: int) -> NoReturn:
        raise IndexUnavailable(self.detail)

    async def entries(self) -> NoReturn:
        raise IndexUnavailable(self.detail)

    async def clear(self) -> None:
        """Nothing was kept."""

    async def close(self) -> None:
        """Nothing to close."""
