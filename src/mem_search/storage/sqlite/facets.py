"""Facets by themselves: whether any record has one."""

from __future__ import annotations

import sqlite3


def exists(connection: sqlite3.Connection, name: str, value: str) -> bool:
    """Whether any record has the facet, its value in whatever case."""
    statement = "select exists (select 1 from facets where name = ? and value = ? collate nocase)"
    return bool(connection.execute(statement, (name, value)).fetchone()[0])
