"""Cross-encoders of two optional packages, by the name of a model or its local directory."""

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
