"""Scopes: filters with a name, written in the query language. Names ignore case."""

from __future__ import annotations

from typing import Final

from mem_search.model.requests import Scope
from mem_search.storage.sql.connection import Connection, Repository, reads, writes

NAMED: Final = 'lower(name) = lower(%(name)s::text collate "C")'
"""Of a table whose names ignore the case of ASCII letters."""


class Scopes(Repository):
    """Filters with a name; upper and lower case name the same scope."""

    @writes
    def put(self, connection: Connection, scope: Scope) -> Scope:
        """Store the scope; an existing one keeps its spelling and its time."""
        return Scope(
            *connection.one(
                "insert into scopes(name, filter, created_at) values(%s, %s, %s)"
                " on conflict(owner, lower(name)) do update set filter = excluded.filter"
                " returning name, filter, created_at",
                (scope.name, scope.filter, scope.created_at),
            )
        )

    @reads
    def get(self, connection: Connection, name: str) -> Scope | None:
        row = connection.maybe(
            f"select name, filter, created_at from scopes where {NAMED}", {"name": name}
        )
        return Scope(*row) if row else None

    @reads
    def listed(self, connection: Connection) -> list[Scope]:
        """All scopes by name."""
        return scopes(connection)

    @writes
    def remove(self, connection: Connection, name: str) -> bool:
        """Delete a scope; False when there was none."""
        return bool(
            connection.execute(f"delete from scopes where {NAMED}", {"name": name}).rowcount
        )


def scopes(connection: Connection) -> list[Scope]:
    """All scopes, by name."""
    rows = connection.execute("select name, filter, created_at from scopes order by lower(name)")
    return [Scope(*row) for row in rows]
