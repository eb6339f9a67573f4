"""The client for the Chroma of the worker: the eight requests that we make, and nothing else.

The official client cannot be given a connection (it creates its HTTP session and asks the server
within its constructor), costs a second and 60 MB to import, and needs 1.5 ms more for each query.
The version of the server is ours to choose, so its HTTP interface is known. ADR 0020 has the
figures.

Its connections are kept alive. A ``Dial`` opens one: directly (``dial``), or through the door of a
child that lives in a network namespace of its own (``Door``, see ``child``). The bytes then flow
between worker and Chroma without a process in between.
"""

from __future__ import annotations

import socket
import threading
from collections import deque
from collections.abc import Callable, Sequence
from http.client import HTTPException, HTTPResponse
from itertools import count
from typing import Any, Final

import orjson

from mem_search.contracts import Vectors
from mem_search.errors import IndexUnavailable
from mem_search.model.ingest import VectorEntry
from mem_search.storage.chroma import connection as shared
from mem_search.storage.chroma.connection import CollectionGone, NoAnswer, ServerFault, Unreachable

Dial = Callable[[float], socket.socket]
"""Opens a connection within so many seconds; raises OSError."""

_ANSWER: Final = 1024
_GREETING: Final = b"isolated"


def dial(host: str, port: int) -> Dial:
    """Connections to an address of this machine."""

    def connect(timeout: float) -> socket.socket:
        return socket.create_connection((host, port), timeout)

    return connect


class Door:
    """The worker's end of a socket pair through which a child passes connected sockets.

    ``inner`` is the child's end; ``launch`` closes it once the child has it. Blocking and
    thread-safe.
    """

    def __init__(self) -> None:
        self._outer, self.inner = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._numbers = count()
        self._asking = threading.Lock()

    def refused(self, timeout: float) -> str:
        """Why the child has no network of its own; empty if it has. Raises OSError."""
        self._outer.settimeout(timeout)
        said = self._outer.recv(_ANSWER)
        if not said:
            raise ConnectionError("the child ended before it said where it runs")
        return "" if said == _GREETING else said.decode(errors="replace")

    def connect(self, timeout: float) -> socket.socket:
        """A ``Dial``."""
        request = b"%d:" % next(self._numbers)
        with self._asking:
            self._outer.settimeout(timeout)
            self._outer.send(request)
            while True:
                answer, handles, _, _ = socket.recv_fds(self._outer, _ANSWER, 1)
                sockets = [socket.socket(fileno=handle) for handle in handles]
                if answer.startswith(request):
                    break
                for late in sockets:  # of a request that was given up
                    late.close()
                if not answer:
                    raise ConnectionError("the child has ended")
        if not sockets:
            raise ConnectionError(answer.removeprefix(request).decode(errors="replace"))
        return sockets[0]

    def close(self) -> None:
        """Close both ends, which ends the process at the other side."""
        self._outer.close()
        self.inner.close()


class Wire:
    """HTTP requests over connections that stay open; ``timeout`` seconds of silence end one.

    Thread-safe: as many connections as requests at once.
    """

    def __init__(self, connect: Dial, timeout: float) -> None:
        self._connect = connect
        self._timeout = timeout
        self._idle: deque[socket.socket] = deque()
        self._closed = False

    def request(self, method: str, path: str, content: bytes = b"") -> tuple[int, bytes]:
        """Status and body of the reply. Raises OSError (TimeoutError for silence).

        A request on a connection that the server has closed meanwhile is sent again, so it must
        be one that may arrive twice.
        """
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: chroma\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(content)}\r\n\r\n"
        )
        message = head.encode("ascii") + content
        while True:
            connection, kept = self._connection()
            try:
                connection.sendall(message)
                reply = HTTPResponse(connection, method=method)
                reply.begin()
                body = reply.read()
            except TimeoutError:
                connection.close()
                raise
            except (OSError, HTTPException) as error:
                connection.close()
                if kept:
                    continue
                raise ConnectionError(str(error) or type(error).__name__) from error
            if reply.will_close or self._closed:
                connection.close()
            else:
                self._idle.append(connection)
            return reply.status, body

    def close(self) -> None:
        """Close what is idle now, and everything else after its reply."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()

    def _connection(self) -> tuple[socket.socket, bool]:
        if self._closed:
            raise ConnectionError("the connection was closed")
        try:
            return self._idle.pop(), True
        except IndexError:
            connection = self._connect(self._timeout)
        connection.settimeout(self._timeout)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection, False


HEARTBEAT: Final = "/api/v2/heartbeat"
_COLLECTIONS: Final = "/api/v2/tenants/default_tenant/databases/default_database/collections"


class LeanConnection:
    """A ``Connection`` over connections that ``dial`` opens."""

    def __init__(
        self,
        dial: Dial,
        name: str,
        *,
        about: dict[str, str],
        timeout: float,
        made: Callable[[], None],
    ) -> None:
        self._wire = Wire(dial, timeout)
        self._name = name
        self._about = about
        self._made = made
        self._collection = ""

    def upsert(self, entries: Sequence[VectorEntry], vectors: Vectors) -> None:
        for at in range(0, len(entries), shared.UPSERT_ROWS):
            some = entries[at : at + shared.UPSERT_ROWS]
            body = {
                "ids": [str(entry.entry) for entry in some],
                "embeddings": vectors[at : at + shared.UPSERT_ROWS],
                "metadatas": [shared.metadata(entry) for entry in some],
            }
            self._in_collection("storing vectors", "upsert", body)

    def delete(self, names: Sequence[str]) -> None:
        for at in range(0, len(names), shared.DELETE_ROWS):
            some = names[at : at + shared.DELETE_ROWS]
            self._in_collection("deleting vectors", "delete", {"ids": some})

    def query(self, vector: Vectors, k: int) -> list[tuple[int, float]]:
        asked = {"query_embeddings": vector, "n_results": k, "include": ["distances"]}
        found = self._in_collection("searching", "query", asked)
        return shared.nearest(found["ids"][0], found["distances"][0])

    def names(self) -> list[str]:
        found: list[str] = []
        for offset in count(0, shared.READ_ROWS):
            page = {"limit": shared.READ_ROWS, "offset": offset, "include": []}
            names = self._in_collection("listing vectors", "get", page)["ids"]
            found += names
            if len(names) < shared.READ_ROWS:
                break
        return found

    def vectors(self, entries: Sequence[int]) -> dict[int, Sequence[float]]:
        found: dict[int, Sequence[float]] = {}
        for at in range(0, len(entries), shared.VECTOR_ROWS):
            names = [str(entry) for entry in entries[at : at + shared.VECTOR_ROWS]]
            asked = {"ids": names, "include": ["embeddings"]}
            reply = self._in_collection("reading vectors", "get", asked)
            found.update(zip(map(int, reply["ids"]), reply["embeddings"], strict=True))
        return found

    def count(self) -> int:
        return int(self._in_collection("counting vectors", "count"))

    def clear(self) -> None:
        self._delete()
        self._collection = self._make()

    def forget(self) -> None:
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
            found = self._request("opening the index", "GET", f"{_COLLECTIONS}/{self._name}")
        except CollectionGone:
            pass
        else:
            if shared.is_current(found["metadata"]):
                return str(found["id"])
            self._delete()
        made = self._make()
        self._made()
        return made

    def _make(self) -> str:
        body = {
            "name": self._name,
            "configuration": shared.CONFIGURATION,
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
        if status >= 500:
            raise ServerFault(f"Chroma failed while {doing}: {detail}")
        raise IndexUnavailable(f"Chroma refused {doing}: {detail}")


def heartbeat(dial: Dial, timeout: float) -> None:
    """Return if Chroma answers. Raises Unreachable."""
    wire = Wire(dial, timeout)
    try:
        status, _ = wire.request("GET", HEARTBEAT)
    except OSError as error:
        raise Unreachable(f"Chroma does not answer: {error}") from error
    finally:
        wire.close()
    if status != 200:
        raise Unreachable(f"Chroma answered {status} to a heartbeat")
