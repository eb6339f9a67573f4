"""The store over PostgreSQL beyond the contract: servers that cannot hold it, users, workers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from drafts import draft, prepared
from mem_search.cli import local_checks
from mem_search.errors import Conflict, InputError, StorageError
from mem_search.features.saved_searches.model import StoredPlan
from mem_search.features.saved_searches.sql import SavedSearchStore
from mem_search.features.search_jobs.sql import SearchJobStore
from mem_search.features.webhooks import sql as deliveries
from mem_search.features.webhooks.sql import DeliveryStore
from mem_search.model import Filters, LedgerEntry, Location
from mem_search.model.webhooks import Message
from mem_search.settings import Settings
from mem_search.storage.postgres import database as of_postgres
from mem_search.storage.postgres.migrations import SCHEMA, TABLES
from mem_search.storage.postgres.store import PostgresStore
from patience import PATIENCE
from postgres_server import ROLE, Server, server

HERE = Location("test", "/repo")
Opens = Callable[..., Awaitable[PostgresStore]]


@pytest.fixture
def database() -> str:
    """The name of a new database."""
    name = f"t{uuid4().hex[:12]}"
    server().create_database(name)
    return name


@pytest.fixture
async def opens() -> AsyncIterator[Opens]:
    """Opens the store of a new owner, once for each worker; all are in one database."""
    owner, opened = uuid4().hex, []

    async def opens(of: str = owner) -> PostgresStore:
        opened.append(await PostgresStore.open(server().address(), of))
        return opened[-1]

    yield opens
    for store in opened:
        await store.close()


@pytest.fixture
async def store(opens: Opens) -> PostgresStore:
    return await opens()


async def fill(store: PostgresStore, *names: str, **batch: Any) -> None:
    await store.ingest.store_batch(HERE, prepared(*map(draft, names), **batch), followed=True)


async def stored_again(store: PostgresStore) -> dict[str, int]:
    """What is stored, as soon as the server that was started again answers."""
    async with asyncio.timeout(PATIENCE):
        while True:
            with suppress(StorageError):
                return await stored(store)


async def stored(store: PostgresStore) -> dict[str, int]:
    page, _ = await store.records.page(Filters(), "date_asc", 1000, 0)
    return {record.source_id: record.number for record, _ in page}


async def refused(address: str, **options: Any) -> str:
    """The message with which a store at ``address`` is refused: one line."""
    with pytest.raises(StorageError) as error:
        await PostgresStore.open(address, "ada")
    assert "\n" not in error.value.message
    return error.value.message


class TestServersThatCannotHoldAStore:
    async def test_one_that_is_away_is_named_without_the_password(self, tmp_path: Path) -> None:
        said = await refused(f"postgresql://ada:s3cret@/db?host={tmp_path}")
        assert str(tmp_path) in said
        assert "start the server, or correct MEM_SEARCH_STORE" in said
        assert "s3cret" not in said

    async def test_a_database_that_does_not_exist_is_to_be_created(self) -> None:
        assert "there is no such database; create it" in await refused(server().address("nothing"))

    async def test_an_address_of_another_form_is_not_tried(self) -> None:
        assert "it has the form postgresql://" in await refused("postgresql://ada@host/db?x=y")

    async def test_a_role_that_sees_everything_is_refused(self, database: str) -> None:
        said = await refused(server().address(database, role="postgres"))
        assert "create an ordinary role" in said

    async def test_a_database_without_pgvector_says_what_to_run(self, database: str) -> None:
        server().query("drop extension vector", database)
        assert "CREATE EXTENSION vector" in await refused(server().address(database))
        assert server().query(f"select to_regnamespace('{SCHEMA}')", database) == ""

    async def test_a_database_that_only_reads_is_refused(self, database: str) -> None:
        server().query(f"alter database {database} set default_transaction_read_only = on")
        assert "connect to the primary" in await refused(server().address(database))

    async def test_one_in_another_encoding_is_refused(self) -> None:
        server().query("drop database if exists latin")
        server().query(
            f"create database latin owner {ROLE} encoding 'LATIN1' locale 'C' template template0"
        )
        assert "UTF8" in await refused(server().address("latin"))

    async def test_the_schema_of_another_program_is_left_alone(self, database: str) -> None:
        server().query(f"create schema {SCHEMA} create table theirs(x int)", database)
        assert "is another program's" in await refused(server().address(database))

    async def test_a_store_of_a_newer_version_is_left_alone(self, database: str) -> None:
        await (await PostgresStore.open(server().address(database), "ada")).close()
        server().query(f"insert into {SCHEMA}.migrations(name) values('m999_x')", database)
        assert "newer mem-search (m999_x)" in await refused(server().address(database))

    async def test_a_migration_that_fails_leaves_nothing(self, database: str) -> None:
        server().query(f"alter role {ROLE} in database {database} set statement_timeout = 1")
        await refused(server().address(database))
        assert server().query(f"select to_regnamespace('{SCHEMA}')", database) == ""

    def test_a_setting_that_names_no_server_is_refused(self, tmp_path: Path) -> None:
        named = {"MEM_SEARCH_HOME": str(tmp_path), "MEM_SEARCH_STORE": "mysql://a:s3cret@b/c"}
        with pytest.raises(InputError, match="postgresql://USER") as error:
            Settings.read(named)
        assert "s3cret" not in error.value.message
        named["MEM_SEARCH_STORE"] = "postgresql://a:s3cret@b/c"
        assert "s3cret" not in repr(Settings.read(named))
        with pytest.raises(InputError, match="store_owner"):
            Settings.read({**named, "MEM_SEARCH_STORE_OWNER": " "})

    async def test_doctor_tells_what_the_server_is_or_lacks(
        self, database: str, tmp_path: Path
    ) -> None:
        settings = Settings(home=tmp_path, store=server().address(database))
        found = local_checks.database(settings)
        assert (found.state, "no store yet" in found.detail) == ("ok", True)
        await (await PostgresStore.open(settings.store, "ada")).close()
        assert "with pgvector" in local_checks.database(settings).detail
        away = local_checks.database(replace(settings, store="postgresql://a:s3cret@/b?host=/no"))
        assert (away.state, "start the server" in away.fix) == ("missing", True)
        assert "s3cret" not in away.detail

    def test_doctor_tells_what_the_first_start_could_not_make(
        self, database: str, tmp_path: Path
    ) -> None:
        settings = Settings(home=tmp_path, store=server().address(database))
        server().query("drop extension vector", database)
        found = local_checks.database(settings)
        assert (found.state, "CREATE EXTENSION vector" in found.fix) == ("missing", True)
        server().query("create extension vector", database)
        server().query(f"alter database {database} owner to postgres")
        found = local_checks.database(settings)
        assert (found.state, "grant it CREATE" in found.fix) == ("missing", True)
        server().query(f"grant create on database {database} to {ROLE}")
        assert "no store yet" in local_checks.database(settings).detail
        assert server().query(f"select to_regnamespace('{SCHEMA}')", database) == ""
        assert (
            local_checks.chroma(settings).detail == "none: PostgreSQL searches its vectors itself"
        )

    async def test_a_copy_is_refused_with_what_to_use(self, store: PostgresStore) -> None:
        with pytest.raises(Conflict, match="pg_dump"):
            await store.copy(Path("copy.db"), vectors=True)


class TestOwners:
    async def test_erasing_leaves_no_row_of_the_owner_and_every_row_of_others(
        self, store: PostgresStore, opens: Opens
    ) -> None:
        await fill(store, "a", "b")
        other = await opens(uuid4().hex)
        await fill(other, "a")
        await store.erase()
        for table in TABLES:
            count = f"select count(*) from {table}"
            assert await store.database.write(lambda c, s=count: c.count(s)) == 0, table
        assert await stored(other) == {"a": 1}

    async def test_a_statement_that_names_no_owner_sees_its_own_rows(
        self, store: PostgresStore, opens: Opens
    ) -> None:
        await fill(store, "a", "b")
        other = await opens(uuid4().hex)
        await fill(other, "a")
        assert await stored(other) == {"a": 1}
        assert await stored(store) == {"a": 1, "b": 2}
        assert await other.database.read(lambda c: c.count("select count(*) from passages")) == 1
        assert await other.database.write(lambda c: c.execute("delete from records").rowcount) == 1
        assert await stored(store) == {"a": 1, "b": 2}
        assert await other.statistics.store_id() != await store.statistics.store_id()

    async def test_nobody_writes_a_row_of_another_owner(self, store: PostgresStore) -> None:
        row = "insert into scopes(owner, name, filter, created_at) values('bob', 'x', '', 1)"
        with pytest.raises(StorageError, match="row-level security"):
            await store.database.write(lambda c: c.execute(row).rowcount)

    async def test_every_table_has_the_owner_first_in_its_key_and_a_policy(
        self, store: PostgresStore
    ) -> None:
        tables = f"select relname from pg_class where relnamespace = '{SCHEMA}'::regnamespace"
        unguarded = server().query(
            f"{tables} and relkind = 'r' and not (relrowsecurity and relforcerowsecurity)",
            "mem_search",
        )
        assert unguarded == "migrations"
        indexed = "select indexdef from pg_indexes where schemaname = 'mem_search'"
        # An index of vectors has the rows of one owner and one model.
        of_owner = "indexdef ~ '\\(owner[,)]' or indexdef ~ 'WHERE \\(\\(owner = '"
        others = server().query(f"{indexed} and not ({of_owner})", "mem_search")
        assert "migrations_pkey" in others
        assert "\n" not in others


class TestWorkers:
    async def test_two_workers_give_no_number_twice_and_lose_nothing(
        self, store: PostgresStore, opens: Opens
    ) -> None:
        other = await opens()
        await asyncio.gather(
            *(
                fill(worker, *(f"{name}{batch}-{n}" for n in range(5)))
                for batch in range(4)
                for name, worker in (("a", store), ("b", other))
            )
        )
        numbers = await stored(store)
        assert sorted(numbers.values()) == list(range(1, 41))
        assert await stored(other) == numbers

    async def test_a_run_of_two_workers_reports_a_record_once(
        self, store: PostgresStore, opens: Opens
    ) -> None:
        await store.part(SavedSearchStore).create("news", StoredPlan({}, "1m"), 1)
        await fill(store, "a")
        saved = await store.part(SavedSearchStore).get("news")
        assert saved is not None
        other = await opens()
        found = list((await store.records.content_hashes([1])).items())
        runs = await asyncio.gather(
            *(w.part(SavedSearchStore).finish_run_and_notify(saved, found, at=2, since=2)
              for w in (store, other, store, other))
        )  # fmt: skip
        assert [len(matches) for matches, _ in runs].count(1) == 1

    async def test_what_was_stored_outlives_a_crash_of_the_server(
        self, opens: Opens, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(of_postgres, "_SECONDS", 4.0)  # that a call waits for the server
        store = await opens()
        await fill(store, "a", cursor={"at": 1})
        server().stop("immediate")
        try:
            for _ in range(2):  # by now a pool that doubles its pauses sleeps for 8 seconds
                with pytest.raises(StorageError, match="start the server"):
                    await fill(store, "b", cursor={"at": 2})
        finally:
            server().start()
        assert await stored_again(store) == {"a": 1}
        assert await store.ingest.cursor(HERE) == {"at": 1}
        await fill(store, "b", cursor={"at": 2})
        assert await stored(store) == {"a": 1, "b": 2}


LONG = 3600.0
"""Seconds of a lease, so that it expires when a test says so."""


class TestClaims:
    """Two workers of one store. One that is killed says nothing more, and its lease expires."""

    @pytest.fixture
    async def both(self) -> AsyncIterator[tuple[PostgresStore, PostgresStore]]:
        owner = uuid4().hex
        opened = [
            await PostgresStore.open(server().address(), owner, home, lease=LONG)
            for home in ("one", "two")
        ]
        yield opened[0], opened[1]
        for each in opened:
            await each.close()

    async def test_each_job_is_one_workers_until_that_one_is_dead(
        self, both: tuple[PostgresStore, PostgresStore]
    ) -> None:
        one, two = both
        for name in ("a", "b"):
            await one.jobs.create(name, "fetch", {}, anywhere=True)
        claims = await asyncio.gather(*(each.jobs.claim(["fetch"]) for each in both))
        assert {each.id for each in claims if each} == {"a", "b"}
        claimed = claims[0]
        assert claimed is not None
        assert not await two.jobs.report_progress(claimed.id, 1, 2, "not mine")
        await two.jobs.finish(claimed.id, "done", "not mine", {})
        other = claims[1]
        assert other is not None
        assert await two.jobs.claim(["fetch"], left=[other.id]) is None
        await self.die(one)
        taken = await two.jobs.claim(["fetch"], left=[other.id])
        assert taken is not None
        assert taken.id == claimed.id
        await one.jobs.finish(claimed.id, "done", "from beyond", {})
        assert await two.jobs.report_progress(claimed.id, 1, 2, "still mine")
        await one.jobs.finish(claimed.id, "cancelled", "anybody may", {})
        assert not await two.jobs.report_progress(claimed.id, 1, 2, "cancelled")

    @staticmethod
    async def die(worker: PostgresStore) -> None:
        """As a lease ends: its worker was killed that long ago."""
        ended = "update workers set until = now() where id = %s"
        await worker.database.write(
            lambda c: c.execute(ended, (worker.database.worker.id,)).rowcount
        )

    async def test_a_job_that_reads_files_waits_for_the_worker_of_its_home(
        self, both: tuple[PostgresStore, PostgresStore]
    ) -> None:
        one, two = both
        await one.jobs.create("a", "import", {"path": "/here"})
        assert await two.jobs.claim(["import"]) is None
        assert await two.jobs.unfinished(here=True) == []
        assert await one.jobs.claim(["import"]) is not None
        again = await PostgresStore.open(server().address(), one.database.owner, "one")
        found = await again.jobs.claim(["import"])  # at once: its former worker is dead
        assert found is not None
        await again.jobs.finish("a", "failed", "torn", {})
        await two.jobs.queue_again("a", {"path": "/there"})
        assert await again.jobs.claim(["import"]) is None
        assert await two.jobs.claim(["import"]) is not None
        await again.close()

    async def test_passages_messages_and_searches_have_one_worker_each(
        self, both: tuple[PostgresStore, PostgresStore]
    ) -> None:
        one, two = both
        await fill(one, "a", "b", "c")
        mine, theirs = await asyncio.gather(*(each.indexing.to_embed(2) for each in both))
        assert len(mine) + len(theirs) == 3
        assert not {each.passage for each in mine} & {each.passage for each in theirs}
        assert await one.indexing.to_embed(2) == mine  # a step that failed is done again
        for name in ("x", "y"):
            await one.part(SearchJobStore).create(
                name, {"query": "x"}, surface="http", webhook_url="", at=1, most=0
            )
            message = Message(f"msg_{name}", "e", "https://example.org", b"{}", 1)
            await one.database.write(lambda c, m=message: deliveries.add(c, m))
        jobs = await asyncio.gather(*(each.part(SearchJobStore).claim(1) for each in both))
        assert {each.id for each in jobs if each} == {"x", "y"}
        sent = await asyncio.gather(
            *(each.part(DeliveryStore).claim(["msg_x", "msg_y"], 2) for each in both)
        )
        assert sorted([*sent[0], *sent[1]]) == ["msg_x", "msg_y"]
        await one.close()  # it stops well: what it had is free at once
        freed = await two.indexing.to_embed(3)
        assert {each.passage for each in freed} == {1, 2, 3}

    async def test_a_worker_that_watches_lives_and_hears_of_work(
        self, both: tuple[PostgresStore, PostgresStore]
    ) -> None:
        one, two = both
        heard = asyncio.Event()
        await one.jobs.create("a", "fetch", {}, anywhere=True)
        assert await one.jobs.claim(["fetch"]) is not None
        await self.die(one)
        watching = asyncio.create_task(one.watch(heard.set))
        await asyncio.wait_for(heard.wait(), PATIENCE)
        assert await two.jobs.claim(["fetch"]) is None  # it lives again
        for _ in range(3):
            heard.clear()
            await two.jobs.create(uuid4().hex, "sync", {})
            await asyncio.wait_for(heard.wait(), PATIENCE)
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching

    async def test_stores_that_watch_leave_the_threads_of_the_loop_to_others(
        self, both: tuple[PostgresStore, PostgresStore]
    ) -> None:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        heard = [asyncio.Event() for _ in both]
        watching = [
            asyncio.create_task(store.watch(event.set))
            for store, event in zip(both, heard, strict=True)
        ]
        async with asyncio.timeout(PATIENCE):
            for event in heard:
                await event.wait()
            assert await asyncio.to_thread(lambda: "done") == "done"
            for task in watching:
                task.cancel()
            await asyncio.wait(watching)


class TestValues:
    async def test_text_that_postgresql_cannot_hold_is_kept_without_it(
        self, store: PostgresStore
    ) -> None:
        await fill(store, ledger=(LedgerEntry("a\0b", "failed", "\ud800 torn"),))
        (entry,) = await store.ingest.ledger("", "", 9, 0)
        assert (entry.item, entry.reason) == ("a\ufffdb", "\ufffd torn")
        said = {"b": "\0", "a": ["\\u0000", "\udc00", "😀"]}
        await store.jobs.create("j", "sync", said)
        job = await store.jobs.get("j")
        assert job is not None
        assert job.params == {"a": ["\\u0000", "\ufffd", "😀"], "b": "\ufffd"}
        assert list(job.params) == ["a", "b"]

    async def test_a_reader_writes_nothing(self, store: PostgresStore) -> None:
        with pytest.raises(StorageError, match="only reads"):
            await store.database.read(lambda c: c.execute("delete from jobs").rowcount)

    async def test_an_error_of_ours_is_not_called_one_of_the_server(
        self, store: PostgresStore
    ) -> None:
        with pytest.raises(psycopg.errors.UndefinedColumn):
            await store.database.read(lambda c: c.count("select no_such_column from jobs"))

    async def test_the_words_of_the_store_are_counted(self, store: PostgresStore) -> None:
        async def words() -> dict[str, int]:
            return await store.database.read(
                lambda c: dict(c.execute("select word, records from words").fetchall())
            )

        await fill(store, "a", "b")
        assert await words() == {"some": 2, "words": 2}
        await fill(store, deletions=("a",))
        assert await words() == {"some": 1, "words": 1}
        await fill(store, deletions=("b",))
        assert await words() == {}


def test_the_server_of_these_tests_has_what_a_store_needs() -> None:
    assert isinstance(server(), Server)
    assert int(server().query("show server_version_num")) >= 160000
