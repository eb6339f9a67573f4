"""Random vectors of length one, the same for the same seed."""

from __future__ import annotations

import numpy as np

from mem_search.contracts import Vectors


def unit_vectors(count: int, dimensions: int, seed: int = 0) -> Vectors:
    """``count`` of them, one a row."""
    rows = np.random.default_rng(seed).normal(size=(count, dimensions)).astype(np.float32)
    unit: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit
