"""A language model behind a real HTTP server on loopback, with a fixture ``model``."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


class Model:
    """Answers each request with ``answer(path, body)``, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any], dict[str, str]]] = []
        self.answer: Callable[[dict[str, Any]], tuple[int, object]] = lambda _: chat({})
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                model.asked.append((self.path, body, dict(self.headers)))
                status, reply = model.answer(body)
                content = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
                self.send_response(status)
                if 300 <= status < 400:
                    self.send_header("Location", "http://127.0.0.1:9/")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *args: object) -> None:
                """Keep the test's output clean."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self.server.server_port}/v1"


def chat(facts: object, tokens: int = 100) -> tuple[int, object]:
    """A reply in the shape of OpenAI."""
    said = facts if isinstance(facts, str) else json.dumps(facts)
    return 200, {"choices": [{"message": {"content": said}}], "usage": {"total_tokens": tokens}}


@pytest.fixture
def model() -> Iterator[Model]:
    model = Model()
    thread = threading.Thread(target=model.server.serve_forever, args=(0.01,))
    thread.start()
    yield model
    model.server.shutdown()
    thread.join()
    model.server.server_close()
