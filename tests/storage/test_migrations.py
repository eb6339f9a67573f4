"""The version of a schema: a baseline, the migrations since, and what is refused, in both engines.

How a store is copied before an upgrade is in ``test_upgrade_copy.py``.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from made_migrations import m001_made, older, register

from mem_search.cli import local_checks
from mem_search.errors import StorageError
from mem_search.settings import Settings
from mem_search.storage.postgres import migrations as postgres
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.postgres.store import PostgresStore
from mem_search.storage.sql import moving
from mem_search.storage.sqlite import migrations as sqlite
from mem_search.storage.sqlite.connection import SqliteConnection
from mem_search.storage.sqlite.database import Database
from new_stores import migrate_by_copy
from postgres_server import server

DEVELOPMENT = r"development version.*leaves as it is; mem-search export"


def m002_broken(connection: SqliteConnection) -> None:
    connection.execute("create table half(id integer)")
    connection.execute("create table half(id integer)")


@pytest.fixture
def database() -> str:
    """A database of PostgreSQL of its own."""
    name = f"m{uuid4().hex[:12]}"
    server().create_database(name)
    return name


async def opened(name: str) -> None:
    await (await PostgresStore.open(server().address(name), "ada")).close()


def of_development(file: Path) -> bytes:
    """A store as development versions made it; its content."""
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("create table mem_search_migrations(name text, applied_at real)")
        connection.execute("insert into mem_search_migrations values('m001_store', 0)")
        connection.execute("create table records(id integer primary key, body text)")
        connection.execute("insert into records values(1, 'kept')")
        connection.commit()
    return file.read_bytes()


@pytest.mark.parametrize("migrate", [sqlite.migrate, migrate_by_copy])
def test_each_new_store_has_an_id_and_a_key_of_its_own(
    migrate: Callable[[SqliteConnection], None],
) -> None:
    """Also as a copy, which is otherwise what ``migrate`` makes."""
    values, schemas = set[object](), []
    for making in (migrate, migrate, sqlite.migrate):
        with closing(
            sqlite3.connect(":memory:", isolation_level=None, factory=SqliteConnection)
        ) as made:
            making(made)
            values.update(made.column("select value from meta where key = 'store_id'"))
            values.update(made.column("select key from tombstone_keys"))
            schemas.append(made.column("select type || name || sql from sqlite_master"))
            assert not sqlite.missing(made)
    assert len(values) == 6
    assert schemas == [schemas[-1]] * 3


async def test_all_migrations_are_applied_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = await older(tmp_path / "store.db")
    register(monkeypatch, m001_made, m002_broken)
    with pytest.raises(sqlite3.OperationalError, match="half"):
        await Database.open(file)
    with closing(sqlite3.connect(file)) as connection:
        assert sqlite.missing(connection) == ["m001_made", "m002_broken"]
        schema = connection.execute("select group_concat(sql) from sqlite_master").fetchone()[0]
        assert "half" not in schema
        assert "made" not in schema


async def test_a_store_of_a_newer_version_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as newer:
        register(newer)
        file = tmp_path / "store.db"
        await (await Database.open(file)).close()
    before = file.read_bytes()
    with pytest.raises(StorageError, match=r"newer mem-search \(m001_made\); update"):
        await Database.open(file)
    assert file.read_bytes() == before


async def test_a_store_of_a_development_version_is_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "mem-search.db"
    before = of_development(file)
    with pytest.raises(StorageError, match=DEVELOPMENT) as refused:
        await Database.open(file)
    assert str(file) in refused.value.message
    assert "MEM_SEARCH_HOME" in refused.value.message
    assert "\n" not in refused.value.message
    assert file.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == [file.name]  # noqa: ASYNC240
    found = local_checks.database(Settings(home=tmp_path))
    assert (found.state, found.detail in refused.value.message) == ("missing", True)
    assert found.fix.startswith("mem-search export > records.jsonl (with that version), then set")
    assert file.read_bytes() == before


SAME_TYPE = {
    "text": "text",
    "integer": "integer bigint",
    "real": "double precision",
    "blob": "bytea USER-DEFINED",
    "boolean": "boolean",
    "json text": "jsonb ARRAY",
}
"""A type of SQLite → those of PostgreSQL that hold the same. Vectors and lists have types there."""

ONLY_THERE = {"owner", "worker", "home", "seq", "id", "project_lower", "title_lower", "value_lower"}
"""Columns of PostgreSQL: of several owners and workers, for keys, and for filters."""


async def test_both_engines_have_the_same_tables_and_columns_of_the_same_types(
    connection: SqliteConnection, database: str
) -> None:
    await opened(database)
    columns = "select table_name, column_name, data_type from information_schema.columns where"
    there: dict[str, dict[str, str]] = {table: {} for table in postgres.TABLES}
    for row in server().query(f"{columns} table_schema = 'mem_search'", database).splitlines():
        table, name, type_ = row.split("|")
        there.setdefault(table, {})[name] = type_
    rows = connection.execute(
        "select t.name, c.name, lower(c.type) from pragma_table_list t, pragma_table_info(t.name) c"
        " where t.type = 'table' and t.schema = 'main'"
    )
    here: dict[str, dict[str, str]] = {}
    for table, name, type_ in rows:
        here.setdefault(table, {})[name] = type_
    tables = {name for name in here if not name.startswith("sqlite_")}
    assert tables - set(postgres.TABLES) == {
        "mem_search_migrations", "meta", "revision", "column_blocks", "tombstone_keys"
    }  # fmt: skip
    assert set(postgres.TABLES) - tables == {
        "stores", "workers", "segments", "postings", "words", "model_tokens"
    }  # fmt: skip
    for table in tables & set(postgres.TABLES) - {"tombstones"}:  # keys are apart in a file
        assert there[table].keys() - ONLY_THERE == here[table].keys() - ONLY_THERE, table
        for name, type_ in here[table].items():
            assert there[table][name] in SAME_TYPE[type_], (table, name)
    for moved in moving.TABLES:  # "successors" are of the records
        types = here.get(moved.name, {})
        assert moved.booleans == {name for name in types if types[name] == "boolean"}
        assert moved.json == {name for name in types if types[name] == "json text"}


class TestPostgres:
    async def test_an_older_store_gets_what_it_lacks_once(
        self, database: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await opened(database)

        def m001_table(connection: Connection) -> None:
            connection.execute("create table made(owner text primary key)")
            postgres.owned(connection, "made")

        register(monkeypatch, m001_table, engine=postgres)
        for _ in range(2):
            await opened(database)
            applied = f"select name from {postgres.SCHEMA}.migrations order by 1"
            assert server().query(applied, database).split() == [
                "baseline",
                "m001_projects",
                "m001_table",
                "m002_words_by_end",
                "m003_sparse",
                "m004_schedules",
                "m005_token_scopes",
                "m006_clicks",
                "m007_email_beside_webhook",
                "m008_mirrors",
            ]

    async def test_all_migrations_are_applied_or_none(
        self, database: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await opened(database)
        register(monkeypatch, m001_made, m002_broken, engine=postgres)
        with pytest.raises(psycopg.errors.DuplicateTable, match="half"):
            await opened(database)
        applied = f"select name from {postgres.SCHEMA}.migrations"
        known = [each.__name__ for each in postgres.MIGRATIONS]
        assert server().query(applied, database).split() == ["baseline", *known]
        columns = "select count(*) from information_schema.columns where column_name = 'made'"
        assert server().query(columns, database) == "0"

    async def test_a_store_of_a_development_version_is_left_as_it_is(self, database: str) -> None:
        server().query(
            f"create schema {postgres.SCHEMA}; set search_path = {postgres.SCHEMA};"
            "create table migrations(name text, applied_at timestamptz default now());"
            "insert into migrations(name) values('m001_store');"
            f"grant usage on schema {postgres.SCHEMA} to public; grant select on migrations"
            " to public",
            database,
        )
        with pytest.raises(StorageError, match=DEVELOPMENT) as refused:
            await opened(database)
        assert "set MEM_SEARCH_STORE to another database" in refused.value.message
        tables = f"select count(*) from pg_tables where schemaname = '{postgres.SCHEMA}'"
        assert server().query(tables, database) == "1"
