"""What stands in for an embedder that cannot be opened: it says why, whenever it is asked.

A worker without its model still finds words; a search then names what is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from mem_search.errors import ModelUnavailable


class MissingEmbedder:
    """Raises ModelUnavailable with ``reason`` from every ``embed``."""

    dimensions: int = 0
    fingerprint: str = "missing"

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self._reason = reason

    def embed(self, texts: Sequence[str]) -> NoReturn:
        raise ModelUnavailable(self._reason)
