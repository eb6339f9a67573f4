"""Caps of connections: who is idle makes room, who is not stays, and the rest are refused."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import socket
import tempfile
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from mem_search.http.core.connections import (
    Connection,
    Connections,
    Limits,
    connection_of,
    in_progress,
)
from mem_search.settings import Settings
from patience import PATIENCE

BUSY = b"GET /busy HTTP/1.1\r\nHost: x\r\n\r\n"
QUICK = b"GET /quick HTTP/1.1\r\nHost: x\r\n\r\n"


class Served:
    """Three connections, of which two of one address; ``/busy`` waits for ``go_on``."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()
        self.busy = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.setblocking(False)
        self.port = self.listener.getsockname()[1]
        self.folder = tempfile.TemporaryDirectory()  # short, as the path of a socket has to be
        self.path = f"{self.folder.name}/s"
        self.local = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.local.bind(self.path)
        self.local.listen()
        self.local.setblocking(False)

    async def start(self) -> None:
        async def busy(_: web.Request) -> web.Response:
            self.busy += 1
            await self.go_on.wait()
            return web.Response(text="at last")

        async def quick(_: web.Request) -> web.Response:
            return web.Response(text="quick")

        async def upload(request: web.Request) -> web.Response:
            try:
                read = await request.read() if request.can_read_body else b"none"
                return web.Response(text=read.decode())
            except web.RequestPayloadError:
                return web.Response(status=400)

        async def stream(request: web.Request) -> web.Response:
            self.busy += 1
            connection = connection_of(request)
            assert connection is not None
            connection.stream()
            try:
                await self.go_on.wait()
            finally:
                self.busy -= 1
            return web.Response()

        app = web.Application(middlewares=[in_progress])
        app.router.add_get("/busy", busy)
        app.router.add_get("/quick", quick)
        app.router.add_post("/upload", upload)
        app.router.add_get("/stream", stream)
        self.runner = web.AppRunner(app, shutdown_timeout=1)
        await self.runner.setup()
        assert self.runner.server is not None
        self.connections = Connections(
            [self.listener, self.local], self.runner.server, Limits(3, 2, 60, 60)
        )
        self.connections.start()

    async def close(self) -> None:
        self.go_on.set()
        self.connections.close()
        await self.runner.cleanup()
        self.folder.cleanup()

    async def connect(
        self, first: bytes = b"", address: str = "127.0.0.1"
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self.port, local_addr=(address, 0)
        )
        writer.write(first)
        return reader, writer

    async def until_busy(self, count: int) -> None:
        async with asyncio.timeout(PATIENCE):
            while self.busy < count:  # noqa: ASYNC110  it asks from outside
                await asyncio.sleep(0.01)


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    served = Served()
    await served.start()
    yield served
    await served.close()


async def status(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(PATIENCE):
        return (await reader.readline()).split()[1]


async def test_while_all_are_busy_a_new_one_is_refused_with_the_time_to_come_again(
    served: Served,
) -> None:
    held = [await served.connect(BUSY) for _ in range(2)]
    await served.until_busy(2)
    refused, writer = await served.connect(QUICK)
    said = await asyncio.wait_for(refused.read(), PATIENCE)
    writer.close()
    assert said.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
    assert b"\r\nRetry-After: 1\r\n" in said
    assert b"application/problem+json" in said
    served.go_on.set()
    for reader, writer in held:
        assert await status(reader) == b"200"
        writer.close()


@pytest.mark.parametrize(
    ("head", "status", "code", "step"),
    [
        ("GET / HTTP/1.1\r\nAuthorization: s3cr3t" + "a" * 9000, 431, "head_too_large", "shorter"),
        ("GET /s3cr3t" + "a" * 9000 + " HTTP/1.1\r\nHost: x", 431, "head_too_large", "shorter"),
        ("GET / HTTP/1.1\r\nbad s3cr3t: x", 400, "bad_request", "RFC 9112"),
        ("s3cr3t", 400, "bad_request", "RFC 9112"),
    ],
)
async def test_what_is_no_request_gets_a_problem_with_the_next_step_and_is_not_quoted(
    served: Served, caplog: pytest.LogCaptureFixture, head: str, status: int, code: str, step: str
) -> None:
    reader, writer = await served.connect(f"{head}\r\n\r\n".encode())
    said = await asyncio.wait_for(reader.read(), PATIENCE)
    writer.close()
    top, _, body = said.partition(b"\r\n\r\n")
    assert b"application/problem+json" in top
    problem = json.loads(body)
    assert (problem["status"], problem["code"]) == (status, code)
    assert top.split()[1] == str(status).encode()
    assert step in problem["detail"]
    assert b"s3cr3t" not in said
    assert "s3cr3t" not in caplog.text


async def test_one_address_leaves_room_for_others(served: Served) -> None:
    held = [await served.connect(BUSY) for _ in range(2)]
    await served.until_busy(2)
    reader, writer = await served.connect(QUICK, address="127.0.0.2")
    assert await status(reader) == b"200"
    for _, each in [*held, (reader, writer)]:
        each.close()


async def test_the_unix_socket_has_the_cap_of_an_address_and_a_share_of_the_whole(
    served: Served,
) -> None:
    held = [await asyncio.open_unix_connection(served.path) for _ in range(2)]
    for _, writer in held:
        writer.write(BUSY)
    await served.until_busy(2)
    refused, third = await asyncio.open_unix_connection(served.path)
    assert await status(refused) == b"503"
    busy, fourth = await served.connect(BUSY)  # another address
    await served.until_busy(3)
    full, fifth = await served.connect(QUICK)
    assert await status(full) == b"503"
    served.go_on.set()
    for reader, _ in [*held, (busy, fourth)]:
        assert await status(reader) == b"200"
    for writer in (*(each for _, each in held), third, fourth, fifth):
        writer.close()


async def test_the_longest_idle_one_makes_room_and_is_told_why(served: Served) -> None:
    oldest, first = await served.connect()
    busy, second = await served.connect(BUSY)
    await served.until_busy(1)
    newest, third = await served.connect(QUICK)
    assert await status(newest) == b"200"
    assert (await asyncio.wait_for(oldest.read(), PATIENCE)).startswith(b"HTTP/1.1 503 ")
    served.go_on.set()
    assert await status(busy) == b"200"
    for writer in (first, second, third):
        writer.close()


async def test_without_descriptors_it_pauses_and_logs_once(
    served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asked, are_out = 0, True

    class Exhausted:
        def fileno(self) -> int:
            return served.listener.fileno()

        def accept(self) -> tuple[socket.socket, object]:
            nonlocal asked
            asked += 1
            if are_out:
                raise OSError(errno.EMFILE, "Too many open files")
            return served.listener.accept()

    caplog.set_level(logging.WARNING)
    served.connections._resume(Exhausted())  # type: ignore[arg-type]
    reader, writer = await served.connect(QUICK)
    await asyncio.sleep(0.5)
    assert 0 < asked <= 20  # of each round one by the spare descriptor
    assert len(caplog.records) <= 1
    are_out = False
    assert await status(reader) == b"200"
    writer.close()


def test_the_cap_leaves_descriptors_for_the_store(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (256, 256))
    assert Limits.of(Settings(home=tmp_path)).most == 64  # type: ignore[arg-type]


async def until_left(served: Served) -> None:
    async with asyncio.timeout(PATIENCE):
        while served.connections._open:  # noqa: ASYNC110  it asks from outside
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    "path", [BUSY, QUICK, BUSY.replace(b"x\r\n", b"x\r\nAccept: */*, text/event-stream\r\n")]
)
async def test_a_client_that_ends_its_half_gets_its_reply_and_then_the_end(
    served: Served, path: bytes
) -> None:
    reader, writer = await served.connect(path)
    writer.write_eof()
    if path is not QUICK:
        await served.until_busy(1)
    served.go_on.set()
    async with asyncio.timeout(PATIENCE):
        reply = await reader.read()
    assert reply.startswith(b"HTTP/1.1 200")
    assert reply.endswith((b"at last", b"quick"))
    writer.close()


@pytest.mark.parametrize("count", [2, 100])
@pytest.mark.parametrize("first", [BUSY, QUICK])
async def test_all_requests_that_such_a_client_has_sent_are_answered(
    served: Served, first: bytes, count: int
) -> None:
    reader, writer = await served.connect(first + QUICK * count)
    writer.write_eof()
    served.go_on.set()
    async with asyncio.timeout(PATIENCE):
        reply = await reader.read()
    assert reply.count(b"HTTP/1.1 200") == 1 + count
    writer.close()
    await until_left(served)


@pytest.mark.parametrize(
    ("first", "status"),
    [
        (b"", b""),
        (QUICK, b"200"),
        (b"GET /bu", b"408"),
        (b"POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf", b"400"),
        (b"POST /upload HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nha", b"400"),
        (b"POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n", b"400"),
        (b"GET /quick HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf", b"200"),
        (b"GET /stream HTTP/1.1\r\nHost: x\r\n\r\n", b""),
    ],
)
async def test_what_cannot_be_answered_to_such_a_client_ends_its_connection(
    served: Served, first: bytes, status: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Connection, "expires", lambda *_: float("inf"))  # at once, not by the sweep
    reader, writer = await served.connect(first)
    writer.write_eof()
    async with asyncio.timeout(PATIENCE):
        reply = await reader.read()
    assert reply[9:12] == status
    await until_left(served)
    assert served.busy == 0
    writer.close()


async def test_a_stream_ends_when_its_client_leaves_though_nothing_is_sent(served: Served) -> None:
    _, writer = await served.connect(b"GET /stream HTTP/1.1\r\nHost: x\r\nAccept: */*\r\n\r\n")
    await served.until_busy(1)
    writer.close()
    async with asyncio.timeout(PATIENCE):
        while served.busy:  # noqa: ASYNC110  it asks from outside
            await asyncio.sleep(0.01)
