"""The contract of every embedder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from local_server import Handler, serving
from mem_search.contracts import Embedder
from mem_search.embedders import large, open_embedder
from mem_search.embedders.hashing import HashingEmbedder
from mem_search.errors import ModelUnavailable

TEXTS = ["auth token expired", "日本語 🎉", "", "bread", "a longer text about many things " * 20]


class _Answering(Handler):
    """An OpenAI-compatible endpoint that serves hashing vectors, not of unit length."""

    def do_POST(self) -> None:
        texts = json.loads(self.given())["input"]
        rows = (HashingEmbedder().embed(texts) * 3).tolist()
        reply = {"data": [{"index": i, "embedding": row} for i, row in enumerate(rows)]}
        self.reply(json.dumps(reply).encode())


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with serving(_Answering) as server:
        yield f"{server.url}/v1"


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
