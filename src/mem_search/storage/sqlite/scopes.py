"""Scopes: filters with a name, written in the query language. Names ignore case."""

from __future__ import annotations

from mem_search.model.saved_searches import Scope
from mem_search.storage.sqlite.database import Connection, Repository, reads, writes


class SqliteScopes(Repository):
    """``ports.ScopeStore`` over the table ``scopes``."""

    @writes
    def put(self, connection: Connection, scope: Scope) -> Scope:
        connection.execute(
            "insert into scopes(name, filter, created_at) values(?, ?, ?)"
            " on conflict(name) do update set filter = excluded.filter",
            (scope.name, scope.filter, scope.created_at),
        )
        return get(connection, scope.name) or scope

    @reads
    def get(self, connection: Connection, name: str) -> Scope | None:
        return get(connection, name)

    @reads
    def listed(self, connection: Connection) -> list[Scope]:
        return listed(connection)

    @writes
    def remove(self, connection: Connection, name: str) -> bool:
        return bool(connection.execute("delete from scopes where name = ?", (name,)).rowcount)


def get(connection: Connection, name: str) -> Scope | None:
    row = connection.execute(
        "select name, filter, created_at from scopes where name = ?", (name,)
    ).fetchone()
    return Scope(*row) if row else None


def listed(connection: Connection) -> list[Scope]:
    rows = connection.execute("select name, filter, created_at from scopes order by name")
    return [Scope(*row) for row in rows]
