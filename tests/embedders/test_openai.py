"""The endpoint client against a real HTTP server: batches, retries, errors, secrecy."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from local_server import Handler, Server, serving
from mem_search.embedders.openai import DEFAULT_BASE, OpenAIEmbedder, parse_setting
from mem_search.errors import InputError, ModelUnavailable

KEY = "sk-very-secret"
Answer = tuple[int, Any]


class Endpoint:
    """Answers each request with ``answer(texts, headers)``, and remembers what it was asked."""

    def __init__(self) -> None:
        self.requests: list[tuple[dict[str, Any], dict[str, str]]] = []
        self.answer: Callable[[list[str]], Answer] = lambda texts: (200, vectors_of(texts))
        self.headers: dict[str, str] = {}
        self.server: Server
        self.base = ""

    def connect(self, **options: Any) -> OpenAIEmbedder:
        return OpenAIEmbedder.connect("small", self.base, **{"api_key": KEY, **options})


def vectors_of(texts: list[str]) -> dict[str, Any]:
    """Three numbers a text, in reverse order, as an endpoint may send them."""
    rows = [{"index": i, "embedding": [len(t), 1, 2]} for i, t in enumerate(texts)]
    return {"data": rows[::-1]}


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    endpoint = Endpoint()

    class Answering(Handler):
        def do_POST(self) -> None:
            body = json.loads(self.given())
            endpoint.requests.append((body, dict(self.headers)))
            status, reply = endpoint.answer(body["input"])
            content = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
            is_known = self.path == "/v1/embeddings"
            self.reply(content, status if is_known else 404, **endpoint.headers)

    with serving(Answering) as endpoint.server:
        endpoint.base = f"{endpoint.server.url}/v1"
        yield endpoint


def test_the_first_reply_teaches_the_dimensions(endpoint: Endpoint) -> None:
    embedder = endpoint.connect()
    port = endpoint.server.server_port
    assert embedder.dimensions == 3
    assert embedder.fingerprint == f"openai:small@127.0.0.1:{port}:3"


def test_rows_come_back_in_the_order_of_the_texts(endpoint: Endpoint) -> None:
    vectors = endpoint.connect().embed(["a", "bbbb"])
    expected = np.array([[1, 1, 2], [4, 1, 2]], np.float32)
    assert np.allclose(vectors, expected / np.linalg.norm(expected, axis=1, keepdims=True))


def test_many_texts_are_sent_in_several_requests(endpoint: Endpoint) -> None:
    assert endpoint.connect().embed(["x"] * 150).shape == (150, 3)
    assert [len(body["input"]) for body, _ in endpoint.requests] == [1, 64, 64, 22]


def test_the_key_is_sent_as_a_bearer_token(endpoint: Endpoint) -> None:
    endpoint.connect()
    assert endpoint.requests[0][1]["Authorization"] == f"Bearer {KEY}"


def test_without_a_key_none_is_sent(endpoint: Endpoint) -> None:
    endpoint.connect(api_key="")
    assert "Authorization" not in endpoint.requests[0][1]


def test_empty_texts_are_sent_as_something_the_endpoint_takes(endpoint: Endpoint) -> None:
    endpoint.connect().embed(["", "a"])
    assert endpoint.requests[-1][0]["input"] == [" ", "a"]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_passing_failure_is_tried_again(endpoint: Endpoint, status: int) -> None:
    embedder = endpoint.connect()
    failures = iter([(status, {"error": {"message": "busy"}})])
    endpoint.answer = lambda texts: next(failures, (200, vectors_of(texts)))
    assert embedder.embed(["a"]).shape == (1, 3)
    assert len(endpoint.requests) == 3


def test_patience_ends(endpoint: Endpoint) -> None:
    endpoint.answer = lambda _: (503, {"error": "overloaded"})
    with pytest.raises(ModelUnavailable, match=r"503 \(overloaded\)"):
        endpoint.connect(patience=0.7)
    # A busy machine may need the whole patience for the first request.
    assert len(endpoint.requests) in (1, 2)


def test_a_wait_longer_than_the_patience_is_not_waited(endpoint: Endpoint) -> None:
    endpoint.answer = lambda _: (429, {})
    endpoint.headers = {"Retry-After": "3600"}
    with pytest.raises(ModelUnavailable, match="429"):
        endpoint.connect()
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize(
    ("status", "step"),
    [(401, "OPENAI_API_KEY"), (404, "check the model and the base URL"), (400, "check the model")],
)
def test_a_lasting_failure_says_the_next_step_at_once(
    endpoint: Endpoint, status: int, step: str
) -> None:
    endpoint.answer = lambda _: (status, {"error": {"message": f"no, not with {KEY}"}})
    with pytest.raises(ModelUnavailable, match=step) as caught:
        endpoint.connect()
    assert f"status {status}" in str(caught.value)
    assert KEY not in str(caught.value)
    assert len(endpoint.requests) == 1


def test_a_redirect_is_refused_because_it_would_send_the_key_elsewhere(endpoint: Endpoint) -> None:
    endpoint.answer = lambda _: (307, b"")
    endpoint.headers = {"Location": endpoint.base + "/elsewhere"}
    with pytest.raises(ModelUnavailable, match="redirects are not followed"):
        endpoint.connect()
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize(
    "reply",
    [
        {"data": []},
        {"data": [{"index": 0, "embedding": []}]},
        {"data": [{"index": 0, "embedding": ["a"]}]},
        {"data": [{"index": 0, "embedding": [0, 0, 0]}]},
        {"data": [{"index": 0, "embedding": [1, None, 3]}]},
        {"nothing": True},
        [],
    ],
)
def test_a_reply_that_is_no_embedding_is_refused(endpoint: Endpoint, reply: Any) -> None:
    endpoint.answer = lambda _: (200, reply)
    with pytest.raises(ModelUnavailable, match="embedding endpoint"):
        endpoint.connect()


def test_a_reply_that_is_no_json_is_refused(endpoint: Endpoint) -> None:
    endpoint.answer = lambda _: (200, b"<html>")
    with pytest.raises(ModelUnavailable, match="no usable answer"):
        endpoint.connect(patience=0.1)


def test_other_dimensions_than_before_are_refused(endpoint: Endpoint) -> None:
    embedder = endpoint.connect()
    endpoint.answer = lambda _: (200, {"data": [{"index": 0, "embedding": [1, 2]}]})
    with pytest.raises(ModelUnavailable, match="model changed"):
        embedder.embed(["a"])


def test_an_endpoint_that_is_down_is_unavailable() -> None:
    with pytest.raises(ModelUnavailable, match="no usable answer"):
        OpenAIEmbedder.connect("small", "http://127.0.0.1:9/v1", patience=0.1)


def test_the_public_endpoint_needs_a_key() -> None:
    with pytest.raises(ModelUnavailable, match="set OPENAI_API_KEY"):
        OpenAIEmbedder.connect("small")


@pytest.mark.parametrize(
    ("detail", "expected"),
    [
        ("small", ("small", DEFAULT_BASE)),
        ("small@http://localhost:1/v1", ("small", "http://localhost:1/v1")),
        ("@cf/bge@https://host/v1", ("@cf/bge", "https://host/v1")),
        ("org/model:free", ("org/model:free", DEFAULT_BASE)),
    ],
)
def test_a_setting_names_model_and_base(detail: str, expected: tuple[str, str]) -> None:
    assert parse_setting(detail) == expected


@pytest.mark.parametrize("detail", ["", "small@localhost:1", "a b"])
def test_a_setting_that_cannot_be_read_is_an_input_error(detail: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_setting(detail)
    assert caught.value.field == "embedder"


@pytest.mark.parametrize("base", ["http://me:pw@host/v1", "http://host:99999999/v1", "https:///v1"])
def test_a_base_url_that_cannot_be_used_is_an_input_error(base: str) -> None:
    with pytest.raises(InputError) as caught:
        OpenAIEmbedder("small", base)
    assert "pw" not in str(caught.value)
