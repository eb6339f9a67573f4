"""A tiny cross-encoder, and a real endpoint of each wire shape; both count the word "good"."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, helper
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from local_server import Handler, serving

VOCABULARY = {"[UNK]": 0, "[PAD]": 1, "good": 2}


def tiny_model(directory: Path) -> Path:
    """``directory`` with a model whose logit is the number of "good" in the second text."""
    directory.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer(models.WordLevel(VOCABULARY, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(single="$A:0", pair="$A:0 $B:1")
    tokenizer.save(str(directory / "tokenizer.json"))
    names = ("input_ids", "attention_mask", "token_type_ids")
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "t"]) for name in names]
    graph = helper.make_graph(
        [
            helper.make_node("Gather", ["weights", "input_ids"], ["value"]),
            helper.make_node("Mul", ["attention_mask", "token_type_ids"], ["second"]),
            helper.make_node("Cast", ["second"], ["mask"], to=TensorProto.FLOAT),
            helper.make_node("Mul", ["value", "mask"], ["kept"]),
            helper.make_node("ReduceSum", ["kept", "axis"], ["logits"], keepdims=1),
        ],
        "tiny",
        inputs,
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", 1])],
        [
            helper.make_tensor("weights", TensorProto.FLOAT, [3], [0.0, 0.0, 1.0]),
            helper.make_tensor("axis", TensorProto.INT64, [1], [1]),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.save(model, str(directory / "model.onnx"))
    return directory


class Endpoint:
    """What the server got, and how it answers."""

    def __init__(self, shape: str) -> None:
        self.shape = shape
        self.url = ""
        self.requests: list[tuple[dict[str, str], dict[str, Any]]] = []
        self.status = 200
        self.raw: bytes | None = None
        self.wait = 0.0

    def reply(self, body: dict[str, Any]) -> Any:
        texts = body["texts" if self.shape == "tei" else "documents"]
        key = "score" if self.shape == "tei" else "relevance_score"
        rows = [
            {"index": at, key: float(text.split().count("good"))} for at, text in enumerate(texts)
        ]
        rows.sort(key=lambda row: -row[key])
        return {"tei": rows, "voyage": {"data": rows}}.get(self.shape, {"results": rows})


@contextmanager
def endpoint(shape: str) -> Iterator[Endpoint]:
    """A server of ``shape`` on loopback."""
    state = Endpoint(shape)

    class Answering(Handler):
        def do_POST(self) -> None:
            body = json.loads(self.given())
            state.requests.append((dict(self.headers), body))
            time.sleep(state.wait)
            content = json.dumps(state.reply(body)).encode() if state.raw is None else state.raw
            self.reply(content, state.status, Location="http://127.0.0.1:1/")

    with serving(Answering) as server:
        state.url = f"{server.url}/rerank"
        yield state
