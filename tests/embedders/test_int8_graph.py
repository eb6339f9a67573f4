"""The rewritten graph computes what the float graph computes, in integers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from mem_search.embedders.weights import compute_in_int8, has_dot_products, pinned_weights

RNG = np.random.default_rng(7)

EXACT = has_dot_products()
"""Whether this processor multiplies signed weights exactly."""


def graph(tmp_path: Path, *, quantized: bool = True) -> Path:
    """A table of 10 rows, looked up, then two products reading the same activation."""
    make = helper.make_node
    table = RNG.integers(-127, 128, (10, 16), np.int8)
    left, right = RNG.integers(-127, 128, (2, 16, 8), np.int8)
    scales = {
        "table_s": RNG.random((10, 1), np.float32) / 100,
        "left_s": RNG.random((1, 8), np.float32) / 100,
        "right_s": RNG.random((1, 8), np.float32) / 100,
    }
    stored = {"table": table, "left": left, "right": right}
    constants = {**scales, **{f"{k}_q": v if quantized else v * 1.0 for k, v in stored.items()}}
    if not quantized:
        constants = {k: v.astype(np.float32) for k, v in constants.items()}
    nodes = []
    for name in stored:
        nodes.append(make("Cast", [f"{name}_q"], [f"{name}_f"], to=TensorProto.FLOAT))
        nodes.append(make("Mul", [f"{name}_f", f"{name}_s"], [name]))
    nodes += [
        make("Gather", ["table", "ids"], ["x"]),
        make("MatMul", ["x", "left"], ["a"]),
        make("MatMul", ["x", "right"], ["b"]),
        make("Add", ["a", "b"], ["out"]),
    ]
    width = 8 if quantized else 16
    if not quantized:
        nodes = [make("Gather", ["table_q", "ids"], ["out"])]
    model = helper.make_model(
        helper.make_graph(
            nodes,
            "small",
            [helper.make_tensor_value_info("ids", TensorProto.INT64, ["rows", "tokens"])],
            [helper.make_tensor_value_info("out", TensorProto.FLOAT, ["rows", "tokens", width])],
            [numpy_helper.from_array(v, k) for k, v in constants.items()],
        ),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=10,
    )
    file = tmp_path / "small.onnx"
    onnx.save(model, str(file))
    return file


def run(model: bytes, ids: list[list[int]]) -> np.ndarray:
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    return session.run(None, {"ids": np.array(ids, np.int64)})[0]


def test_results_agree_with_the_float_graph(tmp_path: Path) -> None:
    file = graph(tmp_path)
    ids = [[1, 2, 3], [4, 5, 9]]
    before, after = run(file.read_bytes(), ids), run(compute_in_int8(file, signed=EXACT), ids)
    assert np.abs(before - after).max() < 0.02 * np.abs(before).max()


def test_the_largest_products_do_not_saturate(tmp_path: Path) -> None:
    """Two times 255 × 127 is more than 16 bits hold; this product is the same in floats."""
    file = graph(tmp_path)
    model = onnx.load(str(file))
    for tensor in model.graph.initializer:
        if tensor.data_type == TensorProto.INT8:
            largest = np.full(tuple(tensor.dims), 127, np.int8)
            tensor.CopyFrom(numpy_helper.from_array(largest, tensor.name))
    onnx.save(model, str(file))
    before = run(file.read_bytes(), [[1, 2]])
    for signed in {False, EXACT}:
        after = run(compute_in_int8(file, signed=signed), [[1, 2]])
        assert np.allclose(before, after, rtol=1e-5)


def test_unsigned_weights_give_the_products_of_signed_ones(tmp_path: Path) -> None:
    file = graph(tmp_path)
    before = run(file.read_bytes(), [[1, 2, 3], [4, 5, 9]])
    after = run(compute_in_int8(file, signed=False), [[1, 2, 3], [4, 5, 9]])
    assert np.abs(before - after).max() < 0.02 * np.abs(before).max()
    model = onnx.load_from_string(compute_in_int8(file, signed=False))
    unsigned = [each for each in model.graph.initializer if each.name.endswith("_unsigned")]
    assert [each.data_type for each in unsigned] == [TensorProto.UINT8] * 2


def test_a_row_does_not_depend_on_its_neighbours(tmp_path: Path) -> None:
    model = compute_in_int8(graph(tmp_path), signed=EXACT)
    assert np.array_equal(run(model, [[1, 2], [8, 9]])[0], run(model, [[1, 2]])[0])


def test_no_float_copy_of_the_weights_is_left(tmp_path: Path) -> None:
    model = onnx.load_from_string(compute_in_int8(graph(tmp_path), signed=EXACT))
    kinds = [node.op_type for node in model.graph.node]
    assert kinds.count("MatMulIntegerToFloat") == 2
    assert kinds.count("QuantizeLinear") == 1
    assert "MatMul" not in kinds


def test_attention_and_gelu_of_the_model_are_one_operation_each() -> None:
    model = onnx.load_from_string(compute_in_int8(pinned_weights(), signed=EXACT))
    kinds = Counter(node.op_type for node in model.graph.node)
    assert (kinds["MultiHeadAttention"], kinds["Gelu"], kinds["MatMulIntegerToFloat"]) == (6, 6, 36)
    assert not {"MatMul", "Softmax", "Erf", "Reshape", "Transpose"} & kinds.keys()


def test_building_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    file = graph(tmp_path)
    assert compute_in_int8(file, signed=EXACT) == compute_in_int8(file, signed=EXACT)


def test_a_graph_without_int8_products_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no matrix product"):
        compute_in_int8(graph(tmp_path, quantized=False), signed=EXACT)
