"""What ``index`` needs of a client, what all clients give Chroma, and its errors as ours.

``lean`` speaks to the worker's own Chroma, ``remote`` to a server of somebody else. Both are
blocking, and therefore only called from the threads of ``index``. A test runs both against one
server and compares their answers.

IndexUnavailable
├── Unreachable       no connection
│   └── NoAnswer      no answer in time
├── CollectionGone    the server works but no longer has our collection
└── ServerFault       an internal error of the server: its files may be damaged
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol

from mem_search.contracts import Vectors
from mem_search.errors import IndexUnavailable
from mem_search.install_command import install_command
from mem_search.model.ingest import VectorEntry


class Unreachable(IndexUnavailable):
    """No connection to the server, or no answer in time."""


class NoAnswer(Unreachable):
    """No answer in time: the server is busy, stopped or hangs."""


class CollectionGone(IndexUnavailable):
    """Somebody deleted the collection, or the server has another directory now."""


class ServerFault(IndexUnavailable):
    """The server reported an internal error."""


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Translate every error of Chroma's client while ``doing`` something to IndexUnavailable.

    Other errors (a TypeError of ours) pass unchanged.
    """
    try:
        yield
    except IndexUnavailable:
        raise
    except Exception as error:  # ``translate`` decides; other errors are raised again
        fault = translate(error, doing)
        if fault is None:
            raise
        raise fault from error


def translate(error: Exception, doing: str) -> IndexUnavailable | None:
    """The error as ours, or None when it does not come from Chroma's client."""
    if isinstance(error, ImportError):
        return IndexUnavailable(
            f"chromadb cannot be loaded ({error}); run: {install_command('chromadb>=1.5.9')}"
        )
    import httpx
    from chromadb import errors

    detail = str(error)[:300] or type(error).__name__
    match error:
        case httpx.TimeoutException() | TimeoutError():
            return NoAnswer(f"Chroma did not answer in time while {doing}")
        case httpx.HTTPError() | httpx.InvalidURL() | OSError():
            return Unreachable(f"Chroma cannot be reached while {doing}: {detail}")
        case errors.NotFoundError():
            return CollectionGone(f"Chroma lost the collection while {doing}: {detail}")
        case errors.AuthorizationError() | errors.ChromaAuthError():
            return IndexUnavailable(f"Chroma refused the token while {doing}: {detail}")
        case errors.InternalError():
            return ServerFault(f"Chroma failed while {doing}: {detail}")
        case errors.ChromaError():
            return IndexUnavailable(f"Chroma refused {doing}: {detail}")
        case ValueError():
            return IndexUnavailable(f"Chroma's client failed while {doing}: {detail}")
        case RuntimeError() if "has been closed" in detail:  # httpx: we have reconnected meanwhile
            return Unreachable(f"Chroma restarted while {doing}")
    # The client raises a bare Exception for an error status that it does not know.
    if type(error) is Exception:
        return ServerFault(f"Chroma failed while {doing}: {detail}")
    return None


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

    All methods raise IndexUnavailable (see ``translated``).
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
