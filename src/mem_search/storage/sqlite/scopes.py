"""Scopes: filters with a name, written in the query language. Names differ in more than case."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Scope:
    """``filter`` is what a record in the scope has to be; ``created_at`` is in milliseconds."""

    name: str
    filter: str
    created_at: int
    boosts: Mapping[str, float] = field(default_factory=dict)


def put(connection: sqlite3.Connection, scope: Scope) -> bool:
    """Keep the scope in place of one of that name; whether it is a new name."""
    (known,) = connection.execute(
        "select count(*) from scopes where name = ?", (scope.name,)
    ).fetchone()
    connection.execute(
        "insert into scopes(name, filter, boosts, created_at) values(?, ?, ?, ?)"
        " on conflict(name) do update set filter = excluded.filter, boosts = excluded.boosts",
        (scope.name, scope.filter, json.dumps(scope.boosts), scope.created_at),
    )
    return not known


def listed(connection: sqlite3.Connection) -> list[Scope]:
    """All scopes by name."""
    rows = connection.execute("select name, filter, created_at, boosts from scopes order by name")
    return [Scope(name, text, at, json.loads(boosts)) for name, text, at, boosts in rows]


def remove(connection: sqlite3.Connection, name: str) -> bool:
    """Delete a scope; whether there was one."""
    return bool(connection.execute("delete from scopes where name = ?", (name,)).rowcount)
