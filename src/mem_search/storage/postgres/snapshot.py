"""One consistent view of the store: ``SearchSnapshot`` over PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from mem_search.model import FacetName, Filters, Kind, Order
from mem_search.model.arrays import are_among
from mem_search.model.kind_codes import KIND_CODES
from mem_search.model.rankings import Numbers, PassageColumns, RecordColumns, Values, Vectors
from mem_search.model.statistics import Corpus
from mem_search.storage.postgres import vectors
from mem_search.storage.postgres import words as word_index
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.postgres.filters import FILTERS
from mem_search.storage.postgres.word_lists import Phrase, PostingList
from mem_search.storage.postgres.words import PostgresVocabulary
from mem_search.storage.rules import bm25
from mem_search.storage.rules.checksums import is_whole
from mem_search.storage.rules.graph import FACETS, MAX_MEMBERS, MAX_SHARED_FILE_ROWS, Hub
from mem_search.storage.sql.graph import Graph, GraphExport
from mem_search.storage.sql.snapshot import SearchSnapshot
from mem_search.text import sketch
from mem_search.text.sketch import HEAD, NO_SKETCHES, WORDS, Sketches
from mem_search.text.words import WordQuery

if TYPE_CHECKING:
    from mem_search.storage.postgres.search_store import Caches


_MAX_FEW_DATED: Final = 2000
"""Of so few records the dates are read by their keys at once; also the first part by date."""

_CHEAPER: Final = 8
"""Dates in order are read so much faster than dates by key: 200,000 in .2 s, 20,000 in 1.5 s where
neither was in memory."""


def _members(connection: Connection, hubs: Collection[Hub]) -> dict[Hub, set[int]]:
    """Records that name each of ``hubs``, at most one more than the limit of each sort."""
    paths = [
        key.removeprefix(f"path:{scope.lower()}:") if key.startswith("path:") else ""
        for key, scope in hubs
    ]
    of_facets = "".join(
        " union all (select f.record_id from (select record_id from facets"
        f" where name = '{facet}' and value = h.path limit %(scanned)s) f"
        " join records r on r.id = f.record_id where h.project = '' or r.project = h.project"
        " limit %(most)s)"
        for facet in FACETS
    )
    rows = connection.execute(
        "select array((select from_id from edges where key = h.name limit %(most)s)"
        f"{of_facets}) from unnest(%(names)s::text[], %(paths)s::text[], %(projects)s::text[])"
        " with ordinality h(name, path, project, place) order by h.place",
        {
            "names": [key for key, _ in hubs],
            "paths": paths,
            "projects": [scope for _, scope in hubs],
            "most": MAX_MEMBERS + 1,
            "scanned": MAX_SHARED_FILE_ROWS,
        },
    ).fetchall()
    return {hub: set(records) for hub, (records,) in zip(hubs, rows, strict=True)}


GRAPH: Final = Graph(FILTERS.passing, _members)


class PostgresGraph(GraphExport):
    """Parts of the graph of one owner."""

    where = staticmethod(FILTERS.where)
    temporary = " on commit drop"

    def _rows(self, connection: Connection, statement: str) -> Iterator[tuple[Any, ...]]:
        """The rows of ``statement`` by a cursor of the server, some hundreds at a time."""
        with connection.cursor(name="exported") as cursor:
            cursor.itersize = 500
            yield from cursor.execute(statement)


@dataclass(slots=True)
class PostgresSnapshot(SearchSnapshot):
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
        return word_index.unknown(self._connection, self._caches.lists, words, self._revision)

    def _scored(
        self, query: WordQuery, corpus: Corpus, own: Corpus | None = None
    ) -> tuple[Numbers, Values]:
        tree = word_index.compiled(query)
        lists = self._lists(tree)
        statistics = word_index.statistics(self._connection)
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
        return word_index.scored(tree, lists, statistics)

    def _lessened(
        self, guessed: WordQuery, passages: Numbers, scores: Values, corpus: Corpus
    ) -> Values:
        some, shares = self._scored(guessed, corpus)
        among = are_among(some, passages)
        return bm25.lessened(passages, scores, some[among], shares[among])

    def _lists(self, tree: word_index.Tree) -> dict[Phrase, PostingList]:
        phrases = word_index.phrases_of(tree)
        return self._caches.lists.of(self._connection, phrases, self._revision)

    def _matched(self, query: WordQuery) -> Numbers:
        tree = word_index.compiled(query)
        return word_index.matching(tree, self._lists(tree))

    def _within(self, records: Numbers, filters: Filters) -> NDArray[np.bool_]:
        return are_among(records, self.matching(filters))

    def _vocabulary(self) -> PostgresVocabulary:
        return PostgresVocabulary(self._connection)

    # Vectors

    def passage_cosines(self, vector: Vectors, passages: Numbers) -> Values:
        return vectors.passage_cosines(self._connection, self._model, vector, passages)

    def passage_vectors(self, passages: Numbers) -> tuple[NDArray[np.intp], Vectors]:
        return vectors.passage_vectors(self._connection, self._model, self._dimensions, passages)

    def passages_within(self, filters: Filters) -> Numbers:
        records = self.matching(filters)
        last = self._connection.count("select passages from stores")
        passages = [
            block.passages[are_among(block.records, records)]
            for block in self._caches.passages.all(self._connection, last)
        ]
        return np.concatenate(passages)

    def unindexed_passages(self, limit: int) -> Numbers:
        return self._connection.numbers(
            "select passage_id from outbox where step = 'index' order by passage_id limit %s",
            (limit,),
        )

    def passage_columns(self, passages: Numbers) -> PassageColumns:
        return self._caches.passages.of(self._connection, passages)

    # Records

    def columns(self, records: Numbers) -> RecordColumns:
        rows = self._connection.execute(
            "select id, case when session = '' then 0 else"
            # The same for one conversation in every snapshot, and positive.
            " 1 + abs(hashtextextended(session || chr(10) || project, 0) / 2) end,"
            " position, created_at, coalesce(importance, 'NaN') from records where id = any(%s)",
            (records.tolist(),),
            binary=True,
        ).fetchall()
        known = {row[0]: row[1:] for row in rows}
        absent = (0, 0, 0, float("nan"))
        ordered = [known.get(number, absent) for number in records.tolist()]
        conversations, positions, created, importance = (
            zip(*ordered, strict=True) if ordered else [()] * 4
        )
        exist: NDArray[np.bool_] = np.array([n in known for n in records.tolist()], np.bool_)
        return RecordColumns(
            exist,
            np.array(conversations, np.int64),
            np.array(positions, np.int32),
            np.array(created, np.int64),
            np.array(importance, np.float64),
        )

    def first_by_date(self, records: Numbers, order: Order, limit: int) -> tuple[Numbers, Numbers]:
        """``records`` are in order, each once.

        The first of many records are mostly among the first of the store, so the store is looked
        through by date, in parts that grow. Where that would cost more, all are read by their keys.
        """
        first, dates, looked = np.zeros(0, np.int64), np.zeros(0, np.int64), 0
        sign, last = (1 if order == "date_asc" else -1), None
        while (
            looked < _CHEAPER * len(records)
            and len(records) > _MAX_FEW_DATED
            and len(first) < limit
        ):
            size = max(_MAX_FEW_DATED, looked)
            numbers, created = self._from(sign, last, size)
            inside = are_among(numbers, records)
            first = np.concatenate([first, numbers[inside]])
            dates = np.concatenate([dates, created[inside]])
            looked += size
            if len(numbers) < size:
                return first[:limit], dates[:limit]
            last = int(created[-1]), int(numbers[-1])
        if len(first) < limit:
            first, dates = self._dated(
                "select id, created_at from records where id = any(%s)", (records.tolist(),)
            )
            rows = np.lexsort((sign * first, sign * dates))
            first, dates = first[rows], dates[rows]
        return first[:limit], dates[:limit]

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

    def _from(self, sign: int, last: tuple[int, int] | None, size: int) -> tuple[Numbers, Numbers]:
        """The next ``size`` records of the store after ``last``, by date, and their dates."""
        direction, after = ("asc", ">") if sign > 0 else ("desc", "<")
        condition = "" if last is None else f"where (created_at, id) {after} (%s, %s)"
        numbers, dates = self._dated(
            f"select id, created_at from records {condition}"
            f" order by created_at {direction}, id {direction} limit %s",
            (*(last or ()), size),
        )
        rows = np.lexsort((sign * numbers, sign * dates))
        return numbers[rows], dates[rows]

    def _dated(self, statement: str, values: Sequence[Any]) -> tuple[Numbers, Numbers]:
        """The rows (number, date) of ``statement``, in no order."""
        numbers, dates = self._connection.execute(
            "select string_agg(int8send(n), ''::bytea), string_agg(int8send(d), ''::bytea)"
            f" from ({statement}) f(n, d)",
            values,
            binary=True,
        ).fetchall()[0]
        return (
            np.frombuffer(numbers or b"", ">i8").astype(np.int64),
            np.frombuffer(dates or b"", ">i8").astype(np.int64),
        )
