"""The roles in which a worker speaks to the server, and what each of them may.

The role that connects owns the tables: it migrates, builds indexes and vacuums, and answers no
request. Each transaction changes to a role that owns nothing: one that only reads for searches, one
that reads and writes rows for what stores and for jobs. So no statement of a request can make, drop
or open a table, and row-level security holds for it whatever the connecting role may. The roles are
of one database: those of another database on the server have rights on nothing here.
"""

from __future__ import annotations

import hashlib
import string
from dataclasses import dataclass
from typing import Final

import psycopg
from psycopg import sql

from mem_search.storage.postgres.connection import Connection

_MAX_NAME_BYTES: Final = 63
"""Bytes of a name in PostgreSQL."""

_PLAIN: Final = frozenset(string.ascii_lowercase + string.digits + "_")
"""Characters of a name that needs no quotes."""

_PRIVATE: Final = ("login_keys", "login_sessions")
"""Tables that no search reads: by which browsers are logged in."""

_LACKING: Final = """
    select not coalesce(pg_has_role(current_user, to_regrole(%(role)s), 'SET'), false)
        or not has_schema_privilege(%(role)s, %(schema)s, 'USAGE')
        or not has_schema_privilege(%(role)s, %(types)s, 'USAGE')
        or not has_database_privilege(%(role)s, current_database(), 'TEMP')
        or exists(
            select from pg_class c where c.relnamespace = to_regnamespace(%(schema)s)
            and c.relkind = 'r' and c.relname != all(%(without)s)
            and not has_table_privilege(%(role)s, c.oid, %(right)s)
        )
"""


@dataclass(frozen=True, slots=True)
class Roles:
    """Names of roles; empty where the connecting role has to do everything itself."""

    searching: str = ""
    working: str = ""

    @classmethod
    def of(cls, database: str) -> Roles:
        """The roles of ``database``."""
        return cls(_name("searching", database), _name("working", database))


def find(connection: Connection, schema: str, types_in: str) -> Roles:
    """The roles that ``create`` made, as far as they may do everything; else none."""
    roles = Roles.of(connection.info.dbname)
    complete = all(_is_complete(connection, each, schema, types_in) for each in _both(roles))
    return roles if complete else Roles()


def create(connection: Connection, schema: str, types_in: str) -> Roles:
    """Make what is missing of the roles and their rights. Without the right to, return none.

    A table of a new migration, or a database that came out of a backup, lacks some.
    """
    roles = Roles.of(connection.info.dbname)
    for role in _both(roles):
        if _is_complete(connection, role, schema, types_in):
            continue
        try:
            with connection.transaction():
                _grant(connection, role, schema, types_in, connection.info.dbname)
        except (psycopg.errors.InsufficientPrivilege, psycopg.errors.UndefinedObject):
            return Roles()
        if not _is_complete(connection, role, schema, types_in):  # a grant can be void
            return Roles()
    return roles


def advice(database: str, user: str) -> str:
    """What an administrator runs, so that the next start finds the roles."""
    roles = Roles.of(database)
    names = f'"{roles.searching}", "{roles.working}"'
    made = "; ".join(f"CREATE ROLE {each}" for each in names.split(", "))
    return f'{made}; GRANT {names} TO "{user}" WITH INHERIT FALSE, SET TRUE'


def _both(roles: Roles) -> tuple[str, str]:
    return roles.searching, roles.working


def _is_complete(connection: Connection, role: str, schema: str, types_in: str) -> bool:
    if connection.one("select to_regrole(%s) is null", (role,))[0]:
        return False
    searches = role == Roles.of(connection.info.dbname).searching
    values = {
        "role": role,
        "schema": schema,
        "types": types_in,
        "right": "SELECT" if searches else "DELETE",
        "without": list((*_PRIVATE, "migrations") if searches else ("migrations",)),
    }
    return not connection.one(_LACKING, values)[0]


def _grant(connection: Connection, role: str, schema: str, types_in: str, database: str) -> None:
    names = {
        "role": sql.Identifier(role), "schema": sql.Identifier(schema),
        "types": sql.Identifier(types_in), "database": sql.Identifier(database),
    }  # fmt: skip

    def run(statement: str, **more: sql.Composable) -> None:
        composed = sql.SQL(statement).format(**names, **more)
        connection.execute(composed.as_string(connection))

    if connection.one("select to_regrole(%s) is null", (role,))[0]:
        run("create role {role}")
        run("grant {role} to current_user with inherit false, set true")
    run("grant usage on schema {schema} to {role}")
    if not connection.one("select has_schema_privilege(%s, %s, 'USAGE')", (role, types_in))[0]:
        run("grant usage on schema {types} to {role}")
    if not connection.one("select has_database_privilege(%s, current_database(), 'TEMP')", (role,))[
        0
    ]:
        run("grant temporary on database {database} to {role}")
    if role == Roles.of(database).searching:
        run("grant select on all tables in schema {schema} to {role}")
        for table in (*_PRIVATE, "migrations"):
            run("revoke all on {schema}.{table} from {role}", table=sql.Identifier(table))
    else:
        run("grant select, insert, update, delete on all tables in schema {schema} to {role}")
        run("grant usage, select, update on all sequences in schema {schema} to {role}")
        run("revoke all on {schema}.migrations from {role}")


def _name(purpose: str, database: str) -> str:
    name = f"mem_search_{purpose}_{database}"
    if len(name) <= _MAX_NAME_BYTES and not set(database) - _PLAIN:
        return name
    digest = hashlib.sha256(database.encode()).hexdigest()[:16]
    return f"mem_search_{purpose}_{digest}"
