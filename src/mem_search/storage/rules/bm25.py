"""How matching passages are scored, the same in every store: BM25, and what corrects it.

BM25 is FTS5's (k1 = 1.2, b = 0.75, https://sqlite.org/fts5.html#the_bm25_function): the score of a
passage is a sum over the phrases of a query, whether they are joined by AND or by OR. It needs the
statistics of the corpus, which each store keeps in a ``CorpusCache``.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from mem_search.model import Kind
from mem_search.model.arrays import are_among, distinct
from mem_search.model.kind_codes import KIND_CODES
from mem_search.model.rankings import Numbers, PassageColumns, Values
from mem_search.model.statistics import Corpus
from mem_search.text.words import WordPhrase, WordQuery

COLUMNS: Final = ("title", "text", "parts", "people")
"""Of a passage in the index of words."""

WEIGHTS: Final = (3, 1, 1, 2)
"""Of ``COLUMNS``: a name in a head says more than one in a text."""

K1: Final = 1.2
B: Final = 0.75
MIN_IDF: Final = 1e-6
"""The least weight (idf) of a phrase: what FTS5 gives to one that most passages have."""

LONG_PASSAGE_RATIO: Final = 2.0
"""Passages of so many times the store's mean length are a language of their own: words that short
records have rarely stand in most of them, and BM25 takes their length for a fault. A search of
such kinds alone weighs words as a store of their own does (docs/lab/ranking.md)."""

MAX_COMPARED_PASSAGES: Final = 1_000
"""Passages with the words of a name in a row that are read to compare the name; about 10 ms."""

GUESSED_PENALTY: Final = 0.75
"""What a score loses of the share of words that were not typed: those that were typed lead."""


def phrases_of(query: WordQuery) -> Iterator[WordPhrase]:
    """The phrases of ``query``."""
    if isinstance(query, WordPhrase):
        yield query
    else:
        for part in query.of:
            yield from phrases_of(part)


def factors(
    passages: int, mean_length: float, holders: int, lengths: NDArray[np.integer]
) -> tuple[float, Values]:
    """The weight (idf) of a phrase that ``holders`` of ``passages`` have, and for each length of a
    passage, in words, the term of BM25 that grows with it.
    """
    return idf(passages, holders), K1 * (1 - B + B * (lengths / mean_length))


def idf(passages: int, holders: int) -> float:
    """The weight of a phrase that ``holders`` of ``passages`` have."""
    odds = (passages - holders + 0.5) / (holders + 0.5)
    return max(math.log(max(odds, 1.0)), MIN_IDF)


def scored(counts: NDArray[np.integer], weight: float, damping: Values) -> Values:
    """The part of BM25 that a phrase adds to passages that have it so often (``factors``)."""
    often = counts.astype(np.float64)
    return np.asarray(weight * (often * (K1 + 1) / (often + damping)), np.float64)


def own_statistics(corpus: Corpus, kinds: Collection[Kind]) -> Corpus | None:
    """The statistics by which a search of ``kinds`` alone is scored; None: the whole store's."""
    own = corpus.of_kinds(kinds)
    return own if own.mean_length >= LONG_PASSAGE_RATIO * corpus.mean_length else None


def lessened(passages: Numbers, scores: Values, guessed: Numbers, shares: Values) -> Values:
    """``scores`` of ``passages`` when the ``shares`` of those ``guessed`` count for less."""
    order = np.argsort(passages)
    rows = order[np.searchsorted(passages, guessed, sorter=order)]
    less = scores.copy()
    less[rows] -= GUESSED_PENALTY * np.minimum(shares, scores[rows])
    return less


def as_one_word(
    passages: Numbers, scores: Values, forms: Sequence[tuple[Numbers, Values]], size: int
) -> Values:
    """``scores`` of ``passages``, in order, when ``forms`` count as one word, as the forms of an
    English word do: each passage by its best one, with the weight of a word that all have who have
    a form. A form is its passages and what it has added to their scores, among ``size`` in all.
    """
    every = idf(size, len(distinct(np.concatenate([held for held, _ in forms]))))
    added, best = np.zeros(len(passages)), np.zeros(len(passages))
    for held, some in forms:
        inside = are_among(held, passages)
        rows, part = np.searchsorted(passages, held[inside]), some[inside]
        added[rows] += part
        best[rows] = np.maximum(best[rows], part * (every / idf(size, len(held))))
    return scores - added + best


def for_chats(
    scores: Values, passages: PassageColumns, corpus: Corpus, chats: Collection[Kind]
) -> Values:
    """``scores`` of ``passages``, with the length correction of chat turns, the kinds ``chats``.

    A short "yes, on Friday" is not a better answer for being short. The factor turns FTS5's fixed
    k1 = 1.2, b = 0.75 into about k1 = 0.9, b = 0.4 and is worth four points of nDCG on chats
    (docs/lab/ranking.md); on commits and documents the same change costs as much.
    """
    corrected = scores
    for kind in chats:
        rows = np.flatnonzero(passages.kinds == KIND_CODES.code(kind))
        if len(rows):
            lengths = passages.lengths[rows]
            relative, among = lengths / corpus.mean_length, lengths / corpus.lengths.get(kind, 1.0)
            factor = (1 + 1.2 * (0.25 + 0.75 * relative)) / (1 + 0.9 * (0.6 + 0.4 * among))
            corrected = corrected.copy()
            corrected[rows] *= factor
    return corrected


C = TypeVar("C")

SMALL_CORPUS: Final = 5_000
"""Passages up to which the statistics are read again after every change."""

CORPUS_SECONDS: Final = 5.0
"""Age in seconds up to which the statistics of a larger corpus serve while it changes."""


class CorpusCache(Generic[C]):
    """The statistics of the corpus, read again when the store changed and they are too old.

    ``count(connection)`` reads them.
    """

    def __init__(self, database: Any, count: Callable[[C], Corpus]) -> None:
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
        corpus: Corpus = await self._database.read(self.current, self.changes)
        return corpus

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
