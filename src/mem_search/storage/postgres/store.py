"""The whole store over PostgreSQL: ``storage.store.Store``."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final

from mem_search.errors import Conflict, StorageError
from mem_search.model import Kind
from mem_search.model.access import Allowance, Policy
from mem_search.model.statistics import ReplicaState, StoreSize
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.postgres.database import Database
from mem_search.storage.postgres.filters import where
from mem_search.storage.postgres.migrations import TABLES
from mem_search.storage.postgres.records import PostgresForgetting, PostgresIngest, RecordWriter
from mem_search.storage.postgres.search_store import Caches, PostgresSearchStore
from mem_search.storage.postgres.snapshot import PostgresGraph
from mem_search.storage.postgres.vector_index import PgvectorIndex
from mem_search.storage.postgres.vectors import PostgresIndexing
from mem_search.storage.postgres.workers import LEASE
from mem_search.storage.rules import future_times
from mem_search.storage.rules.future_times import SKEW_MS
from mem_search.storage.sql.access import Limits, Logins, allowance
from mem_search.storage.sql.connection import reads, writes_beside
from mem_search.storage.sql.jobs import StoredJobs
from mem_search.storage.sql.record_writer import remake_sketches
from mem_search.storage.sql.records import Records
from mem_search.storage.sql.redacting import StoredRedacting
from mem_search.storage.sql.statistics import WAITING, Statistics
from mem_search.storage.store import Store
from mem_search.text.dates import now_ms


class PostgresRedacting(StoredRedacting):
    """What the rules were is noted with the owner."""

    writer = RecordWriter


class PostgresStatistics(Statistics):
    """``sql.statistics.Statistics``."""

    complete = f"not exists ({WAITING} and p.record_id = records.id)"
    id_of_store = "select store_id from stores"

    @reads
    def size(self, connection: Connection) -> StoreSize:
        """Of all users: the tables are theirs together."""
        stored = connection.count(
            "select sum(pg_total_relation_size(c.oid)) from pg_class c"
            " where c.relnamespace = to_regnamespace('mem_search') and c.relkind = 'r'"
        )
        return StoreSize(stored)


class PostgresStore(Store):
    """The store of one owner. ``PostgresStore.open`` makes it; always ``close`` it."""

    database: Database
    writer = RecordWriter

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._caches = Caches.of(database)
        self.records = Records(database, where)
        self.ingest = PostgresIngest(database)
        self.forgetting = PostgresForgetting(database)
        self.redacting = PostgresRedacting(database)
        self.indexing = PostgresIndexing(database)
        self.statistics = PostgresStatistics(database)
        self.jobs = StoredJobs(database)
        self.graph = PostgresGraph(database)
        self.limits = PostgresLimits(database)
        self.logins = PostgresLogins(database)

    @classmethod
    async def open(
        cls,
        address: str,
        owner: str,
        home: str = "",
        lease: float = LEASE,
        replica: tuple[str, float] | None = None,
    ) -> PostgresStore:
        """Connect as ``owner``, a user of mem-search, and migrate. Raises StorageError.

        ``home`` names that of this worker, the same after each start. What the worker claims is
        free again ``lease`` seconds after it died.

        ``address`` is ``postgresql://…`` or another connection string of libpq. Its role must not
        be a superuser: that one would see the rows of every owner. ``replica`` is the address of a
        replica that may answer searches, and the seconds that it may be behind.
        """
        store = cls(await Database.open(address, owner, home, lease, replica))
        await store.put_right()
        return store

    async def put_right(self) -> int:
        """See ``Store``. The server has types, so only times can be wrong."""
        return await self.database.write_beside(_times_put_back)

    @property
    def location(self) -> str:
        """Where the server is, without a password."""
        return f"postgresql://{self.database.place}"

    async def mend(self, *, deep: bool = False) -> list[str]:
        """See ``Store``. The server has checksums for the rest, and indexes of its own."""
        remade = await self.database.write(remake_sketches)
        return ["the sketches of near-duplicates"] if remade else []

    @property
    def replica(self) -> ReplicaState | None:
        return None if self.database.replica is None else self.database.replica.state

    def open_search(
        self, folder: Path, model: int, dimensions: int, chats: Collection[Kind]
    ) -> PostgresSearchStore:
        """See ``Store``; nothing is kept in ``folder``."""
        return PostgresSearchStore(self.database, self._caches, model, dimensions, chats)

    async def watch(self, woken: Callable[[], None]) -> None:
        await self.database.watch(woken)

    async def check_whole(self) -> None:
        """Raises StorageError while another store is being moved here."""
        if (await self.database.read(lambda c: c.one("select moving from stores")))[0]:
            raise StorageError(
                f"a store is being moved to {self.location}, and that has not ended; run the same"
                " mem-search migrate store again, which goes on where it ended"
            )

    async def share_key(self, mark: str) -> None:
        """Note by which key names are redacted; ``mark`` identifies it and does not tell it.

        Raises StorageError when the workers of this store have another one.
        """
        noted = await self.database.write(
            lambda c: c.one(
                "update stores set key_mark = coalesce(key_mark, %s) returning key_mark", (mark,)
            )
        )
        if noted[0] != mark:
            raise StorageError(
                f"the store at {self.location} is redacted with another key than this home has;"
                " set MEM_SEARCH_REDACTION_KEY to that of its other workers, or copy their"
                " redaction.key into this home"
            )

    def open_index(self, fingerprint: str, dimensions: int) -> PgvectorIndex:
        """The index over the vectors of a space, not started yet."""
        return PgvectorIndex(self.database, fingerprint, dimensions)

    async def copy(self, target: Path, *, vectors: bool) -> int:
        """Refused: the server's own tools copy it. Raises Conflict."""
        raise Conflict(
            f"the store is in PostgreSQL at {self.database.place}, which mem-search does not copy;"
            " back it up with pg_dump, or with what the server has for it (docs/operations.md)"
        )

    async def erase(self) -> None:
        """Delete every row of this owner, as a file would be deleted. Then close it."""
        await self.database.write(_erased)

    async def close(self) -> None:
        """Wait for running calls, then close. A second call does nothing."""
        await self.database.close()


def _erased(connection: Connection) -> None:
    connection.execute("select 1 from stores for update")  # no other worker writes meanwhile
    for table in TABLES:
        connection.execute(f"delete from {table}")
    connection.execute("delete from record_changes")  # the deletions themselves are noted there


def _times_put_back(connection: Connection) -> int:
    changed = connection.execute(
        "delete from workers where until > clock_timestamp() + interval '1 hour'"
    ).rowcount
    for statement in future_times.STATEMENTS:
        times = statement.count("{now}")
        changed += connection.execute(statement.format(now="%s"), (now_ms(),) * times).rowcount
    return changed


_ONE_AT_A_TIME: Final = """
    select pg_advisory_xact_lock(hashtextextended(
        concat_ws(chr(10), current_setting('mem_search.owner'), %(budget)s::text, %(policy)s::text),
        0))
"""
"""Of one caller and policy; a statement that comes after it sees what the others took."""

_TAKE: Final = """
    with clock as (
        select coalesce(
            %(now)s::bigint, floor(1000 * extract(epoch from clock_timestamp()))::bigint
        ) as now
    ), ours as (
        select id, least(at, now) as at, at > now as ahead, count from granted_requests, clock
        where budget = %(budget)s and policy = %(policy)s and at <= now + %(skew)s
    ), gone as (
        delete from granted_requests g using ours, clock
        where g.id = ours.id and ours.at <= now - %(lasting)s
    ), set_back as (
        update granted_requests g set at = now from ours, clock where g.id = ours.id and ours.ahead
    ), counting as (
        select at, sum(count) over (order by at, id) as upto from ours, clock
        where at > now - %(lasting)s
    ), room as (
        select coalesce(max(upto), 0)::bigint as taken from counting
    ), added as (
        insert into granted_requests(budget, policy, at, count)
        select %(budget)s, %(policy)s, now, %(count)s from clock, room
        where taken + %(count)s <= %(quota)s
        returning 1
    )
    select now, taken, exists(select from added), (
        select at from counting
        where upto >= greatest(1, least(taken + %(count)s - %(quota)s, taken))
        order by upto limit 1
    ) from clock, room
"""


class PostgresLimits(Limits):
    """All workers of a store decide alike; the clock is the server's."""

    @writes_beside
    def take(
        self,
        connection: Connection,
        budget: str,
        policy: Policy,
        count: int = 1,
        *,
        now: int | None = None,
    ) -> Allowance:
        values = {
            "budget": budget, "policy": policy.name, "quota": policy.quota, "count": count,
            "lasting": 1000 * policy.seconds, "now": now, "skew": SKEW_MS,
        }  # fmt: skip
        connection.execute(_ONE_AT_A_TIME, values)
        at, taken, granted, leaving = connection.one(_TAKE, values)
        taken += count if granted else 0
        return allowance(policy, granted, taken, at if leaving is None else leaving, at, count)


class PostgresLogins(Logins):
    """A key for each home of the store, so that any worker takes what another one made."""

    _ADDED = "seq"

    @writes_beside
    def put_key(self, connection: Connection, key: bytes) -> None:
        connection.execute(
            "insert into login_keys(home, key) values(current_setting('mem_search.home'), %s)"
            " on conflict(owner, home) do update set key = excluded.key",
            (key,),
        )
