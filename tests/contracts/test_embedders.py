"""The contract of every embedder."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from mem_search.contracts import Embedder
from mem_search.embedders import large, open_embedder
from mem_search.embedders.hashing import HashingEmbedder
from mem_search.errors import ModelUnavailable

TEXTS = ["auth token expired", "日本語 🎉", "", "bread", "a longer text about many things " * 20]


class _Handler(BaseHTTPRequestHandler):
    """An OpenAI-compatible endpoint that serves hashing vectors, not of unit length."""

    def do_POST(self) -> None:
        texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
        rows = (HashingEmbedder().embed(texts) * 3).tolist()
        reply = {"data": [{"index": i, "embedding": row} for i, row in enumerate(rows)]}
        content = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: object) -> None:
        """Keep the test's output clean."""


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


def large_is_installed() -> bool:
    try:
        large.parts()
    except ModelUnavailable:
        return False
    return True


@pytest.fixture(scope="module", params=["bundled", "hashing", "large", "openai"])
def embedder(
    request: pytest.FixtureRequest, endpoint: str, tmp_path_factory: pytest.TempPathFactory
) -> Embedder:
    if request.param == "large" and not large_is_installed():
        pytest.skip("the packages of the large model are not installed")
    setting = f"openai:fake@{endpoint}" if request.param == "openai" else request.param
    models_dir: Path = tmp_path_factory.mktemp("models")
    return open_embedder(setting, models_dir, environ={})


def test_each_text_has_a_row_of_unit_length(embedder: Embedder) -> None:
    vectors = embedder.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), embedder.dimensions)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_no_texts_have_no_rows(embedder: Embedder) -> None:
    vectors = embedder.embed([])
    assert vectors.shape == (0, embedder.dimensions)
    assert vectors.dtype == np.float32


def test_the_same_texts_have_the_same_vectors(embedder: Embedder) -> None:
    assert np.array_equal(embedder.embed(TEXTS), embedder.embed(TEXTS))


def test_a_text_has_the_same_vector_alone_and_in_company(embedder: Embedder) -> None:
    together = embedder.embed(TEXTS)
    alone = np.concatenate([embedder.embed([text]) for text in TEXTS])
    assert (together * alone).sum(axis=1).min() > 0.999


def test_it_has_a_name_and_a_fingerprint(embedder: Embedder) -> None:
    assert embedder.name
    assert embedder.fingerprint
