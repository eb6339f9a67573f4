"""A store: its parts, which each engine makes, and what it does as a whole.

A method of a part is named after what it does, and does it in one transaction; no caller sees a
connection. What a method returns is a value that no later write changes. Searches read through
``SearchStore``. Every method raises StorageError when the store cannot be used.
``tests/contracts/test_stores.py`` is the contract as tests.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from mem_search.model import Kind
from mem_search.model.statistics import ReplicaState
from mem_search.storage.ports.search import SearchStore
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
from mem_search.storage.sql.statistics import Statistics

T = TypeVar("T")


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
