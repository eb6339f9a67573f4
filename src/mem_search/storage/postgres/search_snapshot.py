"""One consistent view of the store: ``ports.SearchSnapshot`` over PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mem_search.model import FacetCounts, FacetName, Filters, Kind, Order, Record
from mem_search.model.graph import GraphLabel, GraphWalk, Relationship
from mem_search.model.rankings import (
    KIND_CODES,
    NO_CANDIDATES,
    Candidates,
    Matches,
    Numbers,
    PassageColumns,
    PassageContext,
    PassageSpan,
    RecordColumns,
    Values,
    Vectors,
    are_among,
    distinct,
)
from mem_search.model.records import RecordWithLinks
from mem_search.model.requests import Scope
from mem_search.model.statistics import AskedQuery, Corpus
from mem_search.storage.ports.search import Counted, Names
from mem_search.storage.postgres import (
    edges,
    facet_counts,
    fulltext,
    listing,
    vocabulary,
)
from mem_search.storage.postgres import passages as of_passages
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.postgres.filters import where
from mem_search.storage.postgres.graph import GRAPH
from mem_search.storage.postgres.word_lists import Holders, Phrase
from mem_search.storage.rules import bm25
from mem_search.storage.rules.near_duplicates import repeated
from mem_search.storage.rules.wild_words import expand
from mem_search.storage.sql import graph, scopes, search_log
from mem_search.storage.sql import passages as sql_passages
from mem_search.storage.sql import records as of_records
from mem_search.text import sketch
from mem_search.text.names import Name
from mem_search.text.record_ids import RecordId
from mem_search.text.sketch import HEAD, NO_SKETCHES, WORDS, Sketches
from mem_search.text.words import WordQuery

if TYPE_CHECKING:
    from mem_search.storage.postgres.search_store import Caches


@dataclass(slots=True)
class PostgresSnapshot:
    """``SearchSnapshot`` inside one read transaction of ``connection``.

    It sees the store as of ``revision``, and at least so many ``changes`` of it.
    """

    _connection: Connection
    _caches: Caches
    _model: int
    _dimensions: int
    _chats: Collection[Kind]
    _revision: int
    _changes: int

    # Words

    def word_matches(
        self, query: WordQuery, filters: Filters, depth: int, guessed: WordQuery | None = None
    ) -> tuple[Candidates, Matches]:
        """See ``SearchSnapshot``. Chat turns have a length correction (``bm25.for_chats``)."""
        corpus = self.corpus()
        own = bm25.own_statistics(corpus, filters.kinds) if filters else None
        passages, scores = self._scored(query, corpus, own)
        found = self.passage_columns(passages)
        if filters:
            inside = are_among(found.records, self.matching(filters))
            found, scores = found.taken(inside), scores[inside]
        if guessed is not None:
            some, shares = self._scored(guessed, corpus)
            among = are_among(some, found.passages)
            scores = bm25.lessened(found.passages, scores, some[among], shares[among])
        scores = bm25.for_chats(scores, found, own or corpus, self._chats)
        best = found.best(scores)
        return best.candidates(depth), Matches(best.records, best.scores, best.kinds)

    def _scored(
        self, query: WordQuery, corpus: Corpus, own: Corpus | None = None
    ) -> tuple[Numbers, Values]:
        """Every passage that matches ``query``, with its score; in order of their numbers.

        With ``own`` only the passages of its kinds, with the scores that they would have in an
        index of nothing else.
        """
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

    def _lists(self, tree: fulltext.Tree) -> dict[Phrase, Holders]:
        phrases = fulltext.phrases_of(tree)
        return self._caches.lists.of(self._connection, phrases, self._revision)

    def _matched(self, query: WordQuery) -> Numbers:
        tree = fulltext.compiled(query)
        return fulltext.matching(tree, self._lists(tree))

    def records_with_words(self, query: WordQuery) -> Numbers:
        found = self._matched(query)
        return distinct(self.passage_columns(found).records)

    def holders(self, name: Name, filters: Filters, most: int) -> Candidates:
        found = self._matched(name.query)
        if filters:
            found = found[are_among(self.passage_columns(found).records, self.matching(filters))]
        if not 0 < len(found) <= bm25.COMPARED:
            return NO_CANDIDATES
        found, scores = fulltext.holding(self._connection, name, found)
        best = self.passage_columns(found).best(scores)
        return best.candidates(most) if len(best.records) <= most else NO_CANDIDATES

    def expand_words(self, wild: Sequence[str]) -> dict[str, tuple[str, ...]]:
        return expand(vocabulary.Lookup(self._connection), wild)

    def unknown_words(self, words: Sequence[str]) -> list[str]:
        return fulltext.unknown(self._connection, self._caches.lists, words, self._revision)

    def similar_words(self, word: str) -> list[Counted]:
        return vocabulary.Lookup(self._connection).like(word)

    def words_beginning_with(self, prefix: str, limit: int) -> list[Counted]:
        return vocabulary.Lookup(self._connection).beginning_with(prefix, limit)

    def names_beginning_with(self, names: Names, prefix: str, limit: int) -> list[Counted]:
        return vocabulary.names_beginning_with(self._connection, names, prefix, limit)

    def values_of(self, field: str, most: int = vocabulary.MAX_VALUES) -> list[str]:
        return vocabulary.values_of(self._connection, field, most)

    # Vectors

    def record_cosines(self, vector: Vectors, records: Numbers) -> Values:
        return of_passages.record_cosines(self._connection, self._model, vector, records)

    def passage_cosines(self, vector: Vectors, passages: Numbers) -> Values:
        return of_passages.passage_cosines(self._connection, self._model, vector, passages)

    def passage_vectors(self, passages: Numbers) -> tuple[NDArray[np.intp], Vectors]:
        return of_passages.passage_vectors(
            self._connection, self._model, self._dimensions, passages
        )

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
        return listing.columns(self._connection, records)

    def first_by_date(self, records: Numbers, order: Order, limit: int) -> tuple[Numbers, Numbers]:
        return listing.first_by_date(self._connection, records, order, limit)

    def near_duplicate_sketches(self, records: Numbers) -> tuple[Sequence[int], Sketches]:
        rows = self._connection.execute(
            "select record_id, sketch from sketches where record_id = any(%s)"
            " and octet_length(sketch) = %s",  # another one is damaged
            (records.tolist(), sketch.SIZE),
            binary=True,
        ).fetchall()
        heads = np.frombuffer(b"".join(made[:HEAD] for _, made in rows), np.uint32)
        near = repeated(heads.reshape(-1, WORDS))
        suspects = [row for row, is_near in zip(rows, near, strict=True) if is_near]
        if not suspects:
            return (), NO_SKETCHES
        return [number for number, _ in suspects], sketch.read(b"".join(s for _, s in suspects))

    def successors(self, records: Numbers, filters: Filters) -> Mapping[int, tuple[int, ...]]:
        return edges.chains(self._connection, records.tolist(), filters)

    def matching(self, filters: Filters) -> Numbers:
        return self._caches.within.of(self._connection, filters, self._revision)

    def matches_any(self, filters: Filters) -> bool:
        return listing.matches_any(self._connection, filters)

    def browse(
        self, filters: Filters, order: Order, limit: int, offset: int, sort: Sequence[str] = ()
    ) -> list[int]:
        condition = where(self._connection, filters)
        return of_records.browse(self._connection, condition, order, limit, offset, sort)

    def sort_values(self, numbers: Numbers, names: Sequence[str]) -> dict[str, Numbers]:
        return listing.sort_values(self._connection, numbers, names)

    def around(
        self, place: tuple[int, int], before: int, after: int, filters: Filters
    ) -> tuple[list[int], list[int]]:
        condition = where(self._connection, filters)
        return of_records.around(self._connection, place, before, after, condition)

    def counts(self, filters: Filters) -> dict[str, int]:
        return listing.counts(self._connection, filters)

    def facet_counts(
        self, records: Numbers, names: Sequence[FacetName], most: int, zone: tzinfo
    ) -> dict[FacetName, FacetCounts]:
        return facet_counts.counted(self._connection, records, names, most, zone)

    def records(self, numbers: Sequence[int]) -> dict[int, Record]:
        return of_records.fetch(self._connection, numbers)

    def records_called(self, ids: Sequence[RecordId]) -> list[list[int]]:
        return [listing.called(self._connection, each) for each in ids]

    def records_with_links(self, numbers: Sequence[int]) -> list[RecordWithLinks]:
        return of_records.with_links(self._connection, numbers)

    def scopes(self) -> list[Scope]:
        return scopes.scopes(self._connection)

    def logged_queries(self, words: Sequence[str], limit: int) -> list[AskedQuery]:
        return search_log.sharing(self._connection, words, limit)

    # Passages

    def spans(self, passages: Sequence[int]) -> dict[int, PassageSpan]:
        return sql_passages.spans(self._connection, passages)

    def spans_of_records(self, numbers: Sequence[int]) -> dict[int, list[PassageSpan]]:
        return sql_passages.spans_of_records(self._connection, numbers)

    def passage_contexts(
        self, passages: Mapping[int, int | None], reach: int
    ) -> dict[int, PassageContext]:
        return sql_passages.contexts(self._connection, passages, reach)

    # Graph

    def walk(
        self,
        seeds: Collection[int],
        depth: int,
        filters: Filters,
        relations: Collection[str] = (),
    ) -> GraphWalk:
        return GRAPH.walk(self._connection, seeds, depth, filters=filters, relations=relations)

    def first_passages(self, records: Sequence[int]) -> dict[int, tuple[int, Kind, str]]:
        return graph.first_passages(self._connection, records)

    def labels(self, numbers: Collection[int]) -> dict[int, GraphLabel]:
        return graph.labels(self._connection, numbers)

    def relationships(
        self, numbers: Sequence[int], filters: Filters
    ) -> dict[int, tuple[Relationship, ...]]:
        return GRAPH.relationships(self._connection, numbers, filters)
