"""The schema of a database: ``schema.sql``, and the migrations since.

They run under a lock: of several workers that start at once one migrates and the others wait.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import resources
from typing import Final

import psycopg

from mem_search.errors import StorageError
from mem_search.storage.postgres import roles
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.postgres.roles import Roles
from mem_search.storage.sql.migrations import Schema

SCHEMA: Final = "mem_search"
"""Everything is in this schema of the database, so that it can be shared with other programs."""

_BASELINE: Final = resources.files(__package__).joinpath("schema.sql").read_text("utf-8")

_PROJECT_TABLES: Final = ("projects", "project_marks", "project_changes")
_OF_BASELINE: Final = tuple(re.findall(r"^create table (\w+)", _BASELINE, re.MULTILINE))
TABLES: Final = (
    *_OF_BASELINE,
    *_PROJECT_TABLES,
    "sparse_vectors",
    "clicks",
    "mirror_states",
    "mirrors",
)
"""Tables whose rows belong to owners."""

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
    bypasses, readonly, encoding, pgvector = connection.one(
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
    if pgvector is None:
        raise StorageError(
            f"PostgreSQL at {place} has no pgvector; install its package (pgvector {least} or"
            " newer) on the server"
        )
    if tuple(int(part) for part in pgvector.split(".")[:2]) < MIN_PGVECTOR:
        raise StorageError(
            f"PostgreSQL at {place} has pgvector {pgvector}; mem-search needs {least} or newer:"
            " install it, then ALTER EXTENSION vector UPDATE"
        )


def migrate(connection: Connection, place: str) -> tuple[str, Roles]:
    """Make the schema, or bring it up to date; returns the schema that has the types of pgvector,
    and the roles in which requests are answered.

    Raises StorageError for a schema of another program, a development version or a newer one.
    """
    with connection.transaction():
        connection.execute("select pg_advisory_xact_lock(%s)", (_LOCK,))
        if missing(connection, place) is None:
            begin(connection, place)
        (types_in,) = connection.one(
            "select extnamespace::regnamespace::text from pg_extension where extname = 'vector'",
        )
        connection.execute(f'set local search_path = {SCHEMA}, "{types_in}"')
        connection.execute("set local mem_search.owner = ''")  # columns have it as their default
        STORE.complete(connection, f"PostgreSQL at {place}")
        return str(types_in), roles.create(connection, SCHEMA, str(types_in))


def begin(connection: Connection, place: str) -> None:
    """Make the schema with nothing in it. Raises StorageError where pgvector may not be added."""
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


def missing(connection: Connection, place: str) -> list[str] | None:
    """What the schema lacks; None while there is none. Raises StorageError as ``migrate`` does."""
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
    applied = connection.column(f"select name from {SCHEMA}.migrations")
    return STORE.missing(applied, f"PostgreSQL at {place}")


def owned(connection: Connection, table: str) -> None:
    """Let statements see only rows of their owner in ``table``: each table of a schema needs it.

    It holds for the owner of the tables, too.
    """
    connection.execute(f"alter table {table} enable row level security")
    connection.execute(f"alter table {table} force row level security")
    connection.execute(
        f"create policy own on {table} using (owner = current_setting('mem_search.owner'))"
    )


def _create(connection: Connection) -> None:
    connection.execute(_BASELINE.replace("text not null", 'text collate "C" not null'))
    for table in _OF_BASELINE:
        owned(connection, table)


_PROJECTS: Final = """
create table projects(
    owner text not null default current_setting('mem_search.owner'),
    id bigint not null, name text not null, folder text not null, root text not null default '',
    named boolean not null default false, merged_into bigint, created_at bigint not null,
    primary key (owner, id)
);
create table project_marks(
    owner text not null default current_setting('mem_search.owner'),
    mark text not null, project_id bigint not null, primary key (owner, mark),
    foreign key (owner, project_id) references projects on delete cascade
);
create index on project_marks(owner, project_id);
create table project_changes(
    owner text not null default current_setting('mem_search.owner'),
    id bigint not null, at bigint not null, project_id bigint not null,
    what text not null check(what in ('rename', 'merge')), before text not null,
    after text not null, undone boolean not null default false, primary key (owner, id),
    foreign key (owner, project_id) references projects on delete cascade
);
create index on project_changes(owner, project_id);
alter table records add column project_id bigint;
create index on records(owner, project_id) where project_id is not null;
"""


def m001_projects(connection: Connection) -> None:
    """Projects are more than names."""
    connection.execute(_PROJECTS.replace("text not null", 'text collate "C" not null'))
    for table in _PROJECT_TABLES:
        owned(connection, table)


def m002_words_by_end(connection: Connection) -> None:
    """Find words by how they end: ``rechnung`` is a part of ``stromrechnung``."""
    connection.execute("create index words_by_end on words(owner, reverse(word))")


def m003_sparse(connection: Connection) -> None:
    """Passages have sparse vectors (``text.sparse``), each with a checksum behind it."""
    connection.execute(
        'create table sparse_vectors(owner text collate "C" not null'
        " default current_setting('mem_search.owner'), passage_id bigint not null,"
        " vector bytea not null, primary key (owner, passage_id),"
        " foreign key (owner, passage_id) references passages on delete cascade)"
    )
    owned(connection, "sparse_vectors")


def m004_schedules(connection: Connection) -> None:
    """A saved search has a schedule, as an archive has: an interval or a cron expression."""
    # An update would see the rows of no owner.
    connection.execute(
        'alter table saved_searches alter every_seconds type text collate "C" using'
        " coalesce(every_seconds || 's', '')"
    )
    connection.execute("alter table saved_searches rename every_seconds to schedule")
    connection.execute(
        "alter table saved_searches alter schedule set default '', alter schedule set not null"
    )


def m005_token_scopes(connection: Connection) -> None:
    """A token may be limited to the records of a scope, and be a share of it with a user."""
    for column in ("scope", "shared_with"):
        connection.execute(
            f"alter table tokens add column {column} text collate \"C\" not null default ''"
        )


def m006_clicks(connection: Connection) -> None:
    """What was opened after which search; it goes with the record."""
    connection.execute(
        'create table clicks(owner text collate "C" not null'
        " default current_setting('mem_search.owner'), id bigint generated always as identity,"
        ' at bigint not null, query text collate "C" not null, record_id bigint not null,'
        " primary key (owner, id),"
        " foreign key (owner, record_id) references records on delete cascade)"
    )
    connection.execute("create index on clicks(owner, record_id)")
    owned(connection, "clicks")


def m007_email_beside_webhook(connection: Connection) -> None:
    """A saved search tells by webhook and by e-mail."""
    connection.execute(
        "alter table saved_searches add column email text collate \"C\" not null default ''"
    )
    connection.execute('alter table notifications add column email_delivery_id text collate "C"')


_MIRRORS: Final = """
create table mirror_states(
    owner text not null default current_setting('mem_search.owner'),
    digest text not null, key text not null default '', record_id bigint, life bigint not null,
    fate text not null check (fate in ('stored', 'gone', 'forgotten')), revision bigint not null,
    at bigint not null, said text not null, machine text not null, seen jsonb not null,
    line text not null default '', own boolean not null, turn bigint not null,
    learned text not null default '',
    primary key (owner, digest)
);
create index on mirror_states(owner, record_id) where record_id is not null;
create index on mirror_states(owner, turn);
create index on mirror_states(owner, key) where key != '';
create table mirrors(
    owner text not null default current_setting('mem_search.owner'),
    home text not null default current_setting('mem_search.home'),
    folder text not null, state jsonb not null default '{}', at bigint,
    error text not null default '',
    primary key (owner, folder)
);
"""
"""The columns are those of SQLite; ``home`` is that of the worker that has a folder."""


def m008_mirrors(connection: Connection) -> None:
    """Machines keep in step through a folder."""
    connection.execute(_MIRRORS.replace("text not null", 'text collate "C" not null'))
    for table in ("mirror_states", "mirrors"):
        owned(connection, table)


MIGRATIONS: tuple[Callable[[Connection], None], ...] = (
    m001_projects,
    m002_words_by_end,
    m003_sparse,
    m004_schedules,
    m005_token_scopes,
    m006_clicks,
    m007_email_beside_webhook,
    m008_mirrors,
)
"""Changes of the schema since 0.1.0, in order. One that was released is never changed."""

STORE = Schema("migrations", _create, MIGRATIONS, "set MEM_SEARCH_STORE to another database")
