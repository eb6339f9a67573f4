"""Cross-encoders on this machine: of a directory, with the runtime that mem-search has anyway, and
of two optional packages, by the name of a model or its directory.

A directory has ``tokenizer.json`` and ``model.onnx``, or ``onnx/model.onnx``, as exports of
Hugging Face models do. Its model gives one logit a pair, or two, of which the second is relevance.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mem_search.errors import ModelUnavailable
from mem_search.install_command import install_command
from mem_search.model.rankings import Values

DEFAULT_MODEL = "Xenova/ms-marco-MiniLM-L-6-v2"


class _Packaged(ABC):
    """What both have in common: one model, one caller at a time, failures as ours."""

    _model: Any

    def __init__(self, name: str) -> None:
        self.name = name
        self._running = threading.Lock()

    def score(self, question: str, texts: Sequence[str]) -> Values:
        try:
            with self._running:
                return np.asarray(self._scores(question, texts), np.float64).reshape(len(texts))
        except Exception as error:  # each package and its runtime have classes of their own
            raise ModelUnavailable(f"{self.name} cannot score: {error}") from error

    @abstractmethod
    def _scores(self, question: str, texts: Sequence[str]) -> Any:
        """One score for each text, as the package returns them."""

    def close(self) -> None:
        """Free the model."""
        self._model = None


class FastembedReranker(_Packaged):
    """``fastembed.rerank.cross_encoder.TextCrossEncoder``; files are kept in ``models_dir``."""

    def __init__(self, models_dir: Path, model: str = "") -> None:
        super().__init__(f"fastembed:{model or DEFAULT_MODEL}")
        try:
            from fastembed.rerank.cross_encoder import TextCrossEncoder
        except ImportError as error:
            raise _missing("fastembed", "mem-search[fastembed]", error) from error
        try:
            self._model = TextCrossEncoder(
                model or DEFAULT_MODEL, cache_dir=str(models_dir / "fastembed")
            )
        except Exception as error:  # hub, disk and ONNX have classes of their own
            raise ModelUnavailable(f"{self.name} cannot be loaded: {error}") from error

    def _scores(self, question: str, texts: Sequence[str]) -> Any:
        return list(self._model.rerank(question, list(texts)))


class SentenceTransformersReranker(_Packaged):
    """``sentence_transformers.CrossEncoder``."""

    def __init__(self, model: str) -> None:
        super().__init__(f"sentence-transformers:{model}")
        try:
            from sentence_transformers import CrossEncoder
        except ImportError as error:
            raise _missing("sentence-transformers", "sentence-transformers", error) from error
        try:
            self._model = CrossEncoder(model)
        except Exception as error:  # as above
            raise ModelUnavailable(f"{self.name} cannot be loaded: {error}") from error

    def _scores(self, question: str, texts: Sequence[str]) -> Any:
        return self._model.predict([(question, text) for text in texts], show_progress_bar=False)


def _missing(package: str, install: str, error: ImportError) -> ModelUnavailable:
    return ModelUnavailable(
        f"{package} cannot be loaded ({error}); run: {install_command(install)}"
    )


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
