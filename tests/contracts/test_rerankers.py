"""Every reranker that runs without a download keeps the contract ``Reranker``."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from mem_search.contracts import Reranker
from mem_search.errors import InputError, ModelUnavailable
from mem_search.rerankers import open_reranker
from rerankers_for_tests import Endpoint, endpoint, tiny_model

SHAPES = ("cohere", "jina", "voyage", "tei")
KEY = "k3y-of-the-endpoint"


def setting(shape: str, url: str) -> str:
    return f"tei@{url}" if shape == "tei" else f"{shape}:some-model@{url}"


@pytest.fixture(params=("onnx", *SHAPES))
def reranker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Reranker]:
    if request.param == "onnx":
        yield open_reranker(f"onnx:{tiny_model(tmp_path / 'tiny')}", tmp_path, seconds=5)
        return
    with endpoint(request.param) as server:
        yield open_reranker(setting(request.param, server.url), tmp_path, key=KEY, seconds=5)


def test_each_text_has_its_score_in_the_order_given(reranker: Reranker) -> None:
    scores = reranker.score("good question", ["bad", "good good", "", "a good one"])
    assert scores.dtype == np.float64
    assert scores.tolist() == [0.0, 2.0, 0.0, 1.0]
    reranker.close()


def test_many_and_long_texts_are_scored(reranker: Reranker) -> None:
    texts = ["word " * 5_000, *["good"] * 49]
    assert reranker.score("q", texts).tolist() == [0.0, *[1.0] * 49]


def test_texts_of_all_lengths_have_their_own_scores(reranker: Reranker) -> None:
    texts = ["word " * (n * 37 % 50) + "good " * (n % 3) for n in range(40)]
    assert reranker.score("q", texts).tolist() == [n % 3 for n in range(40)]


def test_no_text_has_no_score(reranker: Reranker) -> None:
    assert reranker.score("q", []).shape == (0,)


def test_the_name_says_what_it_is(reranker: Reranker) -> None:
    assert reranker.name.partition(":")[0] in ("onnx", *SHAPES)


@pytest.fixture(params=SHAPES)
def server(request: pytest.FixtureRequest) -> Iterator[Endpoint]:
    with endpoint(request.param) as server:
        yield server


def test_an_endpoint_gets_what_its_api_asks_for(server: Endpoint, tmp_path: Path) -> None:
    open_reranker(setting(server.shape, server.url), tmp_path, key=KEY, seconds=5).score("q", ["a"])
    [(headers, body)] = server.requests
    assert headers["Authorization"] == f"Bearer {KEY}"
    expected = {
        "cohere": {"documents": ["a"], "top_n": 1, "model": "some-model"},
        "jina": {"documents": ["a"], "top_n": 1, "model": "some-model", "return_documents": False},
        "voyage": {"documents": ["a"], "top_k": 1, "model": "some-model"},
        "tei": {"texts": ["a"], "truncate": True},
    }
    assert body == {"query": "q", **expected[server.shape]}


@pytest.mark.parametrize(
    ("status", "raw", "said"),
    [
        (401, b"{}", "MEM_SEARCH_RERANKER_KEY"),
        (302, b"{}", "status 302"),
        (500, b"{}", "try again later"),
        (200, b"no json", "no usable answer"),
        (200, b"{}", "without a score"),
        (200, b"[]", "without a score"),
        (200, b'{"results": [{"index": 7, "relevance_score": 1}]}', "without a score"),
    ],
)
def test_an_endpoint_that_does_not_answer_is_named_without_its_key(
    server: Endpoint, tmp_path: Path, status: int, raw: bytes, said: str
) -> None:
    server.status, server.raw = status, raw
    reranker = open_reranker(setting(server.shape, server.url), tmp_path, key=KEY, seconds=5)
    with pytest.raises(ModelUnavailable) as error:
        reranker.score("q", ["a"])
    assert said in error.value.message
    assert KEY not in error.value.message
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "text",
    ["cohere", "cohere:", "tei", "tei:m@ftp://a/b", "nothing:x", "onnx:", "onnx",
     "sentence-transformers", "jina:m@http://user:pw@a.example/", "voyage:m@file:///etc/passwd"],
)  # fmt: skip
def test_a_setting_that_cannot_be_read_says_what_can(text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        open_reranker(text, tmp_path, seconds=1)
    assert error.value.field == "reranker"


@pytest.mark.parametrize("package", ["fastembed", "sentence_transformers"])
def test_a_package_that_is_absent_is_named_with_its_command(package: str, tmp_path: Path) -> None:
    if importlib.util.find_spec(package):
        pytest.skip(f"{package} is installed here")
    with pytest.raises(ModelUnavailable, match="python -m pip install"):
        open_reranker(f"{package.replace('_', '-')}:some/model", tmp_path, seconds=1)


def test_a_directory_without_a_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"model\.onnx"):
        open_reranker(f"onnx:{tmp_path}", tmp_path, seconds=1)
