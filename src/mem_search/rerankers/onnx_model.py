"""A cross-encoder in a local directory, with the runtime that mem-search has anyway.

The directory has ``tokenizer.json`` and ``model.onnx``, or ``onnx/model.onnx``, as exports of
Hugging Face models do. The model gives one logit a pair, or two, of which the second is relevance.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mem_search.errors import ModelUnavailable
from mem_search.model.rankings import Values

MAX_PAIR_TOKENS = 512
"""Tokens of a pair; cross-encoders are trained with so many."""

BATCH = 16
"""Pairs a run: long ones together need memory, single ones time."""


class OnnxReranker:
    """Loads the files at once, so that a wrong directory is told at the start."""

    def __init__(self, directory: Path) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        self.name = f"onnx:{directory.name}"
        files = (directory / "model.onnx", directory / "onnx" / "model.onnx")
        model = next((file for file in files if file.is_file()), None)
        if model is None or not (directory / "tokenizer.json").is_file():
            raise ModelUnavailable(
                f"{directory} has no cross-encoder; it needs model.onnx and tokenizer.json"
            )
        try:
            self._session = onnxruntime.InferenceSession(
                str(model), providers=["CPUExecutionProvider"]
            )
            self._tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
        except Exception as error:  # both have classes of their own
            raise ModelUnavailable(f"{directory} cannot be loaded: {error}") from error
        self._tokenizer.enable_truncation(MAX_PAIR_TOKENS, strategy="only_second")
        self._tokenizer.enable_padding()
        self._inputs = {given.name for given in self._session.get_inputs()}

    def score(self, question: str, texts: Sequence[str]) -> Values:
        # Texts of like length run together: the pairs of a run are padded to the longest.
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        scores = np.zeros(len(texts))
        try:
            for first in range(0, len(texts), BATCH):
                rows = order[first : first + BATCH]
                scores[rows] = self._batch(question, [texts[row] for row in rows])
        except Exception as error:  # as above; a question may be too long for a pair, too
            raise ModelUnavailable(f"{self.name} cannot score: {error}") from error
        return scores

    def _batch(self, question: str, texts: Sequence[str]) -> Values:
        pairs = self._tokenizer.encode_batch([(question, text) for text in texts])
        columns = {
            "input_ids": [pair.ids for pair in pairs],
            "attention_mask": [pair.attention_mask for pair in pairs],
            "token_type_ids": [pair.type_ids for pair in pairs],
        }
        given = {
            name: np.asarray(rows, np.int64)
            for name, rows in columns.items()
            if name in self._inputs
        }
        logits = np.asarray(self._session.run(None, given)[0], np.float64).reshape(len(texts), -1)
        return logits[:, -1]

    def close(self) -> None:
        """Does nothing: the model is freed with the object."""
