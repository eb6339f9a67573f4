"""Running a script of statements inside the transaction of its step."""

from __future__ import annotations

import sqlite3


def run(connection: sqlite3.Connection, script: str) -> None:
    """Execute statement by statement: ``executescript`` would commit the open transaction."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            connection.execute(statement)
            statement = ""
