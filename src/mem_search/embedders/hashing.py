"""A deterministic embedder without a model, for tests and for machines without one.

It hashes words and their character trigrams into 256 signed dimensions (the hashing trick,
Weinberger et al. 2009), so texts that share words or parts of words are near each other. Meaning
plays no part. BLAKE2 makes it equal in all processes and machines; ``hash()`` would not.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b

import numpy as np

from mem_search.contracts import Vectors
from mem_search.errors import InputError
from mem_search.patterns import pattern

_WORD = pattern(r"\w+")
_DIMENSIONS = 256
_MIN_DIMENSIONS, _MAX_DIMENSIONS = 16, 4096
_TRIGRAM_WEIGHT = 0.5


class HashingEmbedder:
    """256 dimensions, or as many as are asked for; a text without a word is the first unit vector.

    Raises InputError for a number of ``dimensions`` (digits) that is none.
    """

    name: str = "hashing"
    dimensions: int = _DIMENSIONS
    fingerprint: str = "hashing:words+trigrams:256:1"

    def __init__(self, dimensions: str = "") -> None:
        if not dimensions:
            return
        if not (dimensions.isascii() and dimensions.isdecimal() and len(dimensions) < 5) or not (
            _MIN_DIMENSIONS <= int(dimensions) <= _MAX_DIMENSIONS
        ):
            raise InputError(
                f"hashing has {_MIN_DIMENSIONS} to {_MAX_DIMENSIONS} dimensions: write hashing:128",
                field="embedder",
            )
        self.dimensions = int(dimensions)
        if self.dimensions != _DIMENSIONS:
            self.name = f"hashing:{self.dimensions}"
            self.fingerprint = f"hashing:words+trigrams:{self.dimensions}:1"

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in enumerate(texts):
            for word in _WORD.findall(text.lower()):
                for hashed, weight in _features(word):
                    vectors[row, hashed % self.dimensions] += weight
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors[lengths[:, 0] == 0, 0] = 1  # no words, or features that cancel out
        lengths[lengths == 0] = 1
        vectors /= lengths
        return vectors


@lru_cache(maxsize=4_096)
def _features(word: str) -> tuple[tuple[int, float], ...]:
    """(hash of 16 bits, signed weight) of the word and of each of its trigrams."""
    padded = f"^{word}$"
    parts = [f"part {padded[start : start + 3]}" for start in range(len(padded) - 2)]
    places: list[tuple[int, float]] = []
    for feature in (f"word {word}", *parts):
        # surrogatepass: a lone surrogate from broken JSON is a word character like any other
        digest = blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=3).digest()
        weight = _TRIGRAM_WEIGHT if places else 1.0
        places.append((int.from_bytes(digest[:2], "big"), weight if digest[2] & 1 else -weight))
    return tuple(places)
