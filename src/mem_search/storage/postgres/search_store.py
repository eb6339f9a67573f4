"""Searches over PostgreSQL: ``SearchStore`` for one owner and one embedding model.

What is in memory is bounded, whatever the store has: columns of passages (``PassageBlocks``), the
lists of words that were asked for last, and which records passed the filters that were asked for
last. The latter two hold for one revision of the store, whichever worker writes. What a replica has
shown is kept apart from what the primary has: either may be at a moment that the other one is not.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from mem_search.model import Filters, Kind
from mem_search.model.kind_codes import KIND_CODES
from mem_search.model.rankings import Numbers, PassageColumns
from mem_search.model.statistics import Corpus
from mem_search.storage.postgres import replica
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.postgres.database import Database
from mem_search.storage.postgres.filters import where
from mem_search.storage.postgres.snapshot import PostgresSnapshot
from mem_search.storage.postgres.word_lists import WordLists
from mem_search.storage.rules.bm25 import CorpusCache
from mem_search.storage.sql.snapshot import SearchSnapshot
from mem_search.storage.sql.statistics import corpus
from mem_search.storage.store import View

Rows = NDArray[np.intp]

BLOCK: Final = 1 << 14
"""Passages of a block, which one statement reads."""

MAX_BLOCKS: Final = 256
"""Blocks that are kept: 4 million passages, 60 MB."""

MAX_READ_ALONE: Final = BLOCK // 64
"""So few passages of a block are read alone when there is no room for another block."""


@dataclass(slots=True)
class PassageBlocks:
    """The blocks of one store; those that were asked for last are kept. Thread-safe."""

    most: int = field(default_factory=lambda: MAX_BLOCKS)
    _kept: OrderedDict[int, PassageColumns] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _reading: threading.Lock = field(default_factory=threading.Lock)

    def __len__(self) -> int:
        return len(self._kept)

    def of(self, connection: Connection, passages: Numbers) -> PassageColumns:
        """The columns of ``passages``, as ``connection`` sees them."""
        columns, lacking = self._in_memory(passages)
        alone: list[Rows] = []
        for number, rows in lacking:
            if len(rows) <= MAX_READ_ALONE and len(self._kept) >= self.most:
                alone.append(rows)
            else:
                last = int(passages[rows].max())
                _look_up(columns, rows, number, self._block(connection, number, last))
        if alone:
            rows = np.concatenate(alone)
            columns.put(rows, _read_alone(connection, passages[rows]))
        return columns

    def known(self, passages: Numbers) -> PassageColumns | None:
        """The columns of ``passages`` if all of them are in memory."""
        columns, lacking = self._in_memory(passages)
        return None if lacking else columns

    def all(self, connection: Connection, last: int) -> Iterator[PassageColumns]:
        """The columns of every passage up to ``last``, a block at a time.

        Where there is no room for a block it is read and not kept: kept ones would only take turns.
        """
        for number in range(last // BLOCK + 1):
            end = min(last, (number + 1) * BLOCK - 1)
            block = self._kept_block(number)
            if block is not None and _has(block, number, end):
                yield block
            elif len(self._kept) < self.most:
                yield self._block(connection, number, end)
            else:
                yield _extended(connection, number, block)

    def _in_memory(self, passages: Numbers) -> tuple[PassageColumns, list[tuple[int, Rows]]]:
        """What is in memory, and the rows that are lacking, by the number of their block."""
        columns = PassageColumns.of_none(passages)
        lacking: list[tuple[int, Rows]] = []
        for number, rows in _by_block(passages):
            block = self._kept_block(number)
            if block is None or not _has(block, number, int(passages[rows].max())):
                lacking.append((number, _as_array(rows)))
            else:
                _look_up(columns, rows, number, block)
        return columns, lacking

    def _kept_block(self, number: int) -> PassageColumns | None:
        with self._lock:
            if number not in self._kept:
                return None
            self._kept.move_to_end(number)
            return self._kept[number]

    def _block(self, connection: Connection, number: int, last: int) -> PassageColumns:
        """The block, read as far as it has to be for the passage ``last``."""
        with self._reading:
            block = self._kept_block(number)
            if block is not None and _has(block, number, last):
                return block  # another thread has just read it
            block = _extended(connection, number, block)
            with self._lock:
                self._kept[number] = block
                self._kept.move_to_end(number)
                while len(self._kept) > self.most:
                    self._kept.popitem(last=False)
            return block


def _by_block(passages: Numbers) -> Iterator[tuple[int, slice | Rows]]:
    """The number of each block that has some of ``passages``, and their rows.

    The rows are a slice if the passages are in order: a slice takes no copy.
    """
    if not len(passages):
        return
    order: NDArray[np.intp] | None = None
    if (passages[1:] < passages[:-1]).any():
        order = np.argsort(passages, kind="stable")
        passages = passages[order]
    numbers = np.arange(passages[0] // BLOCK, passages[-1] // BLOCK + 2)
    ends = np.searchsorted(passages, numbers * BLOCK).tolist()
    for number, first, end in zip(numbers.tolist(), ends, ends[1:], strict=False):
        if first < end:
            yield number, slice(first, end) if order is None else order[first:end]


def _has(block: PassageColumns, number: int, passage: int) -> bool:
    return passage < number * BLOCK + len(block)


def _as_array(rows: slice | Rows) -> Rows:
    return np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows


def _look_up(into: PassageColumns, rows: slice | Rows, number: int, block: PassageColumns) -> None:
    """Set the columns at ``rows``; those beyond the block do not exist."""
    places = into.passages[rows] - number * BLOCK
    if places.max() >= len(block):
        inside = places < len(block)
        places, rows = places[inside], _as_array(rows)[inside]
    into.put(rows, block, places)


def _extended(connection: Connection, number: int, block: PassageColumns | None) -> PassageColumns:
    """``block`` with what was stored since it was read."""
    start = number * BLOCK
    known = 0 if block is None else len(block)
    read = _read(connection, "id >= %s and id < %s", (start + known, start + BLOCK))
    size = max(known, int(read.passages.max(initial=-1)) - start + 1)
    larger = PassageColumns.of_none(np.arange(start, start + size))
    if block is not None:
        larger.put(slice(0, known), block)
    larger.put(read.passages - start, read)
    return larger


def _read_alone(connection: Connection, passages: Numbers) -> PassageColumns:
    """The columns of ``passages``, without their blocks."""
    read = _read(connection, "id = any(%s)", (passages.tolist(),))
    columns = PassageColumns.of_none(passages)
    order = np.argsort(read.passages)
    known = read.taken(order)
    places = np.searchsorted(known.passages, passages).clip(max=max(0, len(known) - 1))
    rows = np.flatnonzero(known.passages[places] == passages) if len(known) else places[:0]
    columns.put(rows, known.taken(places[rows]))
    return columns


def _read(connection: Connection, condition: str, values: Sequence[Any]) -> PassageColumns:
    """The ranking columns of the passages that meet ``condition``, in no order."""
    ids, records, kinds, code, lengths = connection.execute(
        "select string_agg(int8send(id), ''::bytea), string_agg(int8send(record_id), ''::bytea),"
        " string_agg(kind, chr(10)), string_agg(int4send((field = 'code')::int), ''::bytea),"
        " string_agg(int4send(span_end - span_start), ''::bytea) from passages"
        f" where {condition}",
        values,
        binary=True,
    ).fetchall()[0]
    return PassageColumns(
        np.frombuffer(ids or b"", ">i8").astype(np.int64),
        np.frombuffer(records or b"", ">i8").astype(np.int64),
        KIND_CODES.codes(kinds.split("\n") if ids else ()),
        np.frombuffer(code or b"", ">i4").astype(np.bool_),
        np.frombuffer(lengths or b"", ">i4").astype(np.int32),
    )


P = ParamSpec("P")
T = TypeVar("T")

_MAX_NUMBERS: Final = 4_000_000
"""Numbers of records that are kept for filters: 32 MB."""


def revision_of(connection: Connection) -> int:
    """The revision of what ``connection`` sees."""
    return connection.count("select max(revision) from record_changes")


@dataclass(slots=True)
class FilterCache:
    """Which records passed the filters that were asked for last, as of one revision."""

    _revision: int = -1
    _known: dict[Filters, Numbers] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def of(self, connection: Connection, filters: Filters, revision: int) -> Numbers:
        """The numbers of the records within ``filters``, in order."""
        with self._lock:
            known = self._known.get(filters) if revision == self._revision else None
        if known is not None:
            return known
        condition, values = where(connection, filters)
        ids = np.sort(connection.numbers(f"select r.id from records r where {condition}", values))
        with self._lock:
            if revision > self._revision:
                self._revision = revision
                self._known.clear()
            if revision == self._revision:
                self._known[filters] = ids
                while sum(map(len, self._known.values())) > _MAX_NUMBERS:
                    self._known.pop(next(iter(self._known)))
        return ids


@dataclass(slots=True)
class Caches:
    """What the searches of one store share, whatever their embedding model.

    Those of a replica are ``of_replica``, and never the same.
    """

    corpus: CorpusCache[Connection]
    passages: PassageBlocks = field(default_factory=PassageBlocks)
    lists: WordLists = field(default_factory=WordLists)
    within: FilterCache = field(default_factory=FilterCache)
    revision: int = -1
    """The newest that a snapshot has seen."""
    of_replica: Caches | None = None

    @classmethod
    def of(cls, database: Database) -> Caches:
        caches = cls(CorpusCache(database, corpus))
        if database.replica is not None:
            caches.of_replica = cls(CorpusCache(database, corpus))
        return caches

    def at(self, *, replica: bool) -> Caches:
        """Those of the server that is read."""
        return self.of_replica if replica and self.of_replica is not None else self

    def changed(self) -> None:
        """Note that this worker has changed the store."""
        self.corpus.changed()
        if self.of_replica is not None:
            self.of_replica.corpus.changed()

    def seen(self, revision: int) -> int:
        """Note the revision that a snapshot sees; how many changes of the store it knows."""
        if revision > self.revision:
            self.revision = revision
            self.corpus.changed()
        return self.corpus.changes


class PostgresSearchStore:
    """The searches of one store. ``chats`` are the kinds of chat turns."""

    def __init__(
        self,
        database: Database,
        caches: Caches,
        model: int,
        dimensions: int,
        chats: Collection[Kind],
    ) -> None:
        self._database = database
        self._caches = caches
        self._model = model
        self._dimensions = dimensions
        self._chats = chats

    async def read(
        self,
        query: Callable[Concatenate[SearchSnapshot, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Run ``query(snapshot, …)`` in a reading thread. Raises StorageError."""

        def run(connection: Connection, is_replica: bool) -> T:
            caches = self._caches.at(replica=is_replica)
            return query(self._snapshot(connection, caches), *args, **kwargs)

        return await self._database.search(run)

    def _snapshot(self, connection: Connection, caches: Caches) -> PostgresSnapshot:
        revision = revision_of(connection)
        changes = caches.seen(revision)
        return PostgresSnapshot(
            connection, self._chats, caches, self._model, self._dimensions, revision, changes
        )

    def view(self, *, current: bool = False) -> AbstractContextManager[View]:
        """See ``SearchStore``."""
        if self._database.replica is None:
            return nullcontext(View())
        return replica.current() if current else self._database.replica.view()

    def changed(self) -> None:
        self._caches.changed()

    async def corpus(self) -> Corpus:
        """See ``SearchStore``; of the server that answers the current search."""
        known = self._caches_of_view().corpus.known()
        return await self.read(lambda snapshot: snapshot.corpus()) if known is None else known

    async def revision(self) -> int:
        return await self._database.search(lambda connection, _: revision_of(connection))

    async def fill_caches(self) -> None:
        """Nothing is read ahead: the server has the vectors and the words."""

    def close(self) -> None:
        """Nothing is left to free."""

    async def passage_columns(self, passages: Numbers) -> PassageColumns:
        """See ``SearchStore``."""
        known = self._caches_of_view().passages.known(passages)
        if known is not None:
            return known
        return await self.read(lambda snapshot: snapshot.passage_columns(passages))

    def _caches_of_view(self) -> Caches:
        read_from = self._database.replica
        return self._caches.at(replica=read_from is not None and read_from.answers())

    async def matching(self, filters: Filters) -> tuple[int, ...]:
        """The numbers of all records within ``filters``; from memory while nothing is written."""
        numbers = await self.read(lambda snapshot: snapshot.matching(filters))
        return tuple(np.asarray(numbers).tolist())
