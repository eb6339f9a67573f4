"""What a search reads: one consistent view of the store, and what both engines answer alike.

Its methods block: they run in one reading thread of the store, so that a search crosses threads
once for many questions. Columns are numpy arrays, as a search looks at thousands of passages to
show twenty records. Numbers of records and passages are positive, times are milliseconds since
1970, a cosine lies in -1..1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import tzinfo
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mem_search.model import FacetCounts, FacetName, Filters, Kind, Order, Record
from mem_search.model.arrays import distinct, places_of
from mem_search.model.graph import GraphLabel, GraphWalk, Relationship
from mem_search.model.rankings import (
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
)
from mem_search.model.records import VARIETIES, RecordWithLinks
from mem_search.model.requests import Scope
from mem_search.model.statistics import AskedQuery, Corpus
from mem_search.storage.rules import bm25
from mem_search.storage.sql import edges, filters, passage_rows, records, search_log, statistics
from mem_search.storage.sql.filters import FilterSql
from mem_search.storage.sql.graph import Graph, first_passages, labels
from mem_search.storage.sql.vocabulary import MAX_VALUES, Counted, Names, Vocabulary
from mem_search.text.identifiers import Name
from mem_search.text.record_ids import RecordId
from mem_search.text.sketch import Sketches
from mem_search.text.words import WordQuery, known_word


class SearchSnapshot(ABC):
    """The store inside one read transaction. Use it only inside ``SearchStore.read``."""

    __slots__ = ()
    filters: ClassVar[FilterSql]
    graph: ClassVar[Graph]
    _connection: Any
    _chats: Collection[Kind]
    """The kinds of chat turns."""
    _caches: Any
    """What snapshots share, of which each engine has its own."""
    _changes: int
    """The transaction sees at least so many changes of the store."""

    @abstractmethod
    def passage_columns(self, passages: Numbers) -> PassageColumns:
        """The ranking columns of ``passages``, one row each."""

    @abstractmethod
    def passage_cosines(self, vector: Vectors, passages: Numbers) -> Values:
        """The cosine of each to ``vector``, shape (1, dimensions); NaN where it has no vector."""

    @abstractmethod
    def unknown_words(self, words: Sequence[str]) -> list[str]:
        """Those of ``words`` (lower case) that no passage has in any form."""

    @abstractmethod
    def passage_vectors(self, passages: Numbers) -> tuple[NDArray[np.intp], Vectors]:
        """The vectors of ``passages``, shape (n, dimensions), and for each its row in ``passages``.

        A long passage has two vectors, one that was not embedded yet has none.
        """

    @abstractmethod
    def passages_within(self, filters: Filters) -> Numbers:
        """All passages of the records within ``filters``, in order."""

    @abstractmethod
    def unindexed_passages(self, limit: int) -> Numbers:
        """Passages with a vector that is not in the vector index yet, at most ``limit``."""

    @abstractmethod
    def columns(self, records: Numbers) -> RecordColumns:
        """The ranking columns of ``records``, one row each."""

    @abstractmethod
    def first_by_date(self, records: Numbers, order: Order, limit: int) -> tuple[Numbers, Numbers]:
        """The first ``limit`` of ``records`` by date, of equal dates by number, and their dates.

        Those that do not exist are left out. ``order`` is a date order.
        """

    @abstractmethod
    def near_duplicate_sketches(self, records: Numbers) -> tuple[Sequence[int], Sketches]:
        """Those of ``records`` that may be near-duplicates of each other, with their sketches."""

    @abstractmethod
    def matching(self, filters: Filters) -> Numbers:
        """The numbers of all records within ``filters``, in order."""

    @abstractmethod
    def _scored(
        self, query: WordQuery, corpus: Corpus, own: Corpus | None = None
    ) -> tuple[Numbers, Values]:
        """Every passage that matches ``query``, with its score; in order of their numbers.

        With ``own`` only the passages of its kinds, with the scores that they would have in an
        index of nothing else.
        """

    @abstractmethod
    def _lessened(
        self, guessed: WordQuery, passages: Numbers, scores: Values, corpus: Corpus
    ) -> Values:
        """The scores of ``passages`` when ``guessed``, a part of their query, counts for less."""

    @abstractmethod
    def _matched(self, query: WordQuery) -> Numbers:
        """Every passage that matches, so that totals are exact."""

    @abstractmethod
    def _within(self, records: Numbers, filters: Filters) -> NDArray[np.bool_]:
        """Which of ``records``, which may come several times, exist and are within ``filters``."""

    @abstractmethod
    def _vocabulary(self) -> Vocabulary: ...

    @abstractmethod
    def _dates(self, records: Numbers) -> Numbers:
        """When ``records`` were created, those that exist, in any order."""

    @abstractmethod
    def _values(self, column: FacetName, records: Numbers) -> Iterable[tuple[str, int]]:
        """Kind, project or source → how many of ``records`` have it."""

    # Words

    def word_matches(
        self,
        query: WordQuery,
        filters: Filters,
        depth: int,
        guessed: WordQuery | None = None,
        forms: Sequence[Sequence[str]] = (),
    ) -> tuple[Candidates, Matches]:
        """Records within ``filters`` with a passage that matches, scored by BM25.

        A record has the score of its best passage. The statistics are those of the whole store,
        whatever the filters, except that kinds of long texts alone are scored as in a store of
        their own; chat turns have a length correction (``bm25.for_chats``). The candidates are the
        best ``depth`` records, and the best ``depth // 10`` of each kind that has fewer among them;
        the matches are all records. What ``guessed``, a part of ``query``, adds to a score counts a
        quarter. ``forms``, words of ``query`` as ``known_word`` reads them, count as one word where
        they stand together.
        """
        corpus = self.corpus()
        own = bm25.own_statistics(corpus, filters.kinds) if filters else None
        passages, scores = self._scored(query, corpus, own)
        for words in forms:
            each = [self._scored(known_word(word), corpus, own) for word in words]
            scores = bm25.as_one_word(passages, scores, each, (own or corpus).size)
        columns = self.passage_columns(passages)
        if filters:
            inside = self._within(columns.records, filters)
            columns, scores = columns.taken(inside), scores[inside]
        if guessed is not None:
            scores = self._lessened(guessed, columns.passages, scores, corpus)
        scores = bm25.for_chats(scores, columns, own or corpus, self._chats)
        best = columns.best(scores)
        return best.candidates(depth), Matches(best.records, best.scores, best.kinds)

    def records_with_words(self, query: WordQuery) -> Numbers:
        """The records with a passage that matches, in order."""
        return distinct(self.passage_columns(self._matched(query)).records)

    def passages_with(self, words: Sequence[str]) -> list[Numbers]:
        """For each of ``words`` (lower case) the passages that have it in any form, in order."""
        return [self._matched(known_word(word)) for word in words]

    def holders_of(self, words: Sequence[str], most: int) -> list[int]:
        """For each of ``words``, as ``known_word`` reads them, how many passages have it in any
        form; ``most`` for more.
        """
        return [min(most, len(passages)) for passages in self.passages_with(words)]

    def exact_matches(self, name: Name, filters: Filters, most: int) -> Candidates:
        """Records within ``filters`` that have ``name`` as it is written, whole ones first.

        The score is 2 for the whole name and 1 inside a longer one (``Name.held``), the passage is
        one that has it. None when more than ``most`` records have it, or when too many passages
        to read have its words in a row: then the name says little.
        """
        matched = self._matched(name.query)
        if filters:
            matched = matched[self._within(self.passage_columns(matched).records, filters)]
        if not 0 < len(matched) <= bm25.MAX_COMPARED_PASSAGES:
            return NO_CANDIDATES
        texts = passage_rows.texts(self._connection, matched)
        held = {passage: well for passage, text in texts if (well := name.held(text))}
        passages = np.array(sorted(held), np.int64)
        scores = np.array([held[each] for each in passages.tolist()], np.float64)
        best = self.passage_columns(passages).best(scores)
        return best.candidates(most) if len(best.records) <= most else NO_CANDIDATES

    def expand_words(self, wild: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """For each of ``wild`` the words of the store that it stands for.

        ``auth*`` is a prefix, ``auht~`` a misspelling, ``*oriz*`` and ``au*tion`` are wildcards; a
        result may itself end in ``*``.
        """
        return self._vocabulary().expand(wild)

    def similar_words(self, word: str) -> list[Counted]:
        """Words of the store from which ``word`` may be a misspelling, unranked."""
        return self._vocabulary().correction_candidates(word)

    def words_beginning_with(self, prefix: str, limit: int) -> list[Counted]:
        """Longer words that begin with ``prefix`` (lower case), most frequent first."""
        return self._vocabulary().beginning_with(prefix, limit)

    def words_ending_with(self, endings: Sequence[str], limit: int) -> list[Counted]:
        """Longer words that end with one of ``endings`` (lower case), the most frequent first."""
        return self._vocabulary().ending_with(endings, limit)

    def names_beginning_with(self, names: Names, prefix: str, limit: int) -> list[Counted]:
        """Titles, projects, tags or files that begin with ``prefix``, in either case."""
        return self._vocabulary().named(names, prefix, limit)

    def values_of(self, field: str, most: int = MAX_VALUES) -> list[str]:
        """At most a thousand values of ``project``, ``source`` or a facet, in order."""
        return self._vocabulary().values_of(field, most)

    def record_cosines(self, vector: Vectors, records: Numbers) -> Values:
        """For each record the cosine of its nearest passage, as ``passage_cosines``."""
        owners, passages = passage_rows.owned(self._connection, records)
        best = np.full(len(records), np.nan)
        np.fmax.at(best, places_of(owners, records), self.passage_cosines(vector, passages))
        return best

    def sparse_vectors(self, passages: Numbers) -> dict[int, bytes]:
        """Passage → its sparse vector (``text.sparse``), for those that have one."""
        return passage_rows.sparse_vectors(self._connection, passages)

    # Records

    def corpus(self) -> Corpus:
        """The corpus statistics, at most some seconds old."""
        known: Corpus = self._caches.corpus.current(self._connection, self._changes)
        return known

    def matches_any(self, filters: Filters) -> bool:
        """Whether any record is within ``filters``."""
        return self.filters.matches_any(self._connection, filters)

    def browse(
        self, filters: Filters, order: Order, limit: int, offset: int, sort: Sequence[str] = ()
    ) -> list[int]:
        """The records within ``filters`` by the fields of ``sort`` (``SearchRequest``), then by
        date. The order "relevance" means newest first; a score does not sort.
        """
        where = self.filters.where(self._connection, filters)
        return records.browse(self._connection, where, order, limit, offset, sort)

    def around(
        self, place: tuple[int, int], before: int, after: int, filters: Filters
    ) -> tuple[list[int], list[int]]:
        """The records just before and just after ``(created_at, number)``, both oldest first."""
        where = self.filters.where(self._connection, filters)
        return records.around(self._connection, place, before, after, where)

    def sort_values(self, numbers: Numbers, names: Sequence[str]) -> dict[str, Numbers]:
        """Field of ``names`` → for each of ``numbers`` a number that sorts as its value does.

        -1 where a record has no value. ASCII letters sort without regard to their case. A score
        is no stored field and has no numbers.
        """
        return records.sort_values(self._connection, numbers, names)

    def counts(self, filters: Filters) -> dict[str, int]:
        """How many records are within ``filters``, by kind."""
        return records.counts(self._connection, self.filters.where(self._connection, filters))

    def facet_counts(
        self, records: Numbers, names: Sequence[FacetName], most: int, zone: tzinfo
    ) -> dict[FacetName, FacetCounts]:
        """Facet of ``names`` → its ``most`` frequent values among ``records``, which exist.

        A filter by a value finds exactly the records that are counted. ``month`` is
        ``2026-11`` in ``zone``.
        """
        counted: dict[FacetName, FacetCounts] = {}
        for name in names:
            if name in statistics.STORED_FACETS:
                counted[name] = statistics.stored_facet(self._connection, name, records, most)
                continue
            if name in statistics.CALENDAR_FACETS:
                values = statistics.by_calendar(
                    self._dates(records), statistics.CALENDAR_FACETS[name], zone
                )
            else:
                values = [*self._values(name, records)]
                if name == "kind":  # a variety is counted beside the kind that has it, too
                    values += self._varieties(records, {kind for kind, _ in values})
            counted[name] = statistics.most_frequent(values, most)
        return counted

    def _varieties(self, numbers: Numbers, kinds: Collection[Kind]) -> Iterator[tuple[str, int]]:
        for name, (kind, _) in VARIETIES.items():
            if kind in kinds and (of := int(self._within(numbers, Filters(kinds=(name,))).sum())):
                yield name, of

    def records(self, numbers: Sequence[int]) -> dict[int, Record]:
        """Number → record, for those that exist."""
        return records.fetch(self._connection, numbers)

    def records_called(self, ids: Sequence[RecordId]) -> list[list[int]]:
        """For each of ``ids`` the records that it means; several stores may have an alias."""
        return [records.called(self._connection, each) for each in ids]

    def records_with_links(self, numbers: Sequence[int]) -> list[RecordWithLinks]:
        """The records that exist, in the order of ``numbers``, with the links they came with."""
        return records.with_links(self._connection, numbers)

    def scopes(self) -> list[Scope]:
        """All saved filters, by name."""
        return filters.scopes(self._connection)

    def logged_queries(self, words: Sequence[str], limit: int) -> list[AskedQuery]:
        """Queries of the log that found something and contain one of ``words``.

        The most frequent first; only recent queries are looked at.
        """
        return search_log.sharing(self._connection, words, limit)

    def logged_beginnings(self, prefix: str, limit: int) -> list[AskedQuery]:
        """Queries of the log that found something and begin with ``prefix``, in either case."""
        return search_log.beginning(self._connection, prefix, limit)

    # Passages: where they stand in the text of their record, their neighbours

    def spans(self, passages: Sequence[int]) -> dict[int, PassageSpan]:
        """Passage → where it stands in its record, for those that exist."""
        return passage_rows.spans(self._connection, passages)

    def spans_of_records(self, numbers: Sequence[int]) -> dict[int, list[PassageSpan]]:
        """Record → its passages in order."""
        return passage_rows.spans_of_records(self._connection, numbers)

    def passage_contexts(
        self, passages: Mapping[int, int | None], reach: int
    ) -> dict[int, PassageContext]:
        """Record → its passage with ``reach`` neighbours on either side.

        ``passages`` is record → passage; None, or a passage that is gone, means the first one.
        """
        return passage_rows.contexts(self._connection, passages, reach)

    # Graph

    def successors(self, records: Numbers, filters: Filters) -> Mapping[int, tuple[int, ...]]:
        """Superseded record of ``records`` → its successors within ``filters``, nearest first."""
        within = partial(self.filters.passing, self._connection, filters=filters)
        return edges.chains(self._connection, records.tolist(), within)

    def walk(
        self, seeds: Collection[int], depth: int, filters: Filters, relations: Collection[str] = ()
    ) -> GraphWalk:
        """The records within ``depth`` (1 to 5) steps of ``seeds``, and the edges among them.

        Only through records within ``filters``, and over ``relations`` where any are given.
        """
        return self.graph.walk(self._connection, seeds, depth, filters=filters, relations=relations)

    def first_passages(self, records: Sequence[int]) -> dict[int, tuple[int, Kind, str]]:
        """Record → (its first passage, its kind, the passage's field), for those that have one."""
        return first_passages(self._connection, records)

    def labels(self, numbers: Collection[int]) -> dict[int, GraphLabel]:
        """Number → the fields of the record in a knowledge cloud."""
        return labels(self._connection, numbers)

    def relationships(
        self, numbers: Sequence[int], filters: Filters
    ) -> dict[int, tuple[Relationship, ...]]:
        """Number → what the record is related to within ``filters``, strongest first."""
        return self.graph.relationships(self._connection, numbers, filters)
