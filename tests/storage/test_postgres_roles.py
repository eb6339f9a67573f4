"""A role for each purpose: what a statement of a request cannot do, even if it forgets the user."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from drafts import draft, prepared
from mem_search.cli import local_checks
from mem_search.errors import StorageError
from mem_search.model import Filters, Location
from mem_search.settings import Settings
from mem_search.storage.postgres.migrations import SCHEMA, TABLES
from mem_search.storage.postgres.roles import Roles
from mem_search.storage.postgres.store import PostgresStore
from postgres_server import server

HERE = Location("test", "/repo")


async def fill(store: PostgresStore, *names: str) -> None:
    await store.ingest.store_batch(HERE, prepared(*map(draft, names)), followed=True)


async def names(store: PostgresStore) -> set[str]:
    page, _ = await store.records.page(Filters(), "date_asc", 1000, 0)
    return {record.source_id for record, _ in page}


@dataclass
class Two:
    """The stores of two users in one database."""

    ada: PostgresStore
    bob: PostgresStore


@pytest.fixture
async def two() -> AsyncIterator[Two]:
    opened = [await PostgresStore.open(server().address(), uuid4().hex) for _ in range(2)]
    for store, name in zip(opened, ("hers", "his"), strict=True):
        await fill(store, name, "both")
    yield Two(*opened)
    for store in opened:
        await store.close()


@pytest.fixture
def limited() -> tuple[str, str]:
    """The name of a new database, and its address for a role that may not create roles."""
    name, role = f"t{uuid4().hex[:12]}", f"r{uuid4().hex[:12]}"
    server().query(f"create role {role} login")
    server().query(f"create database {name} owner {role}")
    server().query("create extension vector", name)
    return name, server().address(name, role=role)


class TestAQueryThatForgetsTheUser:
    async def test_reads_of_no_table_a_row_of_somebody_else(self, two: Two) -> None:
        for table in TABLES:
            owners = f"select distinct owner from {table}"
            seen = await two.ada.database.write(lambda c, s=owners: c.column(s))
            assert set(seen) <= {two.ada.database.owner}, table
        everybody = await two.ada.database.read(lambda c: c.column("select source_id from records"))
        assert sorted(everybody) == ["both", "hers"]

    async def test_changes_and_deletes_nothing_of_somebody_else(self, two: Two) -> None:
        await two.ada.database.write(lambda c: c.execute("update records set title = 'x'").rowcount)
        await two.ada.database.write(lambda c: c.execute("delete from records").rowcount)
        assert await names(two.ada) == set()
        assert await names(two.bob) == {"both", "his"}

    async def test_is_not_helped_by_what_the_connection_did_before(self, two: Two) -> None:
        """As behind a pooler, which lends one connection to several programs."""
        bob = two.bob.database.owner
        change = (
            "select set_config('mem_search.owner', %s, false), set_config('role', 'none', false)"
        )
        for _ in range(8):  # each connection of the pool
            await two.ada.database.write(lambda c: c.execute(change, (bob,)).fetchall())
            with suppress(RuntimeError):
                await two.ada.database.write(_fail)
            assert await names(two.ada) == {"both", "hers"}

    async def test_outside_of_a_transaction_sees_nobodys_rows(self, two: Two) -> None:
        database = two.ada.database
        with database._writing.connection() as connection:
            with connection.transaction():
                connection.execute(
                    "select set_config('mem_search.owner', %s, true)", (database.owner,)
                )
                assert connection.count(f"select count(*) from {SCHEMA}.records")
            assert connection.count(f"select count(*) from {SCHEMA}.records") == 0

    async def test_on_a_new_connection_is_refused(self, two: Two) -> None:
        with (
            psycopg.connect(server().address()) as connection,
            pytest.raises(psycopg.errors.UndefinedObject, match=r"mem_search\.owner"),
        ):
            connection.execute(f"select count(*) from {SCHEMA}.records")


def _fail(connection: object) -> None:
    raise RuntimeError(connection)


class TestRoles:
    async def test_each_transaction_has_the_role_of_its_purpose(self, two: Two) -> None:
        database, roles = two.ada.database, Roles.of("mem_search")
        who = "select current_user"
        assert await database.read(lambda c: c.one(who)[0]) == roles.searching
        assert await database.write(lambda c: c.one(who)[0]) == roles.working
        assert await database.aside(lambda c: c.one(who)[0]) == roles.working
        assert await database.apart(lambda c: c.one(who)[0]) not in (*_names(roles), "postgres")

    async def test_a_request_can_make_drop_and_open_no_table(self, two: Two) -> None:
        for statement in (
            f"create table {SCHEMA}.mine(x int)",
            "drop table records",
            "truncate records",
            "alter table records disable row level security",
            "drop policy own on records",
            "alter table records owner to current_user",
            "insert into migrations(name) values('m999_x')",
        ):
            with pytest.raises((StorageError, psycopg.Error)):
                await two.ada.database.write(lambda c, s=statement: c.execute(s).rowcount)
        assert await names(two.bob) == {"both", "his"}

    async def test_a_search_reads_nothing_by_which_browsers_are_logged_in(self, two: Two) -> None:
        for table in ("login_keys", "login_sessions"):
            with pytest.raises(StorageError, match="permission denied"):
                await two.ada.database.read(lambda c, t=table: c.column(f"select key from {t}"))

    async def test_the_roles_own_nothing_and_see_no_other_user(self, two: Two) -> None:
        for role in _names(two.ada.database.roles):
            seen = server().query(
                "select rolsuper or rolbypassrls or rolcreaterole or rolcanlogin"
                f" from pg_roles where rolname = '{role}'"
            )
            assert seen == "f"
            owned = f"select count(*) from pg_class where relowner = '{role}'::regrole"
            assert server().query(owned, "mem_search") == "0"

    async def test_a_store_out_of_a_backup_gets_its_rights_again(self, two: Two) -> None:
        working = two.ada.database.roles.working
        server().query(
            f'revoke all on all tables in schema {SCHEMA} from "{working}"', "mem_search"
        )
        again = await PostgresStore.open(server().address(), two.ada.database.owner)
        assert await names(again) == {"both", "hers"}
        await fill(again, "more")
        await again.close()


class TestWithoutTheRightToCreateRoles:
    async def test_rows_are_kept_apart_all_the_same_and_doctor_says_what_to_run(
        self, limited: tuple[str, str], tmp_path: Path
    ) -> None:
        name, address = limited
        ada, bob = [await PostgresStore.open(address, each) for each in ("ada", "bob")]
        assert ada.database.roles == Roles()
        await fill(ada, "hers")
        await fill(bob, "his")
        assert await ada.database.read(lambda c: c.column("select source_id from records")) == [
            "hers"
        ]
        found = local_checks.database(Settings(home=tmp_path, store=address))
        assert "one role does everything" in found.detail
        told = found.detail.partition("administrator run: ")[2]
        for statement in told.split("; "):
            server().query(statement, name)
        again = await PostgresStore.open(address, "ada")
        assert again.database.roles == Roles.of(name)
        assert await names(again) == {"hers"}
        assert "a role each" in local_checks.database(Settings(home=tmp_path, store=address)).detail
        for store in (ada, bob, again):
            await store.close()

    def test_a_long_name_of_a_database_has_roles_of_its_own(self) -> None:
        long = [Roles.of("d" * 60), Roles.of("d" * 61), Roles.of("Has Spaces")]
        assert len({each.searching for each in long}) == 3
        assert all(len(name) <= 63 for each in long for name in _names(each))


def _names(roles: Roles) -> tuple[str, str]:
    return roles.searching, roles.working
