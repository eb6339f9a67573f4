"""Which records may be near-duplicates, by the beginnings of their sketches."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mem_search.text.sketch import WORDS, Heads


def repeated(beginnings: Heads) -> NDArray[np.bool_]:
    """Which rows share a word with another row: only these may be near-duplicates."""
    ordered = np.sort(beginnings, axis=0)
    found = np.zeros(len(beginnings), dtype=np.bool_)
    same = ordered[1:] == ordered[:-1]
    if same.any():
        for column in range(WORDS):
            found |= np.isin(beginnings[:, column], ordered[1:, column][same[:, column]])
    return found
