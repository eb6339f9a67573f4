"""The statistics of the corpus in memory."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Concatenate, Final, Generic, ParamSpec, Protocol, TypeVar

from mem_search.model.statistics import Corpus

C = TypeVar("C")
C_co = TypeVar("C_co", covariant=True)
P = ParamSpec("P")
T = TypeVar("T")

SMALL_CORPUS: Final = 5_000
"""Passages up to which the statistics are read again after every change."""

CORPUS_SECONDS: Final = 5.0
"""Age in seconds up to which the statistics of a larger corpus serve while it changes."""


class Readable(Protocol[C_co]):
    """What runs functions of a connection in its reading threads."""

    async def read(
        self, query: Callable[Concatenate[C_co, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """The value of ``query(connection, …)``, inside one consistent snapshot."""
        ...


class CorpusCache(Generic[C]):
    """The statistics of the corpus, read again when the store changed and they are too old.

    ``count(connection)`` reads them.
    """

    def __init__(self, database: Readable[C], count: Callable[[C], Corpus]) -> None:
        self._database = database
        self._count = count
        self._corpus: Corpus | None = None
        self._read_at = 0.0
        self._read_changes = 0
        self._reading = threading.Lock()
        self.changes = 0
        """How often the store has changed; a read that begins later sees all these changes."""

    def changed(self) -> None:
        """Note that the store has changed."""
        self.changes += 1

    async def __call__(self) -> Corpus:
        """The statistics; reads the store only when they are too old."""
        known = self.known()
        if known is not None:
            return known
        return await self._database.read(self.current, self.changes)

    def known(self) -> Corpus | None:
        """The statistics in memory, unless they are too old."""
        return self._known(self.changes)

    def current(self, connection: C, changes: int) -> Corpus:
        """The statistics, inside a read that began after so many ``changes``. Blocking."""
        with self._reading:
            known = self._known(changes)
            if known is None:
                known = self._count(connection)
                self._corpus = known
                self._read_at, self._read_changes = time.monotonic(), changes
            return known

    def _known(self, changes: int) -> Corpus | None:
        """The statistics in memory, unless they are too old."""
        known = self._corpus
        if known is None or changes <= self._read_changes:
            return known
        is_old = time.monotonic() - self._read_at > CORPUS_SECONDS
        return None if is_old or known.size < SMALL_CORPUS else known
