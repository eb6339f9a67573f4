"""A store: its parts, which each engine makes, and what it does as a whole.

A method of a part is named after what it does, and does it in one transaction; no caller sees a
connection. What a method returns is a value that no later write changes. Searches read through
``SearchStore``. Every method raises StorageError when the store cannot be used.
``tests/contracts/test_stores.py`` is the contract as tests.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Concatenate, ParamSpec, Protocol, TypeVar

from mem_search.model import Filters, Kind
from mem_search.model.rankings import Numbers, PassageColumns
from mem_search.model.statistics import Corpus, ReplicaState
from mem_search.storage.sql.access import Limits, Logins, StoredTokens
from mem_search.storage.sql.filters import Scopes
from mem_search.storage.sql.forgetting import StoredForgetting
from mem_search.storage.sql.graph import GraphExport
from mem_search.storage.sql.indexing import Indexing
from mem_search.storage.sql.ingest import Ingest
from mem_search.storage.sql.jobs import StoredJobs
from mem_search.storage.sql.record_writer import Writer
from mem_search.storage.sql.records import Records
from mem_search.storage.sql.redacting import StoredRedacting
from mem_search.storage.sql.search_log import StoredSearchLog
from mem_search.storage.sql.snapshot import SearchSnapshot
from mem_search.storage.sql.statistics import Statistics

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(slots=True)
class View:
    """What one search reads, and how old that may be.

    ``stale_s``: a replica has answered, which may lack what was stored in the last so many seconds;
    None where the store itself has. ``alone``: it was asked although it is too far behind, because
    the store does not answer. ``notices`` are what else a caller should know, such as that nothing
    can be stored.
    """

    stale_s: float | None = None
    alone: bool = False
    notices: tuple[str, ...] = ()


class SearchStore(Protocol):
    """A store as searches see it."""

    def view(self, *, current: bool = False) -> AbstractContextManager[View]:
        """Inside is one search: a replica may answer it, as far as it has what this worker wrote.

        What is read outside, or in a view that has to be ``current``, is what the store itself has.
        Within a view the store never goes back in time.
        """
        ...

    async def read(
        self,
        query: Callable[Concatenate[SearchSnapshot, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Run ``query(snapshot, …)`` in a reading thread. Raises StorageError."""
        ...

    async def corpus(self) -> Corpus:
        """The corpus statistics, at most some seconds old; mostly from memory."""
        ...

    async def passage_columns(self, passages: Numbers) -> PassageColumns:
        """As ``SearchSnapshot.passage_columns``; mostly from memory."""
        ...

    async def revision(self) -> int:
        """A number that grows with every change of a record; from memory while none is written."""
        ...

    def changed(self) -> None:
        """Note that the store has changed, so that the corpus statistics are counted again."""
        ...

    async def fill_caches(self) -> None:
        """Read ahead in small steps what later searches need."""
        ...

    def close(self) -> None:
        """Free the cache of vectors. A search that still runs reads them from the store."""
        ...

    async def matching(self, filters: Filters) -> tuple[int, ...]:
        """As ``SearchSnapshot.matching``; from memory while nothing is written."""
        ...


class Store(ABC):
    """All parts of one open store. Close it when no part is in use any more."""

    records: Records
    ingest: Ingest
    forgetting: StoredForgetting
    redacting: StoredRedacting
    indexing: Indexing
    statistics: Statistics
    jobs: StoredJobs
    graph: GraphExport
    limits: Limits
    logins: Logins
    writer: ClassVar[type[Writer]]
    """What writes records in a transaction, for features that decide there what is written."""

    def __init__(self, database: Any) -> None:
        self.database = database
        self.scopes = Scopes(database)
        self.tokens = StoredTokens(database)
        self.search_log = StoredSearchLog(database)

    def part(self, of: Callable[[Any], T]) -> T:
        """What a feature stores: its class of ``features.NAME.sql``, over this store's database."""
        return of(self.database)

    @property
    @abstractmethod
    def location(self) -> str:
        """The location of the store: the path of its file, or its address."""

    @property
    def replica(self) -> ReplicaState | None:
        """The state of the replica that may answer searches; None without one."""
        return None

    @property
    def unwritable(self) -> str:
        """Why nothing can be stored, and what to do; empty where it can be, or is not known."""
        return ""

    @abstractmethod
    async def put_right(self) -> int:
        """Put right what is no such value in the rows of what runs by itself, and times that a
        clock has left in the future; how many. Called at the opening. Raises StorageError.
        """

    async def odd_rows(self) -> list[str]:
        """What each row was that could not be put right and is set aside, and why."""
        return []

    @abstractmethod
    async def mend(self, *, deep: bool = False) -> list[str]:
        """Make again what is derived from the records and damaged; the names of what was.

        ``deep`` compares the words index with all texts, too, which takes as long as making it.
        Raises StorageError.
        """

    @abstractmethod
    def open_search(
        self, folder: Path, model: int, dimensions: int, chats: Collection[Kind]
    ) -> SearchStore:
        """What searches read; it is closed with the store.

        ``model`` is the number of the embedding space of the queries, ``chats`` are the kinds of
        chat turns. Large caches are files in ``folder``. All that one store opens share the caches
        of its records, so that a second space costs only the cache of its vectors.
        """

    @abstractmethod
    async def watch(self, woken: Callable[[], None]) -> None:
        """Call ``woken`` whenever another worker may have added work, until cancelled.

        Meanwhile what this worker claimed stays its own. Returns at once for a store that only one
        worker can open.
        """

    async def rest(self) -> None:  # noqa: B027  a server has the pages, and nothing to prepare
        """Prepare for the next start, and give back memory that only makes searches quicker."""

    @abstractmethod
    async def copy(self, target: Path, *, vectors: bool) -> int:
        """Write a consistent copy to the new file ``target`` while the store is used.

        Returns how many records it has. Without ``vectors`` the copy embeds all passages again.
        Raises StorageError.
        """

    @abstractmethod
    async def close(self) -> None:
        """Wait for running calls, then close. A second call does nothing."""
