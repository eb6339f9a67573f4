"""Tokens as they are stored: by the digest of their secret, never the secret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple

from mem_search.model.access import Token
from mem_search.storage.sqlite.database import Connection, Repository, reads, writes

_COLUMNS = "name, user, digest, read_only, created_at, expires_at, last_used_at"


class SqliteTokens(Repository):
    """``ports.TokenStore`` over the table ``tokens``."""

    @reads
    def all(self, connection: Connection) -> list[Token]:
        rows = connection.execute(f"select {_COLUMNS} from tokens order by name")
        return [
            Token(name, user, digest, bool(read_only), created, expires, used)
            for name, user, digest, read_only, created, expires, used in rows
        ]

    @writes
    def add(self, connection: Connection, token: Token) -> bool:
        added = connection.execute(
            f"insert into tokens({_COLUMNS}) values(?, ?, ?, ?, ?, ?, ?)"
            " on conflict(name) do nothing",
            astuple(token),
        )
        return bool(added.rowcount)

    @writes
    def remove(self, connection: Connection, names: Sequence[str]) -> None:
        connection.executemany("delete from tokens where name = ?", [(name,) for name in names])

    @writes
    def note_used(self, connection: Connection, at: Mapping[str, int]) -> None:
        connection.executemany(
            "update tokens set last_used_at = ? where name = ?",
            [(moment, name) for name, moment in at.items()],
        )
