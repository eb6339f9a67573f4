"""The schema, as append-only steps ``m001_…``, one a file. A released step is never edited.

All missing steps run in one transaction, under a lock: of several workers that start at once one
migrates and the others wait, and a step that fails leaves nothing of any.
"""

from __future__ import annotations

from typing import Final

import psycopg

from mem_search.errors import StorageError
from mem_search.storage.postgres import roles
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.postgres.migrations import m001_store as _store
from mem_search.storage.postgres.migrations import m002_search as _search
from mem_search.storage.postgres.migrations import m004_workers as _workers
from mem_search.storage.postgres.migrations import m006_access as _access
from mem_search.storage.postgres.migrations import m009_sessions as _sessions
from mem_search.storage.postgres.migrations.m001_store import m001_store
from mem_search.storage.postgres.migrations.m002_search import m002_search
from mem_search.storage.postgres.migrations.m003_changes import m003_changes
from mem_search.storage.postgres.migrations.m004_workers import m004_workers
from mem_search.storage.postgres.migrations.m005_moving import m005_moving
from mem_search.storage.postgres.migrations.m006_access import m006_access
from mem_search.storage.postgres.migrations.m007_filters import m007_filters
from mem_search.storage.postgres.migrations.m008_postings import m008_postings
from mem_search.storage.postgres.migrations.m009_sessions import m009_sessions
from mem_search.storage.postgres.roles import Roles

MIGRATIONS: Final = (
    m001_store, m002_search, m003_changes, m004_workers, m005_moving, m006_access, m007_filters,
    m008_postings, m009_sessions,
)  # fmt: skip

KEYS: Final = {**_store.KEYS, **_search.KEYS, **_workers.KEYS, **_access.KEYS, **_sessions.KEYS}
"""Table → its key beside the owner."""

SCHEMA: Final = "mem_search"
"""Everything is in this schema of the database, so that it can be shared with other programs."""

MIN_SERVER: Final = 16
"""Since then a text can be asked whether it is a date."""

MIN_PGVECTOR: Final = (0, 8)
"""Since then a filtered search in an HNSW index goes on until it has found enough."""

_LOCK: Final = 0x6D656D73
"""Of migrations: "mems"."""


def check_server(connection: Connection, place: str) -> None:
    """Raises StorageError for a server or a role that cannot hold a store."""
    version = connection.info.server_version // 10_000
    if version < MIN_SERVER:
        raise StorageError(
            f"PostgreSQL at {place} has version {version}; mem-search needs {MIN_SERVER} or newer"
        )
    bypasses, readonly, encoding, found = connection.one(
        "select (select rolsuper or rolbypassrls from pg_roles where rolname = current_user),"
        " pg_is_in_recovery() or current_setting('default_transaction_read_only')::bool,"
        " current_setting('server_encoding'),"
        " coalesce((select extversion from pg_extension where extname = 'vector'),"
        " (select default_version from pg_available_extensions where name = 'vector'))",
    )
    if bypasses:
        raise StorageError(
            f"PostgreSQL at {place}: the role {connection.info.user} sees the rows of every user"
            " (superuser or bypassrls); create an ordinary role and connect as that one"
        )
    if readonly:
        raise StorageError(f"PostgreSQL at {place} only reads, as a replica does;"
                           " connect to the primary")  # fmt: skip
    if encoding != "UTF8":
        raise StorageError(
            f"PostgreSQL at {place}: the database has the encoding {encoding}; create one with UTF8"
        )
    least = ".".join(map(str, MIN_PGVECTOR))
    if found is None:
        raise StorageError(
            f"PostgreSQL at {place} has no pgvector; install its package (pgvector {least} or"
            " newer) on the server"
        )
    if tuple(int(part) for part in found.split(".")[:2]) < MIN_PGVECTOR:
        raise StorageError(
            f"PostgreSQL at {place} has pgvector {found}; mem-search needs {least} or newer:"
            " install it, then ALTER EXTENSION vector UPDATE"
        )


def migrate(connection: Connection, place: str) -> tuple[str, Roles]:
    """Apply the missing steps; returns the schema that has the types of pgvector, and the roles
    in which requests are answered.

    Raises StorageError for a schema of another program, or of a newer mem-search.
    """
    with connection.transaction():
        connection.execute("select pg_advisory_xact_lock(%s)", (_LOCK,))
        known = applied(connection)
        if known is None:
            try:
                connection.execute("create extension if not exists vector")
            except psycopg.errors.InsufficientPrivilege as error:
                raise StorageError(
                    f"PostgreSQL at {place}: only a superuser may add pgvector; let one run"
                    f" CREATE EXTENSION vector in the database {connection.info.dbname}, once"
                ) from error
            connection.execute(f"create schema {SCHEMA}")
            connection.execute(
                f"create table {SCHEMA}.migrations(name text primary key,"
                " applied_at timestamptz not null default now())"
            )
        (types_in,) = connection.one(
            "select extnamespace::regnamespace::text from pg_extension where extname = 'vector'",
        )
        connection.execute(f'set local search_path = {SCHEMA}, "{types_in}"')
        connection.execute("set local mem_search.owner = ''")  # columns have it as their default
        for step in MIGRATIONS:
            if step.__name__ not in (known or set()):
                step(connection)
                connection.execute("insert into migrations(name) values(%s)", (step.__name__,))
        return str(types_in), roles.create(connection, SCHEMA, str(types_in))


def applied(connection: Connection) -> set[str] | None:
    """The names of the steps that were applied; None while there is no schema."""
    # From the catalogue: a schema of another role may not be looked into.
    schema, ours = connection.one(
        "select n.oid, (select c.oid from pg_class c where c.relnamespace = n.oid"
        " and c.relname = 'migrations') from (select to_regnamespace(%s)::oid as oid) n",
        (SCHEMA,),
    )
    if schema is None:
        return None
    if ours is None:
        raise StorageError(
            f"the schema {SCHEMA} of the database is another program's; use a database of your own"
        )
    found = {name for (name,) in connection.execute(f"select name from {SCHEMA}.migrations")}
    if unknown := found - {step.__name__ for step in MIGRATIONS}:
        raise StorageError(
            f"the store was written by a newer mem-search ({max(unknown)}); update mem-search"
        )
    return found
