"""Sparse vectors: a text as weighted word pieces, also such as it does not have.

A model (``embedders.bundled.BundledSparse``) weighs every piece of the vocabulary for a text: one
about a "panic" gets "crash", too. The score of a passage is the sum of the products of its weights
and the question's (ADR 0004).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

MAX_TERMS: Final = 128
"""Pieces that are kept of a text, the heaviest: 64 lose a third of the gain, all gain no more
(docs/lab/ranking.md)."""

STEPS: Final = 64
"""Steps of a stored weight in 1. Weights are logarithms, and none reaches 4."""

_TERM: Final = np.dtype([("piece", "<u2"), ("weight", "u1")])
_PIECES: Final = 1 << 16
"""Numbers that a piece can have."""


class SparseModel(Protocol):
    """Makes sparse vectors. Thread-safe."""

    def of_passage(self, text: str) -> bytes:
        """The vector of a text, as it is stored. Raises ModelUnavailable."""
        ...

    def of_question(self, text: str) -> bytes:
        """The same; those of the last questions are kept."""
        ...


def packed(weights: NDArray[np.float32]) -> bytes:
    """The vector with these weights of all pieces: 3 bytes for each piece that is kept."""
    steps = np.minimum(np.round(weights * STEPS), 255).astype(np.uint8)
    pieces = np.flatnonzero(steps)
    if len(pieces) > MAX_TERMS:
        pieces = np.sort(pieces[np.argsort(steps[pieces], kind="stable")[-MAX_TERMS:]])
    terms = np.empty(len(pieces), _TERM)
    terms["piece"], terms["weight"] = pieces, steps[pieces]
    return terms.tobytes()


def scores(question: bytes, vectors: Sequence[bytes]) -> NDArray[np.float64]:
    """The product of the vector ``question`` and each of ``vectors``."""
    asked = np.frombuffer(question, _TERM)
    weights = np.zeros(_PIECES, np.float32)
    weights[asked["piece"]] = asked["weight"]
    terms = np.frombuffer(b"".join(vectors), _TERM)
    owners = np.repeat(np.arange(len(vectors)), [len(each) // _TERM.itemsize for each in vectors])
    products = weights[terms["piece"]] * terms["weight"]
    return np.asarray(np.bincount(owners, products, len(vectors)) / STEPS**2)
