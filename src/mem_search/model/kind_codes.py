"""In a column of records a kind is a small integer, its code.

A code is valid inside one process only: stores and replies carry names. All stores of a process
share the table, so that columns of any of them can be compared; it also has kinds whose plug-in is
not installed, since a store may hold them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mem_search.errors import MemSearchError
from mem_search.model.records import Kind

Codes = NDArray[np.uint8]
MAX_CODES: Final = 255
"""Codes are bytes below 255; columns use 255 for "no record"."""


class KindCodes:
    """Name ↔ code. A name gets its code the first time it is seen and keeps it."""

    def __init__(self) -> None:
        self._codes: dict[Kind, int] = {}
        self._names: list[Kind] = []
        self._adding = threading.Lock()

    def code(self, kind: Kind) -> int:
        """The code of ``kind``. Raises MemSearchError when all 255 codes are taken."""
        code = self._codes.get(kind)
        return self._add(kind) if code is None else code

    def codes(self, kinds: Iterable[Kind]) -> Codes:
        """One code per name, in order."""
        return np.fromiter(map(self.code, kinds), np.uint8)

    def among(self, kinds: Iterable[Kind]) -> Codes:
        """The codes of those names that have one. A name without a code has no records here."""
        codes = self._codes
        return np.array([codes[kind] for kind in kinds if kind in codes], np.uint8)

    def name(self, code: int) -> Kind:
        """The name that has ``code``."""
        return self._names[code]

    def names(self, codes: Codes) -> list[Kind]:
        """One name per code, in order."""
        return list(map(self._names.__getitem__, codes.tolist()))

    def _add(self, kind: Kind) -> int:
        with self._adding:
            if kind not in self._codes:
                if len(self._names) == MAX_CODES:
                    raise MemSearchError(f"there are more than {MAX_CODES} kinds of record")
                self._names.append(kind)  # before the code is visible to other threads
                self._codes[kind] = len(self._names) - 1
            return self._codes[kind]


KIND_CODES: Final = KindCodes()
"""The table of this process."""
