"""A Chroma server that somebody else runs, watched and never started or stopped, and its client.

Its address is a setting, so a wrong address is reported as an error. For a server that is down the
index waits, because only the search by meaning is missing meanwhile. The official client gets time
limits, and one collection; importing ``chromadb`` costs about a second, so it happens in the
constructor.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from mem_search.contracts import Vectors
from mem_search.errors import IndexUnavailable, InputError
from mem_search.model.ingest import VectorEntry
from mem_search.storage.chroma import connection as shared
from mem_search.storage.chroma.connection import ServerFault, Unreachable, translated
from mem_search.storage.chroma.server import LOOPBACK, Opened, Server, heartbeat

_PATIENCE = 5.0
_MAX_WAIT_SECONDS = 30.0


class RemoteChroma(Server):
    """``url`` has http or https, host and port. Raises InputError for anything else."""

    protection = "server"

    def __init__(self, url: str, token: str = "") -> None:
        super().__init__()
        try:
            parts = urlsplit(url)
            usable = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
        except ValueError:
            usable = False
        if not usable:
            raise InputError(
                f"chroma_url cannot be {url!r}; write http(s)://host:port, or off",
                field="chroma_url",
            )
        self._url = url.rstrip("/")
        self._token = token
        self._headers = token_headers(token)
        self._reported = asyncio.Event()

    def check_after(self, fault: IndexUnavailable) -> None:
        if isinstance(fault, Unreachable | ServerFault):
            self._reported.set()

    def again(self) -> RemoteChroma:
        return RemoteChroma(self._url, self._token)

    def take_over(self, other: Server) -> None:
        raise IndexUnavailable(f"the files of the Chroma at {self._url} cannot be replaced")

    async def _keep_up(self, opened: Opened) -> None:
        wait = 0.5
        await asyncio.to_thread(load)
        while True:
            self._reported.clear()
            try:
                await asyncio.to_thread(heartbeat, self._url, self._headers, timeout=_PATIENCE)
                await opened(partial(OfficialConnection, self._url, self._headers))
            except IndexUnavailable as error:
                self._set("down", f"{error}; trying again every {_MAX_WAIT_SECONDS:.0f} s")
            else:
                wait = 0.5
                self._set("ready")
                await self._reported.wait()
                self._set("down", f"the Chroma at {self._url} failed; connecting again")
            await asyncio.sleep(wait)
            wait = min(wait * 2, _MAX_WAIT_SECONDS)


def token_headers(token: str) -> dict[str, str]:
    """The two headers in which servers, and proxies before them, expect a token."""
    return {"Authorization": f"Bearer {token}", "X-Chroma-Token": token} if token else {}


class OfficialConnection:
    """A ``Connection`` to the server at ``url``, with ``headers`` in every request."""

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
            for at in range(0, len(entries), shared.UPSERT_ROWS):
                some = entries[at : at + shared.UPSERT_ROWS]
                collection.upsert(
                    ids=[str(entry.entry) for entry in some],
                    embeddings=vectors[at : at + shared.UPSERT_ROWS],
                    metadatas=[shared.metadata(entry) for entry in some],
                )

    def delete(self, names: Sequence[str]) -> None:
        with translated("deleting vectors"):
            collection = self._collection()
            for at in range(0, len(names), shared.DELETE_ROWS):
                collection.delete(ids=list(names[at : at + shared.DELETE_ROWS]))

    def query(self, vector: Vectors, k: int) -> list[tuple[int, float]]:
        with translated("searching"):
            found = self._collection().query(
                query_embeddings=vector, n_results=k, include=["distances"]
            )
        return shared.nearest(found["ids"][0], found["distances"][0])

    def names(self) -> list[str]:
        found: list[str] = []
        with translated("listing vectors"):
            collection = self._collection()
            for offset in count(0, shared.READ_ROWS):
                names = collection.get(include=[], limit=shared.READ_ROWS, offset=offset)["ids"]
                found += names
                if len(names) < shared.READ_ROWS:
                    break
        return found

    def vectors(self, entries: Sequence[int]) -> dict[int, Sequence[float]]:
        found: dict[int, Sequence[float]] = {}
        with translated("reading vectors"):
            collection = self._collection()
            for at in range(0, len(entries), shared.VECTOR_ROWS):
                names = [str(entry) for entry in entries[at : at + shared.VECTOR_ROWS]]
                reply = collection.get(ids=names, include=["embeddings"])
                found.update(zip(map(int, reply["ids"]), reply["embeddings"], strict=True))
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
                found = self._client.get_collection(self._name, embedding_function=None)
            except Exception as error:  # as in ``clear``
                if not _is_missing(error):
                    raise
            else:
                if shared.is_current(found.metadata):
                    self._known = found
                    return found
                self._client.delete_collection(self._name)
            self._known = self._make()
            self._made()
        return self._known

    def _make(self) -> Any:
        return self._client.get_or_create_collection(
            self._name,
            configuration=shared.CONFIGURATION,
            metadata=self._about,
            embedding_function=None,
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
