"""One consistent view of the store: what both engines answer to a search by the same statements.

``Snapshot`` is the base of ``ports.SearchSnapshot`` of either engine, which adds what it alone
does: lists of words, vectors, and the columns that it has in memory.
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
    Values,
    Vectors,
)
from mem_search.model.records import VARIETIES, RecordWithLinks
from mem_search.model.requests import Scope
from mem_search.model.statistics import AskedQuery, Corpus
from mem_search.storage.ports.search import Counted, Names
from mem_search.storage.rules import bm25
from mem_search.storage.rules.checksums import BYTES, is_whole
from mem_search.storage.sql import edges, facets, filters, graph, records, search_log
from mem_search.storage.sql.connection import from_json
from mem_search.storage.sql.filters import FilterSql
from mem_search.storage.sql.graph import Graph
from mem_search.storage.sql.vocabulary import MAX_VALUES, Vocabulary
from mem_search.text.identifiers import Name
from mem_search.text.record_ids import RecordId
from mem_search.text.words import WordQuery, known_word


class Snapshot(ABC):
    """``ports.SearchSnapshot`` inside one read transaction, as far as both engines share it."""

    __slots__ = ()
    filters: ClassVar[FilterSql]
    graph: ClassVar[Graph]
    _connection: Any
    _chats: Collection[Kind]
    """The kinds of chat turns."""

    # What an engine has of its own, beside the vectors

    @abstractmethod
    def passage_columns(self, passages: Numbers) -> PassageColumns: ...

    @abstractmethod
    def passage_cosines(self, vector: Vectors, passages: Numbers) -> Values: ...

    @abstractmethod
    def corpus(self) -> Corpus: ...

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
        """See ``SearchSnapshot``. Chat turns have a length correction (``bm25.for_chats``)."""
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
        return distinct(self.passage_columns(self._matched(query)).records)

    def passages_with(self, words: Sequence[str]) -> list[Numbers]:
        return [self._matched(known_word(word)) for word in words]

    def holders_of(self, words: Sequence[str], most: int) -> list[int]:
        return [min(most, len(found)) for found in self.passages_with(words)]

    def exact_matches(self, name: Name, filters: Filters, most: int) -> Candidates:
        found = self._matched(name.query)
        if filters:
            found = found[self._within(self.passage_columns(found).records, filters)]
        if not 0 < len(found) <= bm25.COMPARED:
            return NO_CANDIDATES
        rows = self._connection.execute(
            "select p.id, r.title || chr(10)"
            " || substr(r.body, p.span_start + 1, p.span_end - p.span_start)"
            " || chr(10) || p.parts || chr(10) || p.people from passages p"
            " join records r on r.id = p.record_id where p.id = any(%s::bigint[])"
            " and p.ordinal >= 0",
            (found.tolist(),),
        )
        held = {passage: well for passage, text in rows if (well := name.held(text))}
        passages = np.array(sorted(held), np.int64)
        scores = np.array([held[each] for each in passages.tolist()], np.float64)
        best = self.passage_columns(passages).best(scores)
        return best.candidates(most) if len(best.records) <= most else NO_CANDIDATES

    def expand_words(self, wild: Sequence[str]) -> dict[str, tuple[str, ...]]:
        return self._vocabulary().expand(wild)

    def similar_words(self, word: str) -> list[Counted]:
        return self._vocabulary().like(word)

    def words_beginning_with(self, prefix: str, limit: int) -> list[Counted]:
        return self._vocabulary().beginning_with(prefix, limit)

    def words_ending_with(self, endings: Sequence[str], limit: int) -> list[Counted]:
        return self._vocabulary().ending_with(endings, limit)

    def names_beginning_with(self, names: Names, prefix: str, limit: int) -> list[Counted]:
        return self._vocabulary().named(names, prefix, limit)

    def values_of(self, field: str, most: int = MAX_VALUES) -> list[str]:
        return self._vocabulary().values_of(field, most)

    def record_cosines(self, vector: Vectors, records: Numbers) -> Values:
        # One row, because Python waits for its lock at each row of SQLite.
        row = self._connection.one(
            "select jsonb_agg(record_id), jsonb_agg(id) from passages"
            " where record_id = any(%s::bigint[])",
            (records.tolist(),),
        )
        owners, passages = [np.array(from_json(column) or (), np.int64) for column in row]
        best = np.full(len(records), np.nan)
        np.fmax.at(best, places_of(owners, records), self.passage_cosines(vector, passages))
        return best

    def sparse_vectors(self, passages: Numbers) -> dict[int, bytes]:
        rows = self._connection.execute(
            "select passage_id, vector from sparse_vectors where passage_id = any(%s::bigint[])",
            (passages.tolist(),),
        )
        # A damaged one is as good as none: ``mend`` drops it, and it is made again.
        return {
            passage: stored[:-BYTES]
            for passage, stored in rows
            if is_whole(stored, passage, len(stored) - BYTES)
        }

    # Records

    def matches_any(self, filters: Filters) -> bool:
        return self.filters.matches_any(self._connection, filters)

    def browse(
        self, filters: Filters, order: Order, limit: int, offset: int, sort: Sequence[str] = ()
    ) -> list[int]:
        where = self.filters.where(self._connection, filters)
        return records.browse(self._connection, where, order, limit, offset, sort)

    def around(
        self, place: tuple[int, int], before: int, after: int, filters: Filters
    ) -> tuple[list[int], list[int]]:
        where = self.filters.where(self._connection, filters)
        return records.around(self._connection, place, before, after, where)

    def sort_values(self, numbers: Numbers, names: Sequence[str]) -> dict[str, Numbers]:
        return records.sort_values(self._connection, numbers, names)

    def counts(self, filters: Filters) -> dict[str, int]:
        return records.counts(self._connection, self.filters.where(self._connection, filters))

    def facet_counts(
        self, records: Numbers, names: Sequence[FacetName], most: int, zone: tzinfo
    ) -> dict[FacetName, FacetCounts]:
        counted: dict[FacetName, FacetCounts] = {}
        for name in names:
            if name in facets.STORED:
                counted[name] = facets.stored(self._connection, name, records, most)
                continue
            if name in facets.CALENDAR:
                values = facets.by_calendar(self._dates(records), facets.CALENDAR[name], zone)
            else:
                values = [*self._values(name, records)]
                if name == "kind":  # a variety is counted beside the kind that has it, too
                    values += self._varieties(records, {kind for kind, _ in values})
            counted[name] = facets.largest(values, most)
        return counted

    def _varieties(self, numbers: Numbers, kinds: Collection[Kind]) -> Iterator[tuple[str, int]]:
        for name, (kind, _) in VARIETIES.items():
            if kind in kinds and (of := int(self._within(numbers, Filters(kinds=(name,))).sum())):
                yield name, of

    def records(self, numbers: Sequence[int]) -> dict[int, Record]:
        return records.fetch(self._connection, numbers)

    def records_called(self, ids: Sequence[RecordId]) -> list[list[int]]:
        return [records.called(self._connection, each) for each in ids]

    def records_with_links(self, numbers: Sequence[int]) -> list[RecordWithLinks]:
        return records.with_links(self._connection, numbers)

    def scopes(self) -> list[Scope]:
        return filters.scopes(self._connection)

    def logged_queries(self, words: Sequence[str], limit: int) -> list[AskedQuery]:
        return search_log.sharing(self._connection, words, limit)

    def logged_beginnings(self, prefix: str, limit: int) -> list[AskedQuery]:
        return search_log.beginning(self._connection, prefix, limit)

    # Passages: where they stand in the text of their record, their neighbours

    def spans(self, passages: Sequence[int]) -> dict[int, PassageSpan]:
        # A summary is shown by the first passage: its words may stand nowhere in the text.
        rows = self._connection.execute(
            "select p.id, s.span_start, s.span_end, s.page, s.above from passages p"
            " join passages s on s.record_id = p.record_id and s.ordinal = greatest(p.ordinal, 0)"
            " where p.id = any(%s::bigint[])",
            (list(passages),),
        )
        return {passage: PassageSpan(*span) for passage, *span in rows}

    def spans_of_records(self, numbers: Sequence[int]) -> dict[int, list[PassageSpan]]:
        spans: dict[int, list[PassageSpan]] = {}
        for record, *span in self._passages_of(numbers, "span_start, span_end, page, above"):
            spans.setdefault(record, []).append(PassageSpan(*span))
        return spans

    def passage_contexts(
        self, passages: Mapping[int, int | None], reach: int
    ) -> dict[int, PassageContext]:
        by_record: dict[int, list[tuple[int, int, int]]] = {}
        for record, *span in self._passages_of(passages, "id, span_start, span_end"):
            by_record.setdefault(record, []).append(tuple(span))
        return {
            record: _with_neighbours(rows, passages[record], reach)
            for record, rows in by_record.items()
        }

    def _passages_of(self, numbers: Collection[int], columns: str) -> Iterator[tuple[Any, ...]]:
        yield from self._connection.execute(
            f"select record_id, {columns} from passages where ordinal >= 0"
            " and record_id = any(%s::bigint[]) order by record_id, ordinal",
            (list(numbers),),
        )

    # Graph

    def successors(self, records: Numbers, filters: Filters) -> Mapping[int, tuple[int, ...]]:
        within = partial(self.filters.passing, self._connection, filters=filters)
        return edges.chains(self._connection, records.tolist(), within)

    def walk(
        self,
        seeds: Collection[int],
        depth: int,
        filters: Filters,
        relations: Collection[str] = (),
    ) -> GraphWalk:
        return self.graph.walk(self._connection, seeds, depth, filters=filters, relations=relations)

    def first_passages(self, records: Sequence[int]) -> dict[int, tuple[int, Kind, str]]:
        return graph.first_passages(self._connection, records)

    def labels(self, numbers: Collection[int]) -> dict[int, GraphLabel]:
        return graph.labels(self._connection, numbers)

    def relationships(
        self, numbers: Sequence[int], filters: Filters
    ) -> dict[int, tuple[Relationship, ...]]:
        return self.graph.relationships(self._connection, numbers, filters)


def _with_neighbours(
    rows: list[tuple[int, int, int]], passage: int | None, reach: int
) -> PassageContext:
    """The ``passage`` among the (passage, start, end) of its record, or else the first one."""
    place = next((at for at, row in enumerate(rows) if row[0] == passage), 0)
    near = rows[max(0, place - reach) : place + reach + 1]
    return PassageContext(
        ordinal=place,
        count=len(rows),
        start=min(start for _, start, _ in near),
        end=max(end for _, _, end in near),
    )
