"""Tokens as they are stored: by the digest of their secret, never the secret."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import astuple

from mem_search.model.access import Token

_COLUMNS = "name, user, digest, read_only, created_at, expires_at, last_used_at"


def every(connection: sqlite3.Connection) -> list[Token]:
    rows = connection.execute(f"select {_COLUMNS} from tokens order by name")
    return [
        Token(name, user, digest, bool(read_only), created, expires, used)
        for name, user, digest, read_only, created, expires, used in rows
    ]


def add(connection: sqlite3.Connection, token: Token) -> bool:
    """Whether it was added: not when the name is taken."""
    added = connection.execute(
        f"insert into tokens({_COLUMNS}) values(?, ?, ?, ?, ?, ?, ?) on conflict(name) do nothing",
        astuple(token),
    )
    return bool(added.rowcount)


def remove(connection: sqlite3.Connection, names: Sequence[str]) -> None:
    connection.executemany("delete from tokens where name = ?", [(name,) for name in names])


def used(connection: sqlite3.Connection, at: Mapping[str, int]) -> None:
    """Note when each of these was last used."""
    connection.executemany(
        "update tokens set last_used_at = ? where name = ?",
        [(moment, name) for name, moment in at.items()],
    )
