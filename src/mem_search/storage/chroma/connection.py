"""The official client, with time limits and for one collection.

Blocking, and therefore only called from the threads of ``index``. Importing ``chromadb`` costs
about a second, so it happens in ``Connection``'s constructor.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import getproxies

from mem_search.contracts import VectorEntry, Vectors
from mem_search.storage.chroma.faults import translated
from mem_search.storage.chroma.server import LOOPBACK

CONFIGURATION: Final = {
    "hnsw": {"space": "cosine", "ef_search": 200, "ef_construction": 100, "max_neighbors": 16}
}
"""``ef_search`` 200: the default of 100 finds 84 of the 100 nearest, this one 93 (100k vectors)."""

_UPSERT_ROWS = 500
_DELETE_ROWS = 1000
_READ_ROWS = 5000


class Connection:
    """A client of the server at ``url`` for the collection ``name``; creates it if missing.

    Every request ends after ``timeout`` seconds of silence. ``made`` is called whenever the
    collection had to be created, that is, when its content is lost. All methods raise
    IndexUnavailable (see ``faults``).
    """

    def __init__(
        self,
        url: str,
        headers: dict[str, str],
        name: str,
        *,
        about: dict[str, str],
        timeout: float,
        made: Callable[[], None],
    ) -> None:
        self._name = name
        self._about = about
        self._made = made
        self._known: Any = None
        with translated("connecting"):
            self._client = _client(url, headers)
            # The client sets no time limit on its two sessions, offers no way to set one, and
            # does not close them.
            servers = (self._client._server, self._client._admin_client._server)  # noqa: SLF001
            self._sessions = [server._session for server in servers]  # noqa: SLF001
            for session in self._sessions:
                session.timeout = timeout

    def upsert(self, entries: Sequence[VectorEntry], vectors: Vectors) -> None:
        with translated("storing vectors"):
            collection = self._collection()
            for at in range(0, len(entries), _UPSERT_ROWS):
                some = entries[at : at + _UPSERT_ROWS]
                collection.upsert(
                    ids=[str(entry.entry) for entry in some],
                    embeddings=vectors[at : at + _UPSERT_ROWS],
                    metadatas=[
                        {
                            "doc_type": entry.doc_type,
                            "project": entry.project,
                            "record": entry.record,
                            "created_at": entry.created_at,
                        }
                        for entry in some
                    ],
                )

    def delete(self, entries: Sequence[int]) -> None:
        with translated("deleting vectors"):
            collection = self._collection()
            for at in range(0, len(entries), _DELETE_ROWS):
                collection.delete(ids=[str(number) for number in entries[at : at + _DELETE_ROWS]])

    def query(self, vector: Vectors, k: int) -> list[tuple[int, float]]:
        with translated("searching"):
            found = self._collection().query(
                query_embeddings=vector, n_results=k, include=["distances"]
            )
        pairs = zip(found["ids"][0], found["distances"][0], strict=True)
        return [(int(name), 1.0 - float(distance)) for name, distance in pairs]

    def entries(self) -> set[int]:
        found: set[int] = set()
        with translated("listing vectors"):
            collection = self._collection()
            for offset in count(0, _READ_ROWS):
                names = collection.get(include=[], limit=_READ_ROWS, offset=offset)["ids"]
                found.update(map(int, names))
                if len(names) < _READ_ROWS:
                    break
        return found

    def count(self) -> int:
        with translated("counting vectors"):
            return int(self._collection().count())

    def clear(self) -> None:
        with translated("clearing the index"):
            try:
                self._client.delete_collection(self._name)
            except (
                Exception
            ) as error:  # ``translated`` decides; only a missing collection is no error
                if not _is_missing(error):
                    raise
            self._known = self._make()

    def forget(self) -> None:
        """Look up the collection again at the next call, because somebody replaced it."""
        self._known = None

    def close(self) -> None:
        self._client.close()
        for session in self._sessions:
            session.close()

    def _collection(self) -> Any:
        if self._known is None:
            try:
                self._known = self._client.get_collection(self._name, embedding_function=None)
            except Exception as error:  # as in ``clear``
                if not _is_missing(error):
                    raise
                self._known = self._make()
                self._made()
        return self._known

    def _make(self) -> Any:
        return self._client.get_or_create_collection(
            self._name, configuration=CONFIGURATION, metadata=self._about, embedding_function=None
        )


def _is_missing(error: Exception) -> bool:
    from chromadb.errors import NotFoundError

    return isinstance(error, NotFoundError)


def load() -> None:
    """Import the client before its first use. Connecting reports what is wrong with it."""
    with suppress(ImportError):
        import chromadb  # noqa: F401


def _client(url: str, headers: dict[str, str]) -> Any:
    import chromadb
    from chromadb.config import Settings

    # It logs every request at INFO, twice a search.
    logging.getLogger("httpx").setLevel(logging.WARNING)
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    if parts.hostname in LOOPBACK:
        _reach_directly(parts.hostname)
    # Host and port are passed twice and no .env file is read. Otherwise settings of another Chroma
    # in the environment or the current folder would win, or count as a conflict.
    settings = Settings(
        _env_file=None,
        anonymized_telemetry=False,
        chroma_server_host=url,
        chroma_server_http_port=port,
    )
    return chromadb.HttpClient(
        host=url, port=port, ssl=parts.scheme == "https", headers=headers, settings=settings
    )


def _reach_directly(host: str) -> None:
    """Bypass a proxy from the environment for this machine.

    Chroma's client creates its HTTP session itself and reads proxies only from the environment.
    """
    if not getproxies():
        return
    for name in ("no_proxy", "NO_PROXY"):
        hosts = [part.strip() for part in os.environ.get(name, "").split(",") if part.strip()]
        if host not in hosts:
            os.environ[name] = ",".join([*hosts, host])
