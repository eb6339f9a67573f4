"""Searches read from a replica: a real one, streaming from a real server."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from made_migrations import register

from drafts import draft, prepared
from mem_search.cli import doctor
from mem_search.errors import InputError, StorageError
from mem_search.model import Filters, Location, SearchRequest
from mem_search.model.access import Policy
from mem_search.renderers.schema import HowSearched, to_values
from mem_search.settings import Settings
from mem_search.storage.postgres import database as of_postgres
from mem_search.storage.postgres import migrations, replica_monitor
from mem_search.storage.postgres import replica as of_replica
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.postgres.migrations import SCHEMA
from mem_search.storage.postgres.replica_monitor import ReplicaMonitor
from mem_search.storage.postgres.store import PostgresStore
from mem_search.storage.store import SearchStore, View
from mem_search.text.words import any_of, read
from mem_search.wiring import open_runtime
from patience import PATIENCE, becomes, comes_true
from postgres_server import ROLE, Server, replicated, server
from runtimes import fill, small

HERE = Location("test", "/repo")
HOURS = 3600.0
"""A limit that no test reaches."""


@contextmanager
def hanging(*processes: int) -> Iterator[None]:
    """They do nothing, and keep their connections."""
    for each in processes:
        with suppress(ProcessLookupError):
            os.kill(each, signal.SIGSTOP)
    try:
        yield
    finally:
        for each in processes:
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGCONT)


@dataclass(frozen=True)
class Servers:
    primary: Server
    replica: Server

    @contextmanager
    def paused(self) -> Iterator[None]:
        """What is written meanwhile reaches the replica, which does not show it."""
        self.replica.query("select pg_wal_replay_pause()")
        try:
            yield
        finally:
            self.replica.query("select pg_wal_replay_resume()")

    @contextmanager
    def without(self, gone: Server) -> Iterator[None]:
        gone.stop("immediate")
        try:
            yield
        finally:
            gone.start()


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with replicated() as both:
        yield Servers(*both)


@dataclass
class Worker:
    """A worker's store, and its searches."""

    store: PostgresStore
    searches: SearchStore
    view: View = field(default_factory=View)
    """Of the last search."""

    async def fill(self, *names: str, gone: tuple[str, ...] = ()) -> None:
        drafts = [draft(name, f"lighthouse {name}") for name in names]
        batch = prepared(*drafts, deletions=gone)
        await self.store.ingest.store_batch(HERE, batch, followed=True)

    async def search(self, *, current: bool = False) -> set[str]:
        """The records with a word that all have, as they are found in several reads."""
        with self.searches.view(current=current) as self.view:
            numbers = await self.searches.read(_found)
            corpus = await self.searches.corpus()
            names = await self.searches.read(_named, numbers)
        assert corpus.size >= len(names)
        return names

    async def answered(self, *, by_replica: bool = True) -> set[str]:
        """What a search finds, as soon as it is read from the replica, or from the primary."""
        return await becomes(self.search, lambda _: (self.view.stale_s is not None) == by_replica)

    def state(self) -> str:
        assert self.store.replica is not None
        return self.store.replica.state

    def detail(self) -> str:
        assert self.store.replica is not None
        return self.store.replica.detail


def _found(snapshot: Any) -> list[int]:
    query = any_of(read("lighthouse"))
    assert query is not None
    _, matches = snapshot.word_matches(query, Filters(kinds=("note",)), 10)
    return [int(number) for number in matches.records]


def _named(snapshot: Any, numbers: list[int]) -> set[str]:
    return {record.source_id for record in snapshot.records(numbers).values()}


def _in_recovery(snapshot: Any) -> bool:
    return bool(snapshot._connection.one("select pg_is_in_recovery()")[0])


Opens = Callable[..., Awaitable[Worker]]


@pytest.fixture(autouse=True)
def unhurried(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine is no fault of the replica, except where a test breaks it."""
    if request.cls is not TestServersThatFail:
        monkeypatch.setattr(replica_monitor, "SILENT_SECONDS", PATIENCE)
        monkeypatch.setattr(of_replica, "_SECONDS", PATIENCE)


@pytest.fixture
async def opens(servers: Servers) -> AsyncIterator[Opens]:
    """Opens a worker of a new owner; a further one of the same owner is another worker."""
    owner, opened = uuid4().hex, []

    async def opens(
        limit: float = HOURS, of: str = owner, primary: str = "", replica: str = ""
    ) -> Worker:
        store = await PostgresStore.open(
            primary or servers.primary.address(),
            of,
            replica=(replica or servers.replica.address(), limit),
        )
        opened.append(store)
        return Worker(store, store.open_search(Path(), 1, 8, ()))

    yield opens
    for store in opened:
        await store.close()


@pytest.fixture
async def worker(opens: Opens) -> Worker:
    return await opens()


class TestWhoAnswers:
    async def test_a_search_is_read_from_the_replica_and_says_so(self, worker: Worker) -> None:
        await worker.fill("a")
        assert await worker.answered() == {"a"}
        assert (worker.state(), worker.view.alone) == ("used", False)
        with worker.searches.view():
            assert await worker.searches.read(_in_recovery)

    async def test_what_is_no_search_and_what_has_to_be_current_is_read_from_the_primary(
        self, worker: Worker
    ) -> None:
        await worker.answered()
        assert not await worker.searches.read(_in_recovery)
        with worker.searches.view():
            assert await worker.searches.read(_in_recovery)
            with worker.searches.view(current=True):
                assert not await worker.searches.read(_in_recovery)
        assert await worker.search(current=True) == set()
        assert worker.view.stale_s is None

    async def test_rows_of_another_user_are_invisible_there(
        self, worker: Worker, opens: Opens
    ) -> None:
        other = await opens(of=uuid4().hex)
        await other.fill("his")
        await worker.fill("hers")
        assert await worker.answered() == {"hers"}
        assert await other.answered() == {"his"}
        everybody = "select source_id from records"
        with worker.searches.view():
            seen = await worker.store.database.search(lambda c, _: c.column(everybody))
            role = await worker.store.database.search(lambda c, _: c.one("select current_user"))
        assert seen == ["hers"]
        assert role[0].startswith("mem_search_searching_")


class TestWhatItLacks:
    async def test_an_own_write_is_seen_at_once_though_nothing_is_replayed(
        self, worker: Worker, servers: Servers
    ) -> None:
        await worker.fill("a")
        await worker.answered()
        with servers.paused():
            await worker.fill("b")
            assert await worker.search() == {"a", "b"}
            assert worker.view.stale_s is None
            assert "what this worker has written" in worker.detail()
        assert await worker.answered() == {"a", "b"}

    async def test_what_no_search_reads_does_not_keep_the_replica_from_answering(
        self, worker: Worker, servers: Servers
    ) -> None:
        await worker.answered()
        with servers.paused():
            await worker.store.limits.take("ada", Policy("searches", 10, 3600))
            await worker.search()
            assert worker.view.stale_s is not None

    async def test_what_others_wrote_may_be_lacking_and_searches_of_both_servers_stay_right(
        self, worker: Worker, opens: Opens, servers: Servers
    ) -> None:
        other = await opens()
        await other.fill("a", "gone")
        await worker.answered()
        with servers.paused():
            await other.fill("b", gone=("gone",))
            for _ in range(3):  # each from what it has in memory by now
                assert await worker.search() == {"a", "gone"}
                assert worker.view.stale_s is not None
                assert await worker.search(current=True) == {"a", "b"}
        await becomes(worker.answered, lambda found: found == {"a", "b"})

    async def test_one_that_is_further_behind_than_the_limit_is_left(
        self, opens: Opens, servers: Servers
    ) -> None:
        worker, other = await opens(limit=4.0), await opens()
        await worker.answered()
        with servers.paused():
            await other.fill("a")
            await comes_true(lambda: worker.state() == "behind")
            assert "MEM_SEARCH_STORE_REPLICA_LAG (4 s)" in worker.detail()
            assert await worker.search() == {"a"}
            assert worker.view.stale_s is None
        assert await worker.answered() == {"a"}

    async def test_an_idle_primary_makes_no_replica_old(
        self, opens: Opens, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monitor = ReplicaMonitor("postgresql:///a", "postgresql:///b")
        now = 100.0
        clock = "mem_search.storage.postgres.replica_monitor.time.monotonic"
        monkeypatch.setattr(clock, lambda: now)
        for at, place in ((1.0, 10), (50.0, 20), (99.0, 20)):
            monitor._note(at, place)
        assert [monitor.behind(each) for each in (25, 20, 19, 10)] == [1.0, 1.0, 99.0, 99.0]
        assert monitor.behind(9) == float("inf")
        assert (monitor.place_after(98.0), monitor.place_after(99.0)) == (20, None)
        monitor._note(100.0, 5)  # another server: nothing of the former one counts
        assert (monitor.behind(20), monitor.behind(4)) == (0.0, float("inf"))

    async def test_a_search_that_has_read_the_primary_stays_there(
        self, worker: Worker, servers: Servers
    ) -> None:
        await worker.answered()
        with worker.searches.view() as view:
            with servers.paused():
                await worker.fill("a")
                assert not await worker.searches.read(_in_recovery)
            await comes_true(lambda: worker.state() == "used")
            assert not await worker.searches.read(_in_recovery)
        assert view.stale_s is None

    async def test_a_write_whose_place_is_unknown_waits_for_the_next_look(
        self, worker: Worker, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await worker.answered()
        monkeypatch.setattr("mem_search.storage.postgres.replica.WRITTEN", "select 1/0")
        await worker.fill("a")
        assert await worker.search() == {"a"}
        assert await worker.answered() == {"a"}


class TestServersThatFail:
    async def test_a_killed_replica_is_left_without_an_error_and_used_again_when_it_is_back(
        self, worker: Worker, servers: Servers
    ) -> None:
        await worker.fill("a")
        await worker.answered()
        with servers.without(servers.replica):
            for _ in range(3):
                assert await worker.search() == {"a"}
                assert worker.view.stale_s is None
            assert worker.state() == "away"
            await worker.fill("b")
            assert await worker.search() == {"a", "b"}
        assert await worker.answered() == {"a", "b"}
        assert worker.state() == "used"

    async def test_one_that_dies_within_a_search_leaves_the_rest_to_the_primary(
        self, worker: Worker, servers: Servers
    ) -> None:
        await worker.answered()
        with worker.searches.view():
            assert await worker.searches.read(_in_recovery)
            with servers.without(servers.replica):
                assert not await worker.searches.read(_in_recovery)

    async def test_one_that_hangs_is_left(self, worker: Worker, servers: Servers) -> None:
        await worker.fill("a")
        await worker.answered()
        pids = servers.replica.query("select pid from pg_stat_activity").split()
        with hanging(*map(int, pids)):
            with worker.searches.view():
                assert not await worker.searches.read(_in_recovery)
            assert worker.state() == "away"
            assert await worker.search() == {"a"}
        assert await worker.answered() == {"a"}

    async def test_it_answers_alone_while_the_primary_is_away(
        self, opens: Opens, servers: Servers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(of_postgres, "_SECONDS", 4.0)  # that a call waits for the server
        worker = await opens()
        await worker.fill("a")
        await worker.answered()
        with servers.without(servers.primary):
            await comes_true(lambda: worker.state() == "alone")
            assert await worker.search() == {"a"}
            assert worker.view.stale_s is not None
            with pytest.raises(StorageError, match="start the server"):
                await worker.search(current=True)
        await comes_true(lambda: worker.state() != "alone")
        assert await worker.answered() == {"a"}

    async def test_a_server_that_takes_writes_is_no_replica(
        self, opens: Opens, servers: Servers
    ) -> None:
        worker = await opens(replica=servers.primary.address())
        await comes_true(lambda: "takes writes" in worker.detail())
        await worker.search()
        assert worker.view.stale_s is None

    async def test_a_replica_of_another_server_is_not_read(self, opens: Opens) -> None:
        worker = await opens(primary=server().address())
        await comes_true(lambda: "of another server" in worker.detail())
        await worker.search()
        assert worker.view.stale_s is None

    async def test_another_database_of_the_server_is_not_read(
        self, opens: Opens, servers: Servers
    ) -> None:
        name = f"t{uuid4().hex[:12]}"
        servers.primary.create_database(name)
        await (await PostgresStore.open(servers.primary.address(name), "ada")).close()
        worker = await opens(replica=servers.replica.address(name))
        await comes_true(lambda: "of another server or database" in worker.detail())

    async def test_one_that_has_not_got_the_store_yet_is_used_when_it_has(
        self, opens: Opens, servers: Servers
    ) -> None:
        name = f"t{uuid4().hex[:12]}"
        with servers.paused():
            servers.primary.create_database(name)
            places = (each.address(name) for each in (servers.primary, servers.replica))
            worker = await opens(HOURS, "ada", *places)
            await comes_true(lambda: "does not exist" in worker.detail())
            await worker.fill("a")
            assert await worker.search() == {"a"}
        assert await worker.answered() == {"a"}

    async def test_one_with_an_older_schema_is_not_read(
        self, servers: Servers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def later(connection: Connection) -> None:
            connection.execute("create table later(x int)")

        register(monkeypatch, later, engine=migrations)
        name, step = f"t{uuid4().hex[:12]}", "later"
        servers.primary.create_database(name)
        address = servers.primary.address(name)
        await (await PostgresStore.open(address, "ada")).close()
        applied = f"{SCHEMA}.migrations"
        servers.primary.query(f"delete from {applied} where name = '{step}'", name)
        monitor = ReplicaMonitor.of(address, servers.replica.address(name))
        try:
            await comes_true(lambda: "schema is older" in monitor.trouble)
            servers.primary.query(f"insert into {applied}(name) values('{step}')", name)
            await comes_true(lambda: monitor.is_readable)
        finally:
            monitor.release()

    async def test_one_that_was_promoted_is_left(self, opens: Opens) -> None:
        with replicated() as (primary, replica):
            worker = await opens(primary=primary.address(), replica=replica.address())
            await worker.fill("a")
            await worker.answered()
            replica.promote()
            without_triggers = "set session_replication_role = replica"
            replica.query(f"{without_triggers}; delete from mem_search.records", "mem_search")
            assert await worker.answered(by_replica=False) == {"a"}
            await comes_true(lambda: "takes writes" in worker.detail())
            await worker.store.close()

    async def test_the_stores_of_a_process_share_a_lookout(
        self, worker: Worker, opens: Opens
    ) -> None:
        before = len(ReplicaMonitor._shared)
        other = await opens(of=uuid4().hex)
        assert len(ReplicaMonitor._shared) == before
        await other.store.close()
        await worker.answered()
        await worker.store.close()
        await worker.store.close()
        assert len(ReplicaMonitor._shared) == before - 1


class TestAWholeWorker:
    async def test_a_reply_says_that_a_replica_answered_and_what_may_be_missing(
        self, servers: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(of_postgres, "_SECONDS", 4.0)  # that a call waits for the server
        settings = small(
            tmp_path,
            store=servers.primary.address(),
            store_owner=uuid4().hex,
            store_replica=servers.replica.address(),
            store_replica_lag=4.0,
            chroma_url="",
        )
        async with open_runtime(settings) as runtime:
            await fill(runtime, draft("a", "the lighthouse keeper"))

            async def search(**how: bool) -> Any:
                request = SearchRequest("lighthouse keeper")
                return await runtime.search.service.search(request, "http", **how)

            page = await becomes(search, lambda page: page.report.stale_s is not None)
            assert [each.record.source_id for each in page.results] == ["a"]
            assert {leg.name: leg.state for leg in page.report.legs} == {
                "keyword": "ok", "vector": "ok",
            }  # fmt: skip
            told = to_values(HowSearched.of(page.report))
            assert told["stale_s"] == round(page.report.stale_s, 3)
            assert not told["notices"]
            current = await search(current=True)
            assert "stale_s" not in to_values(HowSearched.of(current.report))
            with servers.without(servers.primary):
                page = await becomes(search, lambda page: "does not answer" in str(page.report))
            assert [each.record.source_id for each in page.results] == ["a"]


class TestSettings:
    ADDRESS = "postgresql://ada:s3cret@there/db"

    def read(self, home: Path, **values: str) -> Settings:
        named = {f"MEM_SEARCH_{name.upper()}": value for name, value in values.items()}
        return Settings.read({"MEM_SEARCH_HOME": str(home), **named})

    def test_a_replica_needs_a_primary(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="MEM_SEARCH_STORE_REPLICA needs MEM_SEARCH_STORE="):
            self.read(tmp_path, store_replica=self.ADDRESS)

    @pytest.mark.parametrize("lag", ["0", "-1", "soon", "inf", "nan"])
    def test_a_limit_is_a_number_of_seconds(self, tmp_path: Path, lag: str) -> None:
        with pytest.raises(InputError, match="seconds, more than 0"):
            self.read(tmp_path, store_replica_lag=lag)

    async def test_no_password_is_shown(self, tmp_path: Path) -> None:
        settings = self.read(tmp_path, store=self.ADDRESS, store_replica=self.ADDRESS)
        assert "s3cret" not in repr(settings)
        with pytest.raises(InputError) as error:
            self.read(tmp_path, store=self.ADDRESS, store_replica="mysql://ada:s3cret@there/db")
        assert "s3cret" not in error.value.message
        assert "MEM_SEARCH_STORE_REPLICA" in error.value.message

    async def test_an_address_that_nobody_can_read_names_its_setting(self) -> None:
        with pytest.raises(
            StorageError, match="MEM_SEARCH_STORE_REPLICA is not a PostgreSQL address"
        ):
            await PostgresStore.open(server().address(), "ada", replica=(f"{self.ADDRESS}?x=y", 1))

    async def test_a_state_has_no_password(self, opens: Opens, tmp_path: Path) -> None:
        away = f"postgresql://{ROLE}:s3cret@/db?host={tmp_path}"
        worker = await opens(replica=away)
        await comes_true(lambda: str(tmp_path) in worker.detail())
        assert "s3cret" not in str(worker.store.replica)


def test_doctor_says_who_answers() -> None:
    def told(**state: Any) -> tuple[str, str]:
        replica = {"place": "b/db", "lag_s": 0.4, "detail": "", **state}
        (finding,) = doctor.replica({"replica": replica})
        return finding.state, finding.detail

    assert told(state="used") == ("ok", "b/db answers searches, 0.4 s behind")
    assert told(state="alone", detail="the primary does not answer")[0] == "missing"
    state, detail = told(state="away", lag_s=None, detail="it is off")
    assert (state, detail) == ("advice", "b/db: it is off; the primary answers searches")
    assert not list(doctor.replica({"replica": None}))
