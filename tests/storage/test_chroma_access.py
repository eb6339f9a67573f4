"""Who can reach the worker's Chroma: nobody but the worker, as far as the system allows it."""

from __future__ import annotations

import ipaddress
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mem_search.model.ingest import VectorEntry
from mem_search.platform import IS_LINUX
from mem_search.storage.chroma.connection import (
    CONFIGURATION,
    FORMAT,
    Connection,
    metadata,
    nearest,
)
from mem_search.storage.chroma.directory import CHILD
from mem_search.storage.chroma.launch import HOST, _free_address
from mem_search.storage.chroma.process import ChromaProcess
from mem_search.storage.chroma.server import RemoteWire
from mem_search.storage.chroma.wire import Door, SocketWire, dial
from patience import PATIENCE
from unit_vectors import unit_vectors

ABOUT = {"fingerprint": "space", "dimensions": "8", "format": FORMAT}
linux = pytest.mark.skipif(not IS_LINUX, reason="namespaces are Linux's")


class Opened:
    """A running Chroma with a connection to it."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.process = ChromaProcess(folder / "chroma", folder / "log", **options)
        self.made = 0
        self.connection: Connection | None = None

    async def __aenter__(self) -> Opened:
        async def connect(connect: Callable[..., Connection]) -> None:
            self.connection = connect("space", about=ABOUT, timeout=10, made=self._made)

        self.process.start(connect)
        await self.process.wait_ready(PATIENCE)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self.connection is not None
        self.connection.close()
        await self.process.stop()

    def _made(self) -> None:
        self.made += 1

    @property
    def address(self) -> tuple[str, int]:
        assert self.process.address is not None
        return self.process.address


vectors = partial(unit_vectors, dimensions=8, seed=1)


def entries(count: int) -> list[VectorEntry]:
    return [VectorEntry(number, number // 2, "note", 1) for number in range(count)]


def namespaces_allowed() -> bool:
    made = subprocess.run(["unshare", "-Urn", "true"], check=False, capture_output=True)
    return made.returncode == 0


@linux
async def test_no_other_program_can_connect(tmp_path: Path) -> None:
    if not (shutil.which("unshare") and namespaces_allowed()):
        pytest.skip("this system allows no network namespace")
    async with Opened(tmp_path) as opened:
        assert (opened.process.protection, opened.process.refusal) == ("namespace", "")
        assert opened.connection is not None
        opened.connection.upsert(entries(3), vectors(3))
        assert opened.connection.count() == 3
        for host in {opened.address[0], HOST, "0.0.0.0", "::1"}:
            with pytest.raises(OSError):
                socket.create_connection((host, opened.address[1]), timeout=1)


@linux
@pytest.mark.parametrize("where", ["ctypes.CDLL", "fcntl.ioctl"])
async def test_where_a_namespace_is_refused_it_says_so_and_is_hard_to_find(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """Containers refuse the namespace, others allow it and refuse everything in it."""
    refusing = tmp_path / "child.py"
    module, _, name = where.partition(".")
    refusal = f"""
from types import SimpleNamespace
from mem_search.platform import namespaces
def refused(*_: object, **__: object) -> None:
    raise PermissionError(1, "not here")
namespaces.{module} = SimpleNamespace({name}=refused)
"""
    start = "\n\ndef main("
    text = CHILD.read_text("utf-8")
    assert text.count(start) == 1
    refusing.write_text(text.replace(start, refusal + start), "utf-8")
    monkeypatch.setattr("mem_search.storage.chroma.launch.CHILD", refusing)
    async with Opened(tmp_path) as opened:
        assert opened.process.protection == "address"
        assert "not here" in opened.process.refusal
        assert ipaddress.ip_address(opened.address[0]) in ipaddress.ip_network("127.0.0.0/8")
        assert opened.connection is not None
        assert opened.connection.count() == 0
        with pytest.raises(OSError):
            socket.create_connection((HOST, opened.address[1]), timeout=1)


def test_addresses_differ_where_the_system_has_many(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {_free_address()[0] for _ in range(5)}
    assert len(found) == 5 or found == {HOST}
    bind = socket.socket.bind

    class OneAddress(socket.socket):
        """As on macOS: 127.0.0.1 is the only address of its range."""

        def bind(self, address: Any) -> None:
            if address[0] != HOST:
                raise OSError(49, "Can't assign requested address")
            bind(self, address)

    monkeypatch.setattr("socket.socket", OneAddress)
    assert {_free_address()[0] for _ in range(5)} == {HOST}


def answers(connection: Any) -> list[Any]:
    """Every request, with what it answers."""
    rows = vectors(700)
    rows[5] *= 3  # cosine: the length counts for nothing
    found: list[Any] = [connection.count(), connection.names(), connection.query(rows[:1], 5)]
    connection.upsert(entries(700), rows)
    found += [connection.count(), sorted(connection.names())]
    found += [connection.query(rows[n : n + 1], 400) for n in range(10)]
    found += [connection.query(rows[:1], 5000)]
    found += [{k: list(map(float, v)) for k, v in connection.vectors([3, 5, 9999]).items()}]
    connection.delete(["3", "3000", "strange"])
    found += [connection.count(), connection.query(rows[3:4], 2), connection.vectors([3])]
    connection.upsert(entries(1), rows[7:8])
    found += [connection.query(rows[7:8], 2), connection.vectors([0]).keys()]
    connection.clear()
    found += [connection.count(), connection.query(rows[:1], 3)]
    return found


class Official:
    """The same requests through the client that comes with Chroma."""

    def __init__(self, host: str, port: int) -> None:
        import chromadb  # costs a second

        self._client = chromadb.HttpClient(host=host, port=port)
        self._found: Any = None

    @property
    def _collection(self) -> Any:
        if self._found is None:
            self._found = self._client.get_or_create_collection(
                "space", configuration=CONFIGURATION, metadata=ABOUT, embedding_function=None
            )
        return self._found

    def upsert(self, entries: list[VectorEntry], rows: Any) -> None:
        self._collection.upsert(
            ids=[str(each.entry) for each in entries],
            embeddings=rows,
            metadatas=[metadata(each) for each in entries],
        )

    def delete(self, names: list[str]) -> None:
        self._collection.delete(ids=names)

    def query(self, vector: Any, k: int) -> list[tuple[int, float]]:
        found = self._collection.query(query_embeddings=vector, n_results=k, include=["distances"])
        return nearest(found["ids"][0], found["distances"][0])

    def names(self) -> list[str]:
        return list(self._collection.get(include=[])["ids"])

    def vectors(self, entries: list[int]) -> dict[int, Any]:
        found = self._collection.get(ids=[str(each) for each in entries], include=["embeddings"])
        return dict(zip(map(int, found["ids"]), found["embeddings"], strict=True))

    def count(self) -> int:
        return int(self._collection.count())

    def clear(self) -> None:
        self._client.delete_collection("space")
        self._found = None


async def test_both_ways_and_the_official_client_get_the_same_answers(tmp_path: Path) -> None:
    async with Opened(tmp_path, isolated=False) as opened:
        own = opened.connection
        assert own is not None
        host, port = opened.address
        remote = partial(RemoteWire, f"http://{host}:{port}", "")
        other = Connection(remote, "space", about=ABOUT, timeout=10, made=lambda: None)
        said = answers(own)
        assert said[3] == 700
        assert said == answers(Official(host, port))
        other.clear()  # now the first one has to look it up again
        own.forget()
        assert own.count() == 0
        assert said == answers(other)
        other.close()


async def test_a_collection_with_projects_is_replaced(tmp_path: Path) -> None:
    """On a server of one's own, where we cannot delete the folder."""
    async with Opened(tmp_path, isolated=False) as opened:
        own = opened.connection
        assert own is not None
        host, port = opened.address
        for wire in (
            partial(SocketWire, dial(host, port)),
            partial(RemoteWire, f"http://{host}:{port}", ""),
        ):
            own._delete()
            own._about = {"fingerprint": "space", "dimensions": "8"}
            own._make()
            own._collection = own._request("", "GET", _path(own))["id"]
            own.upsert(entries(4), vectors(4))
            own._about = ABOUT
            own.forget()
            made = opened.made
            fresh = Connection(wire, "space", about=ABOUT, timeout=10, made=opened._made)
            assert fresh.count() == 0
            fresh.close()
            assert opened.made == made + 1
            assert own._request("", "GET", _path(own))["metadata"]["format"] == FORMAT


def _path(own: Connection) -> str:
    return f"/api/v2/tenants/default_tenant/databases/default_database/collections/{own._name}"


class Chatty:
    """The other end of a door, as told."""

    def __init__(self, door: Door) -> None:
        self.end = socket.socket(fileno=door.inner.detach())


@linux
def test_a_late_answer_of_the_door_is_not_taken_for_another() -> None:
    door = Door()
    other = Chatty(door).end
    with pytest.raises(TimeoutError):
        door.connect(0.05)
    late, fresh = socket.socketpair(), socket.socketpair()
    socket.send_fds(other, [other.recv(64)], [late[0].fileno()])
    late[0].close()
    socket.send_fds(other, [b"1:"], [fresh[0].fileno()])
    connected = door.connect(5)
    connected.send(b"here")
    assert fresh[1].recv(9) == b"here"
    assert late[1].recv(9) == b""  # closed
    other.recv(64)
    other.send(b"2:Connection refused")
    with pytest.raises(ConnectionError, match="refused"):
        door.connect(5)
    other.close()
    with pytest.raises(OSError):
        door.connect(5)
    door.close()
    for each in (connected, fresh[0], fresh[1], late[1]):
        each.close()


def test_a_kept_connection_that_was_closed_is_opened_again() -> None:
    with socket.create_server((HOST, 0)) as server:
        wire = SocketWire(dial(HOST, server.getsockname()[1]), 5)
        reply = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        accepted: list[socket.socket] = []

        def serve(times: int) -> None:
            for _ in range(times):
                accepted.append(server.accept()[0])
                accepted[-1].recv(1000)
                accepted[-1].sendall(reply)
                accepted[-1].close()

        thread = threading.Thread(target=serve, args=(2,))
        thread.start()
        assert wire.request("GET", "/") == (200, b"ok")
        assert wire.request("POST", "/", b"{}") == (200, b"ok")
        thread.join()
        wire.close()
        with pytest.raises(ConnectionError, match="closed"):
            wire.request("GET", "/")
