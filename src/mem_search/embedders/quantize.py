"""Rewrite a graph that stores int8 weights and computes in floats into one computing in int8.

The pinned weights keep each matrix as int8 with one float scale a column, and turn it into
floats (``Cast``, ``Mul``) before a float ``MatMul``: small on disk, full size in memory, no
faster. Here the same int8 numbers are multiplied as they are:

    x ─ MatMul(x, Mul(Cast(W), scale))                                        before
    x ─ peak = max |row of x| ─ u8 = QuantizeLinear(x / peak) ─ MatMulInteger(u8, W)
      ─ Cast ─ Mul(scale / 127) ─ Mul(peak)                                   after

and the embedding tables are read a row at a time as int8. Nothing is quantized anew, so no
calibration: only the inputs of the products are rounded, each token's to its own peak.
ONNX's shorter ``DynamicQuantizeLinear`` takes one scale for the whole batch; with it a text's
vector depends on its neighbours and on padding (cosine .98 between the same text alone and in
company). With one scale a token it does not, and vectors stay closer to the float graph
(cosine .998 against .994) for about a tenth of the speed.

This module knows graphs only. Which graph a machine gets is decided in ``weights``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

VERSION: Final = 1
"""Raised when the rewritten graph changes, so that cached ones are built again."""

_STEPS = 127
"""Magnitudes an activation can take: unsigned 8 bits around a zero point of 128."""


def compute_in_int8(source: Path) -> bytes:
    """The model at ``source`` rewritten, serialized. Same inputs and outputs, same weights.

    Takes about a second and four times the file in memory. Raises ValueError when the file
    has no such products or cannot be rewritten, and ImportError without the ``onnx`` package.
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
        """The int8 tensor and the scale behind ``name``, if that is how it is made."""
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
        """uint8 rows of the activation ``name`` and their peaks; once for all its readers."""
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
        """The column scales with the step of the activations folded in."""
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
        """Write the nodes and constants that something still reads."""
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
