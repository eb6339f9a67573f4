"""Searches over SQLite: the port ``storage/ports/search`` for one file and one embedding model.

A snapshot wraps the connection of a reading thread inside one transaction; the caches of records,
passages and vectors belong to the store, and snapshots bring them up to date.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import tzinfo
from typing import Concatenate, Final, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from mem_search.model import FacetCounts, FacetName, Filters, Kind, Order, Record
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
    distinct,
)
from mem_search.model.records import RecordWithLinks
from mem_search.model.requests import Scope
from mem_search.model.statistics import AskedQuery, Corpus
from mem_search.storage.ports.search import Counted, Names, SearchSnapshot, View
from mem_search.storage.rules import bm25
from mem_search.storage.rules.corpus_cache import CorpusCache
from mem_search.storage.rules.near_duplicates import repeated
from mem_search.storage.rules.wild_words import expand
from mem_search.storage.sql import graph, scopes, search_log
from mem_search.storage.sql import passages as of_passages
from mem_search.storage.sqlite import (
    facet_counts,
    fulltext,
    outbox,
    records,
    sketches,
    successions,
    vocabulary,
)
from mem_search.storage.sqlite import filters as sql_filters
from mem_search.storage.sqlite.connection import SqliteConnection
from mem_search.storage.sqlite.database import Database
from mem_search.storage.sqlite.derived import named
from mem_search.storage.sqlite.graph import GRAPH
from mem_search.storage.sqlite.passage_map import PassageMapCache
from mem_search.storage.sqlite.postings import PostingsCache
from mem_search.storage.sqlite.record_columns import Columns, RecordColumnsCache
from mem_search.storage.sqlite.record_masks import mask_of, passes
from mem_search.storage.sqlite.stored_columns import StoredColumns
from mem_search.storage.sqlite.vector_rows import VectorRows
from mem_search.storage.sqlite.word_list import WordList
from mem_search.text.names import Name
from mem_search.text.record_ids import RecordId
from mem_search.text.sketch import NO_SKETCHES, Sketches
from mem_search.text.words import WordQuery

P = ParamSpec("P")
T = TypeVar("T")

_NAMES: Final = {
    "title": vocabulary.titles,
    "project": vocabulary.projects,
    "tag": vocabulary.tags,
    "file": vocabulary.files,
}


UNWRITABLE: Final = "nothing can be stored at the moment: {}"
MENDED: Final = "{} was damaged and has been made again from the records"


class SqliteSearchStore:
    """The searches of one store.

    ``vectors`` are those of the model that embeds the questions, ``chats`` the kinds of chat turns.
    """

    def __init__(
        self,
        database: Database,
        corpus: CorpusCache[SqliteConnection],
        vectors: VectorRows,
        chats: Collection[Kind],
    ) -> None:
        self._database = database
        self.corpus = corpus
        self.vectors = vectors
        self.chats = chats
        self.start_anew()

    def start_anew(self) -> None:
        """Forget what was read: it is read again when it is asked for."""
        self.passages = PassageMapCache()
        self.postings = PostingsCache(self.passages)
        self.records = RecordColumnsCache(self.corpus.changed)
        self.words = WordList()
        self._revision: tuple[int, int] | None = None
        self._matching: dict[Filters, tuple[int, tuple[int, ...]]] = {}

    async def read(
        self,
        query: Callable[Concatenate[SearchSnapshot, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Run ``query(snapshot, …)`` in a reading thread. Raises StorageError."""
        changes = self.corpus.changes

        def run(connection: SqliteConnection) -> T:
            return query(SqliteSnapshot(connection, self, changes), *args, **kwargs)

        return await self._database.read(run)

    @contextmanager
    def view(self, *, current: bool = False) -> Iterator[View]:
        """Everything is read from the one file, which may be one that cannot be written."""
        view, before = View(), len(self._database.mended)
        yield view
        notices = [UNWRITABLE.format(reason)] if (reason := self._database.as_it_is.reason) else []
        if mended := self._database.mended[before:]:
            notices.append(MENDED.format(named(mended)))
        view.notices = tuple(notices)

    def changed(self) -> None:
        self.corpus.changed()

    async def revision(self) -> int:
        version, known = self._database.version(), self._revision
        if known is not None and known[0] == version:
            return known[1]
        revision = (await self._database.read(self.records.current)).revision
        self._revision = None if version is None else (version, revision)
        return revision

    async def fill_caches(self) -> None:
        await self.vectors.fill(self._database)

    async def store_columns(self, least: int = 0) -> None:
        """Store what a start would read of all records and passages, for the next start.

        Only after ``least`` writes of records: a start reads fewer again as quickly.
        """
        columns = StoredColumns(self.records, self.passages, self.postings)
        await columns.store(self._database, least)

    def close(self) -> None:
        self.vectors.close()

    async def passage_columns(self, passages: Numbers) -> PassageColumns:
        """See ``ports.SearchStore``."""
        known = self.passages.known
        last = int(passages.max(initial=0))
        if last >= len(known.records):
            known = await self._database.read(self.passages.up_to, last)
        return known.of(passages)

    async def matching(self, filters: Filters) -> tuple[int, ...]:
        """The numbers of all records within ``filters``; from memory while nothing is written."""
        version = self._database.version()
        known = self._matching.get(filters)
        if known is not None and known[0] == version:
            return known[1]
        found = tuple((await self.read(lambda snapshot: snapshot.matching(filters))).tolist())
        if version is not None:
            self._matching = {filters: (version, found)}
        return found


@dataclass(slots=True)
class SqliteSnapshot:
    """``SearchSnapshot`` inside one read transaction of ``connection``.

    ``changes``: the transaction sees at least so many changes of the store.
    """

    _connection: SqliteConnection
    _store: SqliteSearchStore
    _changes: int
    _columns: Columns | None = None

    # Words

    def word_matches(
        self, query: WordQuery, filters: Filters, depth: int, guessed: WordQuery | None = None
    ) -> tuple[Candidates, Matches]:
        """See ``SearchSnapshot``. Chat turns have a length correction (``bm25.for_chats``)."""
        corpus = self.corpus()
        own = bm25.own_statistics(corpus, filters.kinds) if filters else None
        passages, scores = self._store.postings.scores(self._connection, query, corpus, own)
        found = self.passage_columns(passages)
        if filters:
            inside = passes(self._connection, self._all_columns(), filters, found.records)
            found, scores = found.taken(inside), scores[inside]
        if guessed is not None:
            scores = fulltext.lessened(self._connection, guessed, found.passages, scores)
        scores = bm25.for_chats(scores, found, own or corpus, self._store.chats)
        best = found.best(scores)
        return best.candidates(depth), Matches(best.records, best.scores, best.kinds)

    def records_with_words(self, query: WordQuery) -> Numbers:
        passages = fulltext.matched(self._connection, query)
        return distinct(self.passage_columns(passages).records)

    def holders(self, name: Name, filters: Filters, most: int) -> Candidates:
        passages = fulltext.matched(self._connection, name.query)
        if filters:
            records = self.passage_columns(passages).records
            passages = passages[passes(self._connection, self._all_columns(), filters, records)]
        if not 0 < len(passages) <= bm25.COMPARED:
            return NO_CANDIDATES
        passages, scores = fulltext.holding(self._connection, name, passages)
        best = self.passage_columns(passages).best(scores)
        return best.candidates(most) if len(best.records) <= most else NO_CANDIDATES

    def expand_words(self, wild: Sequence[str]) -> dict[str, tuple[str, ...]]:
        return expand(vocabulary.Lookup(self._connection, self._store.words), wild)

    def unknown_words(self, words: Sequence[str]) -> list[str]:
        return fulltext.unknown(self._connection, words)

    def similar_words(self, word: str) -> list[Counted]:
        return vocabulary.like(self._connection, word)

    def words_beginning_with(self, prefix: str, limit: int) -> list[Counted]:
        return vocabulary.beginning_with(self._connection, prefix, limit)

    def names_beginning_with(self, names: Names, prefix: str, limit: int) -> list[Counted]:
        return _NAMES[names](self._connection, prefix, limit)

    def values_of(self, field: str, most: int = vocabulary.MAX_VALUES) -> list[str]:
        return vocabulary.values_of(self._connection, field, most)

    # Vectors

    def record_cosines(self, vector: Vectors, records: Numbers) -> Values:
        # One row, because Python waits for its lock at each row.
        row = self._connection.execute(
            "select json_group_array(record_id), json_group_array(id) from passages"
            " where record_id in (select value from json_each(?))",
            (json.dumps(records.tolist()),),
        ).fetchone()
        owners, passages = [np.array(json.loads(column), dtype=np.int64) for column in row]
        cosines = self.passage_cosines(vector, passages)
        order = np.argsort(records)
        rows = order[np.searchsorted(records, owners, sorter=order)]
        best = np.full(len(records), np.nan)
        np.fmax.at(best, rows, cosines)
        return best

    def passage_cosines(self, vector: Vectors, passages: Numbers) -> Values:
        return self._store.vectors.cosines(self._connection, vector, passages)

    def passage_vectors(self, passages: Numbers) -> tuple[NDArray[np.intp], Vectors]:
        return self._store.vectors.of_passages(self._connection, passages)

    def passages_within(self, filters: Filters) -> Numbers:
        columns = self._all_columns()
        (last,) = self._connection.execute("select coalesce(max(id), 0) from passages").fetchone()
        owners = self._store.passages.up_to(self._connection, last).records
        known = np.where(owners < len(columns.kinds), owners, 0)
        return np.flatnonzero(mask_of(self._connection, columns, filters)[known])

    def unindexed_passages(self, limit: int) -> Numbers:
        return np.array(outbox.waiting(self._connection, "index", limit), dtype=np.int64)

    def passage_columns(self, passages: Numbers) -> PassageColumns:
        last = int(passages.max(initial=0))
        return self._store.passages.up_to(self._connection, last).of(passages)

    # Records

    def corpus(self) -> Corpus:
        return self._store.corpus.current(self._connection, self._changes)

    def columns(self, records: Numbers) -> RecordColumns:
        columns = self._all_columns()
        exist = columns.exist(records)
        if not exist.all():
            records = np.where(exist, records, 0)  # 0 is no record
        sessions = columns.sessions[records].astype(np.int64)
        return RecordColumns(
            exist,
            np.where(sessions > 0, (sessions << 32) | columns.projects[records], 0),
            columns.positions[records],
            columns.created[records],
            columns.importance[records],
        )

    def first_by_date(self, records: Numbers, order: Order, limit: int) -> tuple[Numbers, Numbers]:
        columns = self._all_columns()
        first = columns.by_date(records[columns.exist(records)], order)[:limit]
        return first, columns.created[first]

    def near_duplicate_sketches(self, records: Numbers) -> tuple[Sequence[int], Sketches]:
        # The beginnings of sketches, in memory, show that most pages have nothing to fold.
        suspects = records[repeated(self._all_columns().heads[records])]
        if not len(suspects):
            return (), NO_SKETCHES
        return sketches.of_records(self._connection, suspects.tolist())

    def successors(self, records: Numbers, filters: Filters) -> Mapping[int, tuple[int, ...]]:
        superseded = records[self._all_columns().successors[records] > 0]
        if not len(superseded):
            return {}
        return successions.chains(self._connection, superseded.tolist(), filters)

    def matching(self, filters: Filters) -> Numbers:
        return np.flatnonzero(mask_of(self._connection, self._all_columns(), filters))

    def matches_any(self, filters: Filters) -> bool:
        return sql_filters.is_met(self._connection, filters)

    def browse(
        self, filters: Filters, order: Order, limit: int, offset: int, sort: Sequence[str] = ()
    ) -> list[int]:
        if not sort and (filters.metadata or filters.demand is not None):
            numbers = self._all_columns().by_date(self.matching(filters), order)
            return list(map(int, numbers[offset : offset + limit]))
        return records.browse(self._connection, filters, order, limit, offset, sort)

    def sort_values(self, numbers: Numbers, names: Sequence[str]) -> dict[str, Numbers]:
        return records.sort_values(self._connection, numbers, names)

    def around(
        self, place: tuple[int, int], before: int, after: int, filters: Filters
    ) -> tuple[list[int], list[int]]:
        return records.around(self._connection, place, before, after, filters)

    def counts(self, filters: Filters) -> dict[str, int]:
        if filters.metadata or filters.demand is not None:
            return self._all_columns().counts(self.matching(filters))
        return records.counts(self._connection, filters)

    def facet_counts(
        self, records: Numbers, names: Sequence[FacetName], most: int, zone: tzinfo
    ) -> dict[FacetName, FacetCounts]:
        columns = self._all_columns()
        return facet_counts.counted(self._connection, columns, records, names, most, zone)

    def records(self, numbers: Sequence[int]) -> dict[int, Record]:
        return records.fetch(self._connection, numbers)

    def records_called(self, ids: Sequence[RecordId]) -> list[list[int]]:
        return [records.called(self._connection, each) for each in ids]

    def records_with_links(self, numbers: Sequence[int]) -> list[RecordWithLinks]:
        return records.with_links(self._connection, numbers)

    def scopes(self) -> list[Scope]:
        return scopes.scopes(self._connection)

    def logged_queries(self, words: Sequence[str], limit: int) -> list[AskedQuery]:
        return search_log.sharing(self._connection, words, limit)

    # Passages

    def spans(self, passages: Sequence[int]) -> dict[int, PassageSpan]:
        return of_passages.spans(self._connection, passages)

    def spans_of_records(self, numbers: Sequence[int]) -> dict[int, list[PassageSpan]]:
        return of_passages.spans_of_records(self._connection, numbers)

    def passage_contexts(
        self, passages: Mapping[int, int | None], reach: int
    ) -> dict[int, PassageContext]:
        return of_passages.contexts(self._connection, passages, reach)

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

    def _all_columns(self) -> Columns:
        if self._columns is None:
            self._columns = self._store.records.current(self._connection)
        return self._columns
