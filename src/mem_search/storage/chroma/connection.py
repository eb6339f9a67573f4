"""The client of Chroma: the eight requests that we make, and their errors as ours.

The official client cannot be given a connection (it creates its HTTP session and asks the server
within its constructor), costs a second and 60 MB to import, and needs 1.5 ms more for each query.
All servers of version 1 have the same HTTP interface. A test compares the answers with those that
the official client gets; ADR 0001 has the figures.

IndexUnavailable
├── Unreachable       no connection
│   └── NoAnswer      no answer in time
├── CollectionGone    the server works but no longer has our collection
└── ServerFault       an internal error of the server: its files may be damaged
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, Final, Protocol

import orjson

from mem_search.errors import IndexUnavailable
from mem_search.model.ingest import VectorEntry
from mem_search.model.rankings import Vectors
from mem_search.storage.chroma.wire import Dial, SocketWire, Wire


class Unreachable(IndexUnavailable):
    """No connection to the server, or no answer in time."""


class NoAnswer(Unreachable):
    """No answer in time: the server is busy, stopped or hangs."""


class CollectionGone(IndexUnavailable):
    """Somebody deleted the collection, or the server has another directory now."""


class ServerFault(IndexUnavailable):
    """The server reported an internal error."""


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

HEARTBEAT: Final = "/api/v2/heartbeat"
_COLLECTIONS: Final = "/api/v2/tenants/default_tenant/databases/default_database/collections"


class Connection:
    """A client for one collection, which it creates if it is missing. Blocking and thread-safe.

    ``wire`` makes its way to the server, on which ``timeout`` seconds of silence end a request.
    ``made`` is called whenever the collection had to be created, that is, when its content is
    lost. ``about`` describes the collection. All methods raise IndexUnavailable.
    """

    def __init__(
        self,
        wire: Callable[[float], Wire],
        name: str,
        *,
        about: dict[str, str],
        timeout: float,
        made: Callable[[], None],
    ) -> None:
        self._wire = wire(timeout)
        self._name = name
        self._about = about
        self._made = made
        self._collection = ""

    def upsert(self, entries: Sequence[VectorEntry], vectors: Vectors) -> None:
        for at in range(0, len(entries), UPSERT_ROWS):
            some = entries[at : at + UPSERT_ROWS]
            body = {
                "ids": [str(entry.entry) for entry in some],
                "embeddings": vectors[at : at + UPSERT_ROWS],
                "metadatas": [metadata(entry) for entry in some],
            }
            self._in_collection("storing vectors", "upsert", body)

    def delete(self, names: Sequence[str]) -> None:
        for at in range(0, len(names), DELETE_ROWS):
            some = names[at : at + DELETE_ROWS]
            self._in_collection("deleting vectors", "delete", {"ids": some})

    def query(self, vector: Vectors, k: int) -> list[tuple[int, float]]:
        """The ``k`` nearest as (entry, cosine similarity), best first."""
        asked = {"query_embeddings": vector, "n_results": k, "include": ["distances"]}
        reply = self._in_collection("searching", "query", asked)
        return nearest(reply["ids"][0], reply["distances"][0])

    def names(self) -> list[str]:
        """The ids of all entries; ``number`` reads them."""
        all_names: list[str] = []
        for offset in count(0, READ_ROWS):
            page = {"limit": READ_ROWS, "offset": offset, "include": []}
            names = self._in_collection("listing vectors", "get", page)["ids"]
            all_names += names
            if len(names) < READ_ROWS:
                break
        return all_names

    def vectors(self, entries: Sequence[int]) -> dict[int, Sequence[float]]:
        """The stored vectors of those entries that are there."""
        by_entry: dict[int, Sequence[float]] = {}
        for at in range(0, len(entries), VECTOR_ROWS):
            names = [str(entry) for entry in entries[at : at + VECTOR_ROWS]]
            asked = {"ids": names, "include": ["embeddings"]}
            reply = self._in_collection("reading vectors", "get", asked)
            by_entry.update(zip(map(int, reply["ids"]), reply["embeddings"], strict=True))
        return by_entry

    def count(self) -> int:
        return int(self._in_collection("counting vectors", "count"))

    def clear(self) -> None:
        """Delete the collection and create it again."""
        self._delete()
        self._collection = self._make()

    def forget(self) -> None:
        """Look up the collection again at the next call, because somebody replaced it."""
        self._collection = ""

    def close(self) -> None:
        self._wire.close()

    def _in_collection(self, doing: str, action: str, body: Any = None) -> Any:
        if not self._collection:
            self._collection = self._find()
        path = f"{_COLLECTIONS}/{self._collection}/{action}"
        return self._request(doing, "GET" if body is None else "POST", path, body)

    def _find(self) -> str:
        try:
            collection = self._request("opening the index", "GET", f"{_COLLECTIONS}/{self._name}")
        except CollectionGone:
            pass
        else:
            if is_current(collection["metadata"]):
                return str(collection["id"])
            self._delete()
        made = self._make()
        self._made()
        return made

    def _make(self) -> str:
        body = {
            "name": self._name,
            "configuration": CONFIGURATION,
            "metadata": self._about,
            "get_or_create": True,
        }
        return str(self._request("making the index", "POST", _COLLECTIONS, body)["id"])

    def _delete(self) -> None:
        try:
            self._request("clearing the index", "DELETE", f"{_COLLECTIONS}/{self._name}")
        except CollectionGone:
            return  # as asked

    def _request(self, doing: str, method: str, path: str, body: Any = None) -> Any:
        content = b"" if body is None else orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)
        try:
            status, reply = self._wire.request(method, path, content)
        except TimeoutError as error:
            raise NoAnswer(f"Chroma did not answer in time while {doing}") from error
        except OSError as error:
            raise Unreachable(f"Chroma cannot be reached while {doing}: {error}") from error
        if status < 300:
            try:
                return orjson.loads(reply)
            except ValueError as error:
                raise ServerFault(f"Chroma sent no JSON while {doing}") from error
        detail = reply[:300].decode(errors="replace")
        if status == 404:
            raise CollectionGone(f"Chroma lost the collection while {doing}: {detail}")
        if status in (401, 403):
            raise IndexUnavailable(f"Chroma refused the token while {doing}: {detail}")
        if status >= 500:
            raise ServerFault(f"Chroma failed while {doing}: {detail}")
        raise IndexUnavailable(f"Chroma refused {doing}: {detail}")


def heartbeat(dial: Dial, timeout: float) -> None:
    """Return if Chroma answers. Raises Unreachable."""
    wire = SocketWire(dial, timeout)
    try:
        status, _ = wire.request("GET", HEARTBEAT)
    except OSError as error:
        raise Unreachable(f"Chroma does not answer: {error}") from error
    finally:
        wire.close()
    if status != 200:
        raise Unreachable(f"Chroma answered {status} to a heartbeat")


class Connect(Protocol):
    """Makes a ``Connection`` to a server that is up."""

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
        pairs = zip(map(number, names), cosines, strict=True)
        return [(entry, cosine) for entry, cosine in pairs if entry is not None]
    return [*zip(entries, cosines, strict=True)]
