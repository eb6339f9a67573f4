"""Sketches of texts: 64 bytes that tell whether two texts are near-duplicates.

MinHash (Broder, "On the resemblance and containment of documents", 1997) over the runs of three
words of a text, keeping the lowest byte of each minimum (b-bit minwise hashing, Li & König, WWW
2010). The share of equal bytes estimates the share of common runs.

All numbers of a text are hashed into each run, so texts that differ in a number have nothing in
common: "Bump to 1.2.3" and "Bump to 1.2.4" look alike but say different things.
"""

from __future__ import annotations

import zlib
from itertools import compress
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mem_search.patterns import pattern
from mem_search.text.words import CJK

SIZE: Final = 64
MAX_DIFFERENT_BYTES: Final = 4
"""Bytes in which near-duplicates may differ; about 19 of 20 runs are equal (docs/lab/ranking)."""

WORDS: Final = MAX_DIFFERENT_BYTES + 1
HEAD: Final = 4 * WORDS
"""Bytes at the start of a sketch, seen as ``WORDS`` words of four bytes. Fewer bytes may differ
than there are words, so near-duplicates share a word, which is a fast first check."""

_RUN: Final = 3
_AT_ONCE: Final = 2048
"""Runs hashed at a time, which limits memory to 1 MB."""

_TOKEN: Final = pattern(rf"[{CJK}]|[^\W{CJK}]+")
_WORD: Final = pattern(r"\w+")
_DIGIT: Final = pattern(r"\d")

Sketches = NDArray[np.uint8]
"""Shape (n, SIZE)."""
Heads = NDArray[np.uint32]
"""Shape (n, WORDS)."""


def _constants(count: int, seed: int) -> NDArray[np.uint64]:
    """SplitMix64 (Steele, Lea & Flood, OOPSLA 2014): equal on all machines."""
    state = (np.arange(1, count + 1, dtype=np.uint64) + np.uint64(seed)) * np.uint64(
        0x9E3779B97F4A7C15
    )
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


_FACTORS: Final = _constants(SIZE, 0) | np.uint64(1)
_TERMS: Final = _constants(SIZE, SIZE)
_PLACES: Final = _constants(_RUN, 2 * SIZE) | np.uint64(1)


def sketch(title: str, text: str) -> bytes:
    """The sketch of a record; case, punctuation and white space do not matter."""
    whole = f"{title}\n{text}".lower()
    # Two linear scans: a single expression would backtrack over long words without digits.
    numbered = (word for word in _WORD.findall(whole) if not word.isalpha() and _DIGIT.search(word))
    numbers = zlib.crc32(" ".join(numbered).encode("utf-8", "replace"))
    tokens = [
        zlib.crc32(token.encode("utf-8", "replace"), numbers) for token in _TOKEN.findall(whole)
    ]
    tokens += [numbers] * (_RUN - len(tokens))
    hashes = np.array(tokens, dtype=np.uint64)
    count = len(hashes) - _RUN + 1
    runs = np.zeros(count, dtype=np.uint64)
    for place, factor in enumerate(_PLACES):
        runs = (runs ^ hashes[place : place + count]) * factor
    least = np.full(SIZE, 2**32 - 1, dtype=np.uint64)
    for start in range(0, count, _AT_ONCE):
        mixed = runs[start : start + _AT_ONCE, None] * _FACTORS + _TERMS
        least = np.minimum(least, (mixed >> np.uint64(32)).min(axis=0))
    return least.astype(np.uint8).tobytes()


def read(sketches: bytes) -> Sketches:
    """Concatenated sketches as an array."""
    return np.frombuffer(sketches, dtype=np.uint8).reshape(-1, SIZE)


NO_SKETCHES: Final = read(b"")


def is_near(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> bool:
    """Whether two sketches belong to near-duplicates."""
    return int(np.count_nonzero(one != other)) <= MAX_DIFFERENT_BYTES


def heads(sketches: Sketches) -> Heads:
    """The first bytes of sketches as words; near-duplicates share a word in the same column."""
    return np.ascontiguousarray(sketches[:, :HEAD]).view(np.uint32)


def shared_words(sketches: Sketches) -> list[list[int]]:
    """For each sketch numbers of its words (``heads``) that another sketch has in that column."""
    words = heads(sketches).astype(np.uint64)
    words |= np.arange(WORDS, dtype=np.uint64) << np.uint64(32)
    _, number, count = np.unique(words, return_inverse=True, return_counts=True)
    numbers: list[list[int]] = np.reshape(number, (-1, WORDS)).tolist()
    shared: list[list[bool]] = np.reshape(count[number] > 1, (-1, WORDS)).tolist()
    return [[*compress(*row)] for row in zip(numbers, shared, strict=True)]


def repeated(beginnings: Heads) -> NDArray[np.bool_]:
    """Which rows share a word with another row: only these may be near-duplicates."""
    ordered = np.sort(beginnings, axis=0)
    is_repeated = np.zeros(len(beginnings), dtype=np.bool_)
    same = ordered[1:] == ordered[:-1]
    if same.any():
        for column in range(WORDS):
            is_repeated |= np.isin(beginnings[:, column], ordered[1:, column][same[:, column]])
    return is_repeated
