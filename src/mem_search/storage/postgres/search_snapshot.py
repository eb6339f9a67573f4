"""One consistent view of the store: ``ports.SearchSnapshot`` over PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mem_search.model import FacetName, Filters, Kind, Order
from mem_search.model.kind_codes import KIND_CODES
from mem_search.model.rankings import (
    Numbers,
    PassageColumns,
    RecordColumns,
    Values,
    Vectors,
    are_among,
)
from mem_search.model.statistics import Corpus
from mem_search.storage.postgres import columns, fulltext
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.postgres.filters import FILTERS
from mem_search.storage.postgres.graph import GRAPH
from mem_search.storage.postgres.word_lists import Holders, Phrase
from mem_search.storage.postgres.words import PostgresVocabulary
from mem_search.storage.rules import bm25
from mem_search.storage.rules.checksums import is_whole
from mem_search.storage.sql.snapshot import Snapshot
from mem_search.text import sketch
from mem_search.text.sketch import HEAD, NO_SKETCHES, WORDS, Sketches
from mem_search.text.words import WordQuery

if TYPE_CHECKING:
    from mem_search.storage.postgres.search_store import Caches


@dataclass(slots=True)
class PostgresSnapshot(Snapshot):
    """``SearchSnapshot`` inside one read transaction of ``connection``.

    It sees the store as of ``revision``, and at least so many ``changes`` of it.
    """

    filters = FILTERS
    graph = GRAPH

    _connection: Connection
    _chats: Collection[Kind]
    _caches: Caches
    _model: int
    _dimensions: int
    _revision: int
    _changes: int

    # Words

    def unknown_words(self, words: Sequence[str]) -> list[str]:
        return fulltext.unknown(self._connection, self._caches.lists, words, self._revision)

    def _scored(
        self, query: WordQuery, corpus: Corpus, own: Corpus | None = None
    ) -> tuple[Numbers, Values]:
        tree = fulltext.compiled(query)
        lists = self._lists(tree)
        statistics = fulltext.statistics(self._connection)
        if own is not None:
            codes = KIND_CODES.among(own.passages)
            lists = {
                phrase: each.among(
                    np.isin(self.passage_columns(each.passages.astype(np.int64)).kinds, codes)
                )
                for phrase, each in lists.items()
            }
            mean = statistics.mean_length * own.mean_length / corpus.mean_length
            statistics = replace(statistics, passages=own.size, mean_length=mean)
        return fulltext.scored(tree, lists, statistics)

    def _lessened(
        self, guessed: WordQuery, passages: Numbers, scores: Values, corpus: Corpus
    ) -> Values:
        some, shares = self._scored(guessed, corpus)
        among = are_among(some, passages)
        return bm25.lessened(passages, scores, some[among], shares[among])

    def _lists(self, tree: fulltext.Tree) -> dict[Phrase, Holders]:
        phrases = fulltext.phrases_of(tree)
        return self._caches.lists.of(self._connection, phrases, self._revision)

    def _matched(self, query: WordQuery) -> Numbers:
        tree = fulltext.compiled(query)
        return fulltext.matching(tree, self._lists(tree))

    def _within(self, records: Numbers, filters: Filters) -> NDArray[np.bool_]:
        return are_among(records, self.matching(filters))

    def _vocabulary(self) -> PostgresVocabulary:
        return PostgresVocabulary(self._connection)

    # Vectors

    def record_cosines(self, vector: Vectors, records: Numbers) -> Values:
        return columns.record_cosines(self._connection, self._model, vector, records)

    def passage_cosines(self, vector: Vectors, passages: Numbers) -> Values:
        return columns.passage_cosines(self._connection, self._model, vector, passages)

    def passage_vectors(self, passages: Numbers) -> tuple[NDArray[np.intp], Vectors]:
        return columns.passage_vectors(self._connection, self._model, self._dimensions, passages)

    def passages_within(self, filters: Filters) -> Numbers:
        records = self.matching(filters)
        last = self._connection.count("select passages from stores")
        found = [
            block.passages[are_among(block.records, records)]
            for block in self._caches.passages.all(self._connection, last)
        ]
        return np.concatenate(found)

    def unindexed_passages(self, limit: int) -> Numbers:
        return self._connection.numbers(
            "select passage_id from outbox where step = 'index' order by passage_id limit %s",
            (limit,),
        )

    def passage_columns(self, passages: Numbers) -> PassageColumns:
        return self._caches.passages.of(self._connection, passages)

    # Records

    def corpus(self) -> Corpus:
        return self._caches.corpus.current(self._connection, self._changes)

    def columns(self, records: Numbers) -> RecordColumns:
        return columns.record_columns(self._connection, records)

    def first_by_date(self, records: Numbers, order: Order, limit: int) -> tuple[Numbers, Numbers]:
        return columns.first_by_date(self._connection, records, order, limit)

    def near_duplicate_sketches(self, records: Numbers) -> tuple[Sequence[int], Sketches]:
        rows = self._connection.execute(
            "select record_id, sketch from sketches where record_id = any(%s)",
            (records.tolist(),),
            binary=True,
        ).fetchall()
        # A record whose sketch is damaged is no duplicate until the sketch is made again.
        rows = [
            (number, stored[: sketch.SIZE])
            for number, stored in rows
            if is_whole(stored, number, sketch.SIZE)
        ]
        heads = np.frombuffer(b"".join(made[:HEAD] for _, made in rows), np.uint32)
        near = sketch.repeated(heads.reshape(-1, WORDS))
        suspects = [row for row, is_near in zip(rows, near, strict=True) if is_near]
        if not suspects:
            return (), NO_SKETCHES
        return [number for number, _ in suspects], sketch.read(b"".join(s for _, s in suspects))

    def matching(self, filters: Filters) -> Numbers:
        return self._caches.within.of(self._connection, filters, self._revision)

    def _dates(self, records: Numbers) -> Numbers:
        return self._connection.numbers(
            "select created_at from records where id = any(%s)", (records.tolist(),)
        )

    def _values(self, column: FacetName, records: Numbers) -> Iterable[tuple[str, int]]:
        rows = self._connection.execute(
            f"select {column}, count(*) from records where id = any(%s) group by 1",
            (records.tolist(),),
        )
        return [(value, times) for value, times in rows]
