"""Any text model of the optional package fastembed, which downloads it at its first use.

Models are kept in ``models_dir/fastembed``. The vector space has the name of the model, because
fastembed pins the weights behind each name.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from mem_search.contracts import Vectors
from mem_search.errors import ModelUnavailable
from mem_search.install_command import install_command

DEFAULT_MODEL: Final = "BAAI/bge-small-en-v1.5"


class FastembedEmbedder:
    """Loads the model at once, because only the model knows its dimensions."""

    def __init__(self, models_dir: Path, model: str = DEFAULT_MODEL) -> None:
        try:
            from fastembed import TextEmbedding
        except ImportError as error:
            raise ModelUnavailable(
                f"fastembed cannot be loaded ({error}); "
                f"run: {install_command('mem-search[fastembed]')}"
            ) from error
        self.name: str = model
        self._running = threading.Lock()
        try:
            self._model = TextEmbedding(model, cache_dir=str(models_dir / "fastembed"))
        except Exception as error:  # hub, disk and ONNX have classes of their own
            raise self._failure(error) from error
        self.dimensions: int = self._run(["dimensions"]).shape[1]
        self.fingerprint: str = f"fastembed:{model}:{self.dimensions}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        return self._run(texts)

    def _run(self, texts: Sequence[str]) -> Vectors:
        try:
            with self._running:
                rows = list(self._model.embed(list(texts)))
        except Exception as error:  # as above
            raise self._failure(error) from error
        vectors = np.asarray(rows, np.float32)
        unit: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit

    def _failure(self, error: Exception) -> ModelUnavailable:
        return ModelUnavailable(
            f"fastembed cannot use {self.name} ({error}); check the name and the network, "
            "or set MEM_SEARCH_EMBEDDER=bundled"
        )
