"""The schema of a file: ``schema.sql``, and the migrations since."""

from __future__ import annotations

import secrets
import sqlite3
import uuid
from collections.abc import Callable
from importlib import resources
from typing import Final

from mem_search.errors import StorageError
from mem_search.storage.rules.identities import KEY_BYTES
from mem_search.storage.sql.migrations import Schema
from mem_search.storage.sqlite.connection import SqliteConnection
from mem_search.text.redaction import rules

_PROJECTS: Final = (
    "create table projects(id integer primary key, name text not null, folder text not null,"
    " root text not null default '', named boolean not null default 0, merged_into integer,"
    " created_at integer not null)",
    "create table project_marks(mark text primary key, project_id integer not null"
    " references projects(id) on delete cascade) without rowid",
    "create index project_marks_by_project on project_marks(project_id)",
    "create table project_changes(id integer primary key, at integer not null,"
    " project_id integer not null references projects(id) on delete cascade,"
    " what text not null check(what in ('rename', 'merge')), before text not null,"
    " after text not null, undone boolean not null default 0)",
    "create index project_changes_by_project on project_changes(project_id)",
    "alter table records add column project_id integer",
    "create index records_by_project_id on records(project_id) where project_id is not null",
)
"""Projects by what tells them apart (``storage.sql.projects``); a record has the number of the one
that it was made in, and as ``project`` its name, or that of the one it was merged into."""


def m001_projects(connection: SqliteConnection) -> None:
    """Projects are more than names."""
    for statement in _PROJECTS:
        connection.execute(statement)


def m002_sparse(connection: SqliteConnection) -> None:
    """Passages have sparse vectors (``text.sparse``), each with a checksum behind it."""
    connection.execute(
        "create table sparse_vectors(passage_id integer primary key"
        " references passages(id) on delete cascade, vector blob not null)"
    )


def m003_schedules(connection: SqliteConnection) -> None:
    """A saved search has a schedule, as an archive has: an interval or a cron expression."""
    connection.execute("alter table saved_searches add column schedule text not null default ''")
    connection.execute(
        "update saved_searches set schedule = every_seconds || 's' where every_seconds is not null"
    )
    connection.execute("alter table saved_searches drop column every_seconds")


def m004_token_scopes(connection: SqliteConnection) -> None:
    """A token may be limited to the records of a scope, and be a share of it with a user."""
    for column in ("scope", "shared_with"):
        connection.execute(f"alter table tokens add column {column} text not null default ''")


def m005_clicks(connection: SqliteConnection) -> None:
    """What was opened after which search; it goes with the record."""
    connection.execute(
        "create table clicks(id integer primary key autoincrement, at integer not null,"
        " query text not null,"
        " record_id integer not null references records(id) on delete cascade)"
    )
    connection.execute("create index clicks_by_record on clicks(record_id)")


def m006_email_beside_webhook(connection: SqliteConnection) -> None:
    """A saved search tells by webhook and by e-mail."""
    connection.execute("alter table saved_searches add column email text not null default ''")
    connection.execute("alter table notifications add column email_delivery_id text")


def m007_posting_file(connection: SqliteConnection) -> None:
    """Posting lists of all words are in a file of their own (``posting_file``)."""
    connection.execute("delete from column_blocks where of = 'words'")


_MIRRORS: Final = (
    "create table mirror_states(digest text primary key, key text not null default '',"
    " record_id integer, life integer not null,"
    " fate text not null check(fate in ('stored', 'gone', 'forgotten')),"
    " revision integer not null, at integer not null, said text not null, machine text not null,"
    " seen json text not null, line text not null default '', own boolean not null,"
    " turn integer not null, learned text not null default '') without rowid",
    "create index mirror_states_by_record on mirror_states(record_id) where record_id is not null",
    "create index mirror_states_by_turn on mirror_states(turn)",
    "create index mirror_states_by_key on mirror_states(key) where key != ''",
    "create table mirrors(folder text primary key, state json text not null default '{}',"
    " at integer, error text not null default '') without rowid",
)
"""What became of each record, by the keyed hash of its identity, so that no name of what was
forgotten stays: ``key`` is that of another store in hex, '' of this one. ``line`` is the hash of
what is stored, ``said`` that of the version, ``learned`` the folder it came from. Of a mirror
``state`` is how far its folder was read and written (``features/mirror/service.py``).
"""


def m008_mirrors(connection: SqliteConnection) -> None:
    """Machines keep in step through a folder."""
    for statement in _MIRRORS:
        connection.execute(statement)


MIGRATIONS: tuple[Callable[[SqliteConnection], None], ...] = (
    m001_projects,
    m002_sparse,
    m003_schedules,
    m004_token_scopes,
    m005_clicks,
    m006_email_beside_webhook,
    m007_posting_file,
    m008_mirrors,
)
"""Changes of the schema since 0.1.0, in order. One that was released is never changed."""

_TABLE: Final = "mem_search_migrations"

_FOREIGN: Final = (
    "{path} is another program's file (it has {tables}); move it away, or set MEM_SEARCH_HOME"
    " to a folder of your own"
)


def migrate(connection: SqliteConnection) -> None:
    """Make the schema, or bring it up to date. Raises StorageError as ``missing`` does."""
    if not missing(connection):
        return
    connection.execute("begin immediate")
    try:
        # Asked again under the lock: two processes may open a new store at the same moment.
        connection.execute(
            f"create table if not exists {_TABLE}"
            "(name text primary key, applied_at text not null default current_timestamp)"
        )
        STORE.complete(connection, _path(connection))
        connection.commit()
    except BaseException:
        connection.rollback()
        raise


def missing(connection: sqlite3.Connection) -> list[str]:
    """What the schema lacks. Raises StorageError for the file of another program, or for a store
    of a development version or a newer one. Changes nothing.
    """
    tables = {name for (name,) in connection.execute("select name from sqlite_master")}
    if tables and _TABLE not in tables:
        names = ", ".join(sorted(tables)[:3])
        raise StorageError(_FOREIGN.format(path=_path(connection), tables=names))
    rows = connection.execute(f"select name from {_TABLE}") if tables else ()
    return STORE.missing([name for (name,) in rows], _path(connection))


def is_older(connection: sqlite3.Connection) -> bool:
    """Whether this is a store, and migrations are missing. Raises as ``missing`` does."""
    is_store = connection.execute("select 1 from sqlite_master limit 1").fetchone() is not None
    return is_store and bool(missing(connection))


def _path(connection: sqlite3.Connection) -> str:
    rows = connection.execute("pragma database_list").fetchall()
    return next(str(row[2]) for row in rows if row[1] == "main")


def _create(connection: SqliteConnection) -> None:
    script = resources.files(__package__).joinpath("schema.sql").read_text("utf-8")
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):  # ``executescript`` would commit
            connection.execute(statement)
            statement = ""
    connection.executemany(
        "insert into meta(key, value) values(?, ?)",
        (("store_id", uuid.uuid4().hex), ("redacted_by", rules())),
    )
    key = secrets.token_bytes(KEY_BYTES)
    connection.execute("insert into tombstone_keys(id, key) values(1, ?)", (key,))


STORE = Schema(_TABLE, _create, MIGRATIONS, "set MEM_SEARCH_HOME to a new folder")
