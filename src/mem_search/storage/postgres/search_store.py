"""Searches over PostgreSQL: ``ports.SearchStore`` for one owner and one embedding model.

What is in memory is bounded, whatever the store has: columns of passages (``passage_blocks``), the
lists of words that were asked for last, and which records passed the filters that were asked for
last. The latter two hold for one revision of the store, whichever worker writes. What a replica has
shown is kept apart from what the primary has: either may be at a moment that the other one is not.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Concatenate, Final, ParamSpec, TypeVar

import numpy as np

from mem_search.model import Filters, Kind
from mem_search.model.rankings import Numbers, PassageColumns
from mem_search.model.statistics import Corpus
from mem_search.storage.ports.search import SearchSnapshot, View
from mem_search.storage.postgres import replica
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.postgres.database import Database
from mem_search.storage.postgres.filters import where
from mem_search.storage.postgres.passage_blocks import PassageBlocks
from mem_search.storage.postgres.snapshot import PostgresSnapshot
from mem_search.storage.postgres.word_lists import WordLists
from mem_search.storage.rules.bm25 import CorpusCache
from mem_search.storage.sql.statistics import corpus

P = ParamSpec("P")
T = TypeVar("T")

_MAX_NUMBERS: Final = 4_000_000
"""Numbers of records that are kept for filters: 32 MB."""


def revision_of(connection: Connection) -> int:
    """The revision of what ``connection`` sees."""
    return connection.count("select max(revision) from record_changes")


@dataclass(slots=True)
class Within:
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
        found = np.sort(connection.numbers(f"select r.id from records r where {condition}", values))
        with self._lock:
            if revision > self._revision:
                self._revision = revision
                self._known.clear()
            if revision == self._revision:
                self._known[filters] = found
                while sum(map(len, self._known.values())) > _MAX_NUMBERS:
                    self._known.pop(next(iter(self._known)))
        return found


@dataclass(slots=True)
class Caches:
    """What the searches of one store share, whatever their embedding model.

    Those of a replica are ``of_replica``, and never the same.
    """

    corpus: CorpusCache[Connection]
    passages: PassageBlocks = field(default_factory=PassageBlocks)
    lists: WordLists = field(default_factory=WordLists)
    within: Within = field(default_factory=Within)
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
        """See ``ports.SearchStore``."""
        if self._database.replica is None:
            return nullcontext(View())
        return replica.current() if current else self._database.replica.view()

    def changed(self) -> None:
        self._caches.changed()

    async def corpus(self) -> Corpus:
        """See ``ports.SearchStore``; of the server that answers the current search."""
        known = self._caches_of_view().corpus.known()
        return await self.read(lambda snapshot: snapshot.corpus()) if known is None else known

    async def revision(self) -> int:
        return await self._database.search(lambda connection, _: revision_of(connection))

    async def fill_caches(self) -> None:
        """Nothing is read ahead: the server has the vectors and the words."""

    def close(self) -> None:
        """Nothing is left to free."""

    async def passage_columns(self, passages: Numbers) -> PassageColumns:
        """See ``ports.SearchStore``."""
        known = self._caches_of_view().passages.known(passages)
        if known is not None:
            return known
        return await self.read(lambda snapshot: snapshot.passage_columns(passages))

    def _caches_of_view(self) -> Caches:
        read_from = self._database.replica
        return self._caches.at(replica=read_from is not None and read_from.answers())

    async def matching(self, filters: Filters) -> tuple[int, ...]:
        """The numbers of all records within ``filters``; from memory while nothing is written."""
        found = await self.read(lambda snapshot: snapshot.matching(filters))
        return tuple(np.asarray(found).tolist())
