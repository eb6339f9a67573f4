"""HTTP servers on loopback: a handler says what they answer, and each ends with its block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

POLL_SECONDS = 0.01
"""How often a server looks whether it is to end; by itself it does so every half second."""


class Handler(BaseHTTPRequestHandler):
    """Writes nothing to the output of the test."""

    def given(self) -> bytes:
        """The body of the request."""
        return self.rfile.read(int(self.headers["Content-Length"]))

    def reply(self, content: bytes, status: int = 200, **headers: str) -> None:
        """Answer; ``Content_Type`` is the header ``Content-Type``."""
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Server(ThreadingHTTPServer):
    """A port of this machine that nobody else has."""

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def running(server: ThreadingHTTPServer) -> Iterator[None]:
    """It answers until the block ends, and its port is free then."""
    with server:
        thread = Thread(target=server.serve_forever, args=(POLL_SECONDS,))
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[Server]:
    with running(server := Server(handler)):
        yield server
