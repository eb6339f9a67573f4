"""A language model behind a real HTTP server on loopback, with a fixture ``model``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from local_server import Handler, serving


class Model:
    """Answers each request with ``answer(path, body)``, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any], dict[str, str]]] = []
        self.answer: Callable[[dict[str, Any]], tuple[int, object]] = lambda _: chat({})
        self.base = ""


def chat(facts: object, tokens: int = 100) -> tuple[int, object]:
    """A reply in the shape of OpenAI."""
    said = facts if isinstance(facts, str) else json.dumps(facts)
    return 200, {"choices": [{"message": {"content": said}}], "usage": {"total_tokens": tokens}}


@pytest.fixture
def model() -> Iterator[Model]:
    model = Model()

    class Answering(Handler):
        def do_POST(self) -> None:
            body = json.loads(self.given())
            model.asked.append((self.path, body, dict(self.headers)))
            status, reply = model.answer(body)
            content = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
            elsewhere = {"Location": "http://127.0.0.1:9/"} if 300 <= status < 400 else {}
            self.reply(content, status, **elsewhere)

    with serving(Answering) as server:
        model.base = f"{server.url}/v1"
        yield model
