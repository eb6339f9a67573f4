"""What there is of a store over PostgreSQL: everything of ``ports.Store`` but searches and
copies. Until it has these, no setting opens it (ADR 0048).
"""

from __future__ import annotations

from mem_search.storage.postgres.archives import PostgresArchives
from mem_search.storage.postgres.database import Database
from mem_search.storage.postgres.forgetting import PostgresForgetting
from mem_search.storage.postgres.graph_export import PostgresGraph
from mem_search.storage.postgres.indexing import PostgresIndexing
from mem_search.storage.postgres.ingest import PostgresIngest
from mem_search.storage.postgres.jobs import PostgresDeliveries, PostgresJobs, PostgresSearchJobs
from mem_search.storage.postgres.records import PostgresRecords
from mem_search.storage.postgres.redacting import PostgresRedacting
from mem_search.storage.postgres.research import (
    PostgresResearch,
    PostgresSearchLog,
    PostgresTokens,
)
from mem_search.storage.postgres.saved_searches import PostgresSavedSearches, PostgresScopes
from mem_search.storage.postgres.statistics import PostgresStatistics


class PostgresStore:
    """The store of one owner. ``PostgresStore.open`` makes it; always ``close`` it."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.records = PostgresRecords(database)
        self.ingest = PostgresIngest(database)
        self.forgetting = PostgresForgetting(database)
        self.redacting = PostgresRedacting(database)
        self.indexing = PostgresIndexing(database)
        self.statistics = PostgresStatistics(database)
        self.jobs = PostgresJobs(database)
        self.research = PostgresResearch(database)
        self.search_jobs = PostgresSearchJobs(database)
        self.saved_searches = PostgresSavedSearches(database)
        self.deliveries = PostgresDeliveries(database)
        self.scopes = PostgresScopes(database)
        self.archives = PostgresArchives(database)
        self.graph = PostgresGraph(database)
        self.tokens = PostgresTokens(database)
        self.search_log = PostgresSearchLog(database)

    @classmethod
    async def open(cls, address: str, owner: str) -> PostgresStore:
        """Connect as ``owner``, a user of mem-search, and migrate. Raises StorageError.

        ``address`` is ``postgresql://…`` or another connection string of libpq. Its role must not
        be a superuser: that one would see the rows of every owner.
        """
        return cls(await Database.open(address, owner))

    @property
    def location(self) -> str:
        """Where the server is, without a password."""
        return f"postgresql://{self.database.place}"

    async def close(self) -> None:
        """Wait for running calls, then close. A second call does nothing."""
        await self.database.close()
