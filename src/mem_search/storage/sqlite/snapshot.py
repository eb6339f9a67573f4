"""Searches over SQLite: ``SearchStore`` for one file and one embedding model.

A snapshot wraps the connection of a reading thread inside one transaction; the caches of records,
passages and vectors belong to the store, and snapshots bring them up to date. What the graph has is
read by names; SQLite keeps temporary tables on disk where they are large.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from mem_search.errors import StorageError
from mem_search.model import FacetName, Filters, Kind, Order
from mem_search.model.graph import ExportedGraph, GraphPart
from mem_search.model.kind_codes import KIND_CODES
from mem_search.model.rankings import Numbers, PassageColumns, RecordColumns, Values, Vectors
from mem_search.model.statistics import Corpus
from mem_search.storage.rules import bm25
from mem_search.storage.rules.bm25 import CorpusCache
from mem_search.storage.rules.graph import FACETS, MAX_MEMBERS, MAX_SHARED_FILE_ROWS, Hub
from mem_search.storage.sql.graph import Graph, GraphExport
from mem_search.storage.sql.indexing import waiting
from mem_search.storage.sql.snapshot import SearchSnapshot
from mem_search.storage.sqlite import column_blocks, damage, passage_map, record_columns
from mem_search.storage.sqlite import words as word_index
from mem_search.storage.sqlite.column_blocks import Block, Of, absent
from mem_search.storage.sqlite.connection import SqliteConnection
from mem_search.storage.sqlite.damage import named
from mem_search.storage.sqlite.database import Database
from mem_search.storage.sqlite.filters import FILTERS
from mem_search.storage.sqlite.postings import Postings
from mem_search.storage.sqlite.record_columns import Columns, RecordColumnsCache, mask_of, passes
from mem_search.storage.sqlite.vectors import VectorRows
from mem_search.storage.sqlite.words import SqliteVocabulary, WordList
from mem_search.storage.store import View
from mem_search.text import sketch
from mem_search.text.sketch import NO_SKETCHES, Sketches
from mem_search.text.words import WordQuery

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

UNWRITABLE: Final = "nothing can be stored at the moment: {}"
_BLOCKS: Final = 16
"""Blocks of one transaction, in which nothing else is written: some tens of milliseconds."""

MENDED: Final = "{} was damaged and has been made again from the records"


def _members(connection: SqliteConnection, hubs: Collection[Hub]) -> dict[Hub, set[int]]:
    """Records that name each of ``hubs``, at most one more than the limit of each sort.

    One statement with limits inside it, because Python waits for its lock at each row.
    """
    asked = [
        (key, key.removeprefix(f"path:{scope.lower()}:") if key.startswith("path:") else "", scope)
        for key, scope in hubs
    ]
    rows = connection.execute(
        "with hub as materialized (select key as place, value ->> 0 as name, value ->> 1 as path,"
        " value ->> 2 as project from json_each(:hubs))"
        " select (select group_concat(id) from"
        " (select * from (select from_id as id from edges where key = hub.name limit :most)"
        + "".join(
            " union all select * from (select f.record_id from (select record_id from facets"
            f" where name = '{facet}' and value = hub.path limit :scanned) f"
            " join records r on r.id = f.record_id"
            " where hub.project = '' or r.project = hub.project limit :most)"
            for facet in FACETS
        )
        + ")) from hub order by place",
        {"hubs": json.dumps(asked), "most": MAX_MEMBERS + 1, "scanned": MAX_SHARED_FILE_ROWS},
    ).fetchall()
    return {
        hub: set(map(int, listed.split(","))) if listed else set()
        for hub, (listed,) in zip(hubs, rows, strict=True)
    }


GRAPH: Final = Graph(FILTERS.passing, _members)


class SqliteGraph(GraphExport):
    """Parts of the graph in a file."""

    where = staticmethod(FILTERS.where)

    def _gathered(self, connection: SqliteConnection, part: GraphPart) -> ExportedGraph:
        connection.execute("begin")  # from now on all is of one moment
        return super()._gathered(connection, part)

    def _rows(self, connection: SqliteConnection, statement: str) -> Iterator[tuple[Any, ...]]:
        return connection.execute(statement)


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
        postings: Postings,
    ) -> None:
        self._database = database
        self.postings = postings
        self.corpus = corpus
        self.vectors = vectors
        self.chats = chats
        self.reset_caches()

    def reset_caches(self) -> None:
        """Forget what was read: it is read again when it is asked for."""
        self.postings.reset_caches()
        self.passages = self.postings.passage_map
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
            return query(SqliteSnapshot(connection, self.chats, self, changes), *args, **kwargs)

        result = await self._database.read(run)
        self.postings.wake()
        return result

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
        await self.postings.keep_up()
        await self.vectors.fill(self._database)
        await self._database.read(self.words.fill)

    async def store_columns(self, least: int = 0) -> None:
        """Store what a start would read of all records and passages, for the next start.

        Some blocks at a time, and only after ``least`` writes of records: a start reads fewer again
        as quickly. A failure is logged and no more: blocks only save time. So a store that no
        search has read is left as it is.
        """
        if not self.records.is_read:
            return
        try:
            if await self._database.read(column_blocks.writes_since) < least:
                return
            await self._database.write(column_blocks.drop_outdated)
            while await self._database.write(self._store_some):
                pass
        except StorageError as error:
            log.warning("the next start reads the columns of all records anew: %s", error)

    def _store_some(self, connection: sqlite3.Connection) -> bool:
        """Store some of the absent blocks; whether there may be more."""
        some = list(islice(self._absent(connection), _BLOCKS))
        for of, block in some:
            column_blocks.put(connection, of, block)
        return len(some) == _BLOCKS

    def _absent(self, connection: sqlite3.Connection) -> Iterator[tuple[Of, Block]]:
        columns = self.records.current(connection)
        for span in absent(connection, "records", len(columns.kinds)):
            yield "records", record_columns.block_of(columns, span)
        (last,) = connection.execute("select coalesce(max(id), 0) from passages").fetchone()
        known = self.passages.up_to(connection, last)
        owned = (known.records > 0) & columns.exist(known.records)
        for span in absent(connection, "passages", len(owned)):
            yield "passages", passage_map.block_of(known, owned[span], span)

    def close(self) -> None:
        self.vectors.close()

    async def passage_columns(self, passages: Numbers) -> PassageColumns:
        """See ``SearchStore``."""
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
        numbers = tuple((await self.read(lambda snapshot: snapshot.matching(filters))).tolist())
        if version is not None:
            self._matching = {filters: (version, numbers)}
        return numbers


@dataclass(slots=True)
class SqliteSnapshot(SearchSnapshot):
    """``SearchSnapshot`` inside one read transaction of ``connection``.

    ``changes``: the transaction sees at least so many changes of the store.
    """

    filters = FILTERS
    graph = GRAPH

    _connection: SqliteConnection
    _chats: Collection[Kind]
    _caches: SqliteSearchStore
    _changes: int
    _columns: Columns | None = None

    # Words

    def unknown_words(self, words: Sequence[str]) -> list[str]:
        return word_index.unknown(self._connection, words)

    def holders_of(self, words: Sequence[str], most: int) -> list[int]:
        return self._caches.postings.holders(self._connection, words, most)

    def _scored(
        self, query: WordQuery, corpus: Corpus, own: Corpus | None = None
    ) -> tuple[Numbers, Values]:
        return self._caches.postings.scores(self._connection, query, corpus, own)

    def _lessened(
        self, guessed: WordQuery, passages: Numbers, scores: Values, corpus: Corpus
    ) -> Values:
        shares = word_index.scores(self._connection, guessed, passages)
        return bm25.lessened(passages, scores, *shares)

    def _matched(self, query: WordQuery) -> Numbers:
        return self._caches.postings.matched(self._connection, query)

    def _within(self, records: Numbers, filters: Filters) -> NDArray[np.bool_]:
        return passes(self._connection, self._all_columns(), filters, records)

    def _vocabulary(self) -> SqliteVocabulary:
        return SqliteVocabulary(self._connection, self._caches.words)

    # Vectors

    def passage_cosines(self, vector: Vectors, passages: Numbers) -> Values:
        return self._caches.vectors.cosines(self._connection, vector, passages)

    def passage_vectors(self, passages: Numbers) -> tuple[NDArray[np.intp], Vectors]:
        return self._caches.vectors.of_passages(self._connection, passages)

    def passages_within(self, filters: Filters) -> Numbers:
        columns = self._all_columns()
        (last,) = self._connection.execute("select coalesce(max(id), 0) from passages").fetchone()
        owners = self._caches.passages.up_to(self._connection, last).records
        known = np.where(owners < len(columns.kinds), owners, 0)
        within = mask_of(self._connection, columns, filters)[known]
        gone = self._caches.passages.gone(self._connection)
        within[gone[gone < len(within)]] = False
        return np.flatnonzero(within)

    def unindexed_passages(self, limit: int) -> Numbers:
        return np.array(waiting(self._connection, "index", limit), dtype=np.int64)

    def passage_columns(self, passages: Numbers) -> PassageColumns:
        last = int(passages.max(initial=0))
        return self._caches.passages.up_to(self._connection, last).of(passages)

    # Records

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
        suspects = records[sketch.repeated(self._all_columns().heads[records])]
        if not len(suspects):
            return (), NO_SKETCHES
        return damage.sketches_of(self._connection, suspects.tolist())

    def successors(self, records: Numbers, filters: Filters) -> Mapping[int, tuple[int, ...]]:
        superseded = records[self._all_columns().successors[records] > 0]
        return SearchSnapshot.successors(self, superseded, filters)

    def matching(self, filters: Filters) -> Numbers:
        return np.flatnonzero(mask_of(self._connection, self._all_columns(), filters))

    def browse(
        self, filters: Filters, order: Order, limit: int, offset: int, sort: Sequence[str] = ()
    ) -> list[int]:
        if not sort and (filters.metadata or filters.demand is not None):
            numbers = self._all_columns().by_date(self.matching(filters), order)
            return list(map(int, numbers[offset : offset + limit]))
        return SearchSnapshot.browse(self, filters, order, limit, offset, sort)

    def counts(self, filters: Filters) -> dict[str, int]:
        if filters.metadata or filters.demand is not None:
            return self._all_columns().counts(self.matching(filters))
        return SearchSnapshot.counts(self, filters)

    def _dates(self, records: Numbers) -> Numbers:
        columns = self._all_columns()
        return columns.created[records[columns.exist(records)]]

    def _values(self, column: FacetName, records: Numbers) -> Iterable[tuple[str, int]]:
        columns = self._all_columns()
        records = records[columns.exist(records)]  # some may have been deleted since
        if column == "kind":
            codes, times = np.unique(columns.kinds[records], return_counts=True)
            return zip(KIND_CODES.names(codes), times.tolist(), strict=True)
        numbers = columns.projects if column == "project" else columns.sources
        values, times = np.unique(numbers[records], return_counts=True)
        return zip(columns.names[column].texts(values.tolist()), times.tolist(), strict=True)

    def _all_columns(self) -> Columns:
        if self._columns is None:
            self._columns = self._caches.records.current(self._connection)
        return self._columns
