"""Chroma's default embedding function, for stores that must match it exactly.

It runs all-MiniLM-L6-v2 in floats and downloads the model at its first use. ``bundled`` is the
same model, faster and offline, but its rounded weights make it another vector space.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np

from mem_search.contracts import Vectors
from mem_search.errors import ModelUnavailable
from mem_search.install_command import install_command

_NEXT_STEP = "use the bundled model instead: MEM_SEARCH_EMBEDDER=bundled"


class ChromaDefaultEmbedder:
    """Loads at the first ``embed``. Calls are serialized: Chroma does not promise thread safety."""

    name: str = "chroma-default"
    dimensions: int = 384
    fingerprint: str = "chroma-default:all-MiniLM-L6-v2"

    def __init__(self) -> None:
        try:
            from chromadb.utils.embedding_functions import DefaultEmbeddingFunction
        except ImportError as error:
            raise ModelUnavailable(
                f"chromadb cannot be loaded ({error}); run: {install_command('chromadb')}"
            ) from error
        self._function = DefaultEmbeddingFunction()
        self._running = threading.Lock()

    def embed(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        try:
            with self._running:
                rows = self._function(list(texts))
        except Exception as error:  # downloads, archives and ONNX have classes of their own
            raise ModelUnavailable(
                f"Chroma's default model is not available ({error}); {_NEXT_STEP}"
            ) from error
        vectors = np.asarray(rows, np.float32)
        unit: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit
