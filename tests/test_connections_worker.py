"""A real worker under slow, idle and many sockets: it answers, and its log stays short."""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from http.client import HTTPConnection
from pathlib import Path

import pytest

from homes import Home, make
from patience import PATIENCE, until

pytestmark = pytest.mark.worker

FILES = 256


@pytest.fixture
def limited(tmp_path: Path) -> Iterator[Home]:
    """A worker that may open 256 files, and waits only for seconds."""
    home = make(
        tmp_path,
        MEM_SEARCH_EMBEDDER="hashing",
        MEM_SEARCH_CHROMA_URL="off",
        MEM_SEARCH_HEADER_TIMEOUT="2",
        MEM_SEARCH_IDLE_TIMEOUT="3",
    )
    yield home
    home.end()


def start(home: Home) -> None:
    """``worker start`` with ``ulimit -n``, which the worker inherits."""
    limited = f'ulimit -n {FILES} && exec "$@"'
    command = [sys.executable, "-m", "mem_search", "worker", "start"]
    subprocess.run(
        ["/bin/sh", "-c", limited, "sh", *command],
        env=home.environ, check=True, capture_output=True, cwd=home.path.parent,
    )  # fmt: skip


def port(home: Home) -> int:
    return int(str(home.worker()["port"]))


def opened(home: Home, first: bytes = b"") -> socket.socket:
    """A connection that has sent ``first`` and no more."""
    connection = socket.create_connection(("127.0.0.1", port(home)), timeout=PATIENCE)
    if first:
        connection.sendall(first)
    return connection


def answer(home: Home, path: str, seconds: float = PATIENCE) -> int:
    """The status of one request of somebody who comes only now; refused ones come again."""
    deadline = time.monotonic() + seconds
    while True:
        connection = HTTPConnection("127.0.0.1", port(home), timeout=seconds)
        try:
            connection.request("GET", path, headers=home.token())
            with connection.getresponse() as reply:
                reply.read()
                if reply.status != 503:
                    return reply.status
                assert reply.getheader("Retry-After")
        finally:
            connection.close()
        assert time.monotonic() < deadline
        time.sleep(0.05)


def everything(connection: socket.socket) -> bytes:
    """What comes until the worker closes it."""
    said = b""
    while data := connection.recv(4096):
        said += data
    return said


STARTS = {
    "silent": "",
    "half a head": "GET /health HTTP/1.1\r\nHost: {host}\r\nX-Slow: ",
    "half a body": "POST {route} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n"
    "Content-Type: application/x-ndjson\r\nContent-Length: 100000\r\n\r\n{{",
    "answered": "GET /health HTTP/1.1\r\nHost: {host}\r\n\r\n",
}


def start_of(home: Home, name: str) -> bytes:
    token = (home.path / "token").read_text().strip()
    host = f"127.0.0.1:{port(home)}"
    return STARTS[name].format(host=host, token=token, route="/api/import/jsonl").encode()


@pytest.mark.parametrize("name", STARTS)
def test_fifteen_hundred_sockets_leave_health_and_search_answering(
    limited: Home, name: str
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limited.environ.update(MEM_SEARCH_HEADER_TIMEOUT="600", MEM_SEARCH_IDLE_TIMEOUT="600")
    start(limited)
    first = start_of(limited, name)
    with ExitStack() as stack:
        if soft < 2000:
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
            stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        for n in range(1500):
            try:
                stack.enter_context(opened(limited, first))
            except ConnectionError:  # it made room for others at once
                continue
            if n % 300 == 299:
                assert answer(limited, "/health") == 200
                assert answer(limited, "/api/search?query=anything") == 200
        files = len(list(Path(f"/proc/{limited.pid()}/fd").iterdir()))
        assert files < FILES
    assert answer(limited, "/health") == 200
    log = (limited.path / "logs" / "worker.log").read_text()
    assert len(log.splitlines()) < 20, log[-2000:]


def test_what_waits_too_long_is_closed_and_told_why(limited: Home) -> None:
    limited.ok("worker", "start")
    with opened(limited, start_of(limited, "half a head")) as slow:
        assert everything(slow).startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    with opened(limited) as silent:
        assert everything(silent).startswith(b"HTTP/1.1 408 ")
    with opened(limited, start_of(limited, "answered")) as kept:
        said = everything(kept)  # an idle connection is only closed
        assert said.startswith(b"HTTP/1.1 200 OK\r\n")
        assert said.count(b"HTTP/1.1") == 1
    with (
        opened(limited, start_of(limited, "half a body")) as stopped,
        suppress(ConnectionResetError),
    ):
        assert everything(stopped) == b""
    until(lambda: not list((limited.path / "spool").glob("*")))  # nothing of the half body stays


def test_a_connection_in_use_stays_open_beyond_the_limits(limited: Home) -> None:
    limited.ok("worker", "start")
    connection = HTTPConnection("127.0.0.1", port(limited), timeout=PATIENCE)
    connection.connect()
    before = connection.sock
    end = time.monotonic() + 5
    while time.monotonic() < end:
        connection.request("GET", "/health")
        with connection.getresponse() as reply:
            assert reply.read()
        time.sleep(0.1)
    assert connection.sock is before
    connection.close()
