"""Scopes: filters with a name, written in the query language. Names differ in more than case."""

from __future__ import annotations

import sqlite3

from mem_search.model.saved_searches import Scope


def put(connection: sqlite3.Connection, scope: Scope) -> Scope:
    """Keep the scope; one of that name keeps its moment and its spelling. As it is kept."""
    connection.execute(
        "insert into scopes(name, filter, created_at) values(?, ?, ?)"
        " on conflict(name) do update set filter = excluded.filter",
        (scope.name, scope.filter, scope.created_at),
    )
    return get(connection, scope.name) or scope


def get(connection: sqlite3.Connection, name: str) -> Scope | None:
    row = connection.execute(
        "select name, filter, created_at from scopes where name = ?", (name,)
    ).fetchone()
    return Scope(*row) if row else None


def listed(connection: sqlite3.Connection) -> list[Scope]:
    """All scopes by name."""
    rows = connection.execute("select name, filter, created_at from scopes order by name")
    return [Scope(*row) for row in rows]


def remove(connection: sqlite3.Connection, name: str) -> bool:
    """Delete a scope; whether there was one."""
    return bool(connection.execute("delete from scopes where name = ?", (name,)).rowcount)
