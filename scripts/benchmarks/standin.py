"""Vectors for a large store in seconds: a fast approximation of the bundled model's space.

Embedding 100k texts takes the model a quarter of an hour. To time a search, the index only needs
that many vectors with the same shape and spread. So the vector of a text is the mean of the
model's token vectors under a linear map that is fitted to the real vectors of a few hundred
texts. The real model always embeds the queries.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mem_search.contracts import Vectors
from mem_search.embedders.bundled import BundledEmbedder
from mem_search.embedders.weights import pinned_weights
from mem_search.text import wordpieces

SAMPLE = 800
_TOKENS = "word_embeddings.weight_q"
_SCALES = "word_embeddings.weight_scale"
_MAX_TOKENS = 256
_RIDGE = 0.02


class StandIn:
    """An Embedder that claims the space of the bundled model: never use it outside benchmarks."""

    name = BundledEmbedder.name
    dimensions = BundledEmbedder.dimensions
    fingerprint = BundledEmbedder.fingerprint

    def __init__(self, model: BundledEmbedder, sample: Sequence[str]) -> None:
        self._tokens = _token_vectors()
        real = model.embed(sample)
        means = self._means(sample)
        square = means.T @ means + _RIDGE * len(sample) * np.eye(means.shape[1])
        self._map = np.linalg.solve(square, means.T @ real).astype(np.float32)
        self.likeness = float((self.embed(sample) * real).sum(axis=1).mean())
        """Mean cosine between its vectors of the sample and the model's."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows = self._means(texts) @ self._map
        unit: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
        return unit

    def _means(self, texts: Sequence[str]) -> Vectors:
        """Unit means of token vectors, plus a constant so that no text has a zero vector."""
        rows = np.empty((len(texts), self._tokens.shape[1] + 1), np.float32)
        for row, pieces in enumerate(wordpieces.encode(texts)):
            ids = [wordpieces.START, *pieces[:_MAX_TOKENS]]
            mean = self._tokens[ids].mean(axis=0)
            rows[row, :-1] = mean / np.linalg.norm(mean)
            rows[row, -1] = 1.0
        return rows


def _token_vectors() -> Vectors:
    import onnx
    from onnx import numpy_helper

    found = {
        wanted: numpy_helper.to_array(tensor)
        for tensor in onnx.load(str(pinned_weights())).graph.initializer
        for wanted in (_TOKENS, _SCALES)
        if tensor.name.endswith(wanted)
    }
    tokens: Vectors = found[_TOKENS].astype(np.float32) * found[_SCALES]
    return tokens - tokens.mean(axis=0)
