"""The numbers of the corpus in memory: passages, their lengths, how much is indexed."""

from __future__ import annotations

import asyncio
import time

from mem_search.storage.sqlite import stats
from mem_search.storage.sqlite.database import Database
from mem_search.storage.sqlite.stats import Corpus

SMALL_CORPUS = 5_000
"""Passages up to which the numbers are read again at every change."""

CORPUS_SECONDS = 5.0
"""How old the corpus numbers may be while the store changes."""


class CorpusNumbers:
    """The corpus' numbers, read again when the store changed, but not more often than needed."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._numbers: Corpus | None = None
        self._read_at = 0.0
        self._stale = True
        self._reading = asyncio.Lock()

    def changed(self) -> None:
        """The store is not what it was."""
        self._stale = True

    async def __call__(self) -> Corpus:
        async with self._reading:
            if self._numbers is None or (self._stale and self._due(self._numbers)):
                self._stale = False
                self._read_at = time.monotonic()
                self._numbers = await self._database.read(stats.corpus)
            return self._numbers

    def _due(self, numbers: Corpus) -> bool:
        small = numbers.size < SMALL_CORPUS
        return small or time.monotonic() - self._read_at > CORPUS_SECONDS
