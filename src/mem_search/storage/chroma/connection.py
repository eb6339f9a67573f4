"""What ``index`` needs of a client, and what all clients give Chroma.

``lean`` speaks to the worker's own Chroma, ``official`` to a server of somebody else. Both are
blocking, and therefore only called from the threads of ``index``. A test runs both against one
server and compares their answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from mem_search.contracts import VectorEntry, Vectors

CONFIGURATION: Final = {
    "hnsw": {"space": "cosine", "ef_search": 200, "ef_construction": 100, "max_neighbors": 16}
}
"""``ef_search`` 200: the default of 100 finds 84 of the 100 nearest, this one 93 (100k vectors)."""

FORMAT: Final = "2"
"""What entries hold: number, kind and date. A collection of another format is filled again."""

UPSERT_ROWS: Final = 500
DELETE_ROWS: Final = 1000
READ_ROWS: Final = 5000
VECTOR_ROWS: Final = 250

_MAX_NUMBER = 2**62


class Connection(Protocol):
    """A client for one collection, which it creates if it is missing.

    All methods raise IndexUnavailable (see ``faults``).
    """

    def upsert(self, entries: Sequence[VectorEntry], vectors: Vectors) -> None: ...

    def delete(self, names: Sequence[str]) -> None: ...

    def query(self, vector: Vectors, k: int) -> list[tuple[int, float]]:
        """The ``k`` nearest as (entry, cosine similarity), best first."""
        ...

    def names(self) -> list[str]:
        """The ids of all entries; ``numbers`` reads them."""
        ...

    def vectors(self, entries: Sequence[int]) -> dict[int, Sequence[float]]:
        """The stored vectors of those entries that are there."""
        ...

    def count(self) -> int: ...

    def clear(self) -> None:
        """Delete the collection and create it again."""
        ...

    def forget(self) -> None:
        """Look up the collection again at the next call, because somebody replaced it."""
        ...

    def close(self) -> None: ...


class Connect(Protocol):
    """Makes a connection to a server that is up.

    A request ends after ``timeout`` seconds of silence. ``made`` is called whenever the collection
    had to be created, that is, when its content is lost. ``about`` describes the collection.
    """

    def __call__(
        self, name: str, *, about: dict[str, str], timeout: float, made: Callable[[], None]
    ) -> Connection: ...


def metadata(entry: VectorEntry) -> dict[str, str | int]:
    """What Chroma gets beside a vector: nothing that says what the text is about."""
    return {"doc_type": entry.doc_type, "record": entry.record, "created_at": entry.created_at}


def is_current(about: Mapping[str, Any] | None) -> bool:
    """Whether a collection with this description has entries of the format of today."""
    return (about or {}).get("format") == FORMAT


def number(name: str) -> int | None:
    """The entry that an id names; None for an id that we never give."""
    own = name.isascii() and name.isdecimal() and int(name) < _MAX_NUMBER and str(int(name)) == name
    return int(name) if own else None


def nearest(names: Sequence[str], distances: Sequence[float]) -> list[tuple[int, float]]:
    """The reply to a query without ids that are not ours."""
    cosines = [1.0 - distance for distance in distances]
    try:
        entries = [*map(int, names)]
    except ValueError:
        entries = []
    # Mostly all ids are ours; one look at all of them costs a tenth of a look at each.
    if [*map(str, entries)] != names or not all(0 <= entry < _MAX_NUMBER for entry in entries):
        found = zip(map(number, names), cosines, strict=True)
        return [(entry, cosine) for entry, cosine in found if entry is not None]
    return [*zip(entries, cosines, strict=True)]
