"""Tokens as they are stored: by the digest of their secret, never the secret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple
from typing import Any

from mem_search.model.access import Token
from mem_search.storage.sqlite.database import Connection, Repository, reads, writes

_COLUMNS = "name, user, digest, read_only, created_at, expires_at, last_used_at"


class SqliteTokens(Repository):
    """``ports.TokenStore`` over the table ``tokens``."""

    @reads
    def find(self, connection: Connection, digest: bytes) -> Token | None:
        rows = connection.execute(f"select {_COLUMNS} from tokens where digest = ?", (digest,))
        return next(map(_token, rows), None)

    @reads
    def all(self, connection: Connection) -> list[Token]:
        return list(map(_token, connection.execute(f"select {_COLUMNS} from tokens order by name")))

    @writes
    def add(self, connection: Connection, token: Token) -> bool:
        added = connection.execute(
            f"insert into tokens({_COLUMNS}) values(?, ?, ?, ?, ?, ?, ?)"
            " on conflict(name) do nothing",
            astuple(token),
        )
        return bool(added.rowcount)

    @writes
    def remove(self, connection: Connection, names: Sequence[str]) -> list[Token]:
        removed = [
            _token(row)
            for name in names
            for row in connection.execute(
                f"delete from tokens where name = ? returning {_COLUMNS}", (name,)
            ).fetchall()
        ]
        return sorted(removed, key=lambda token: token.name)

    @writes
    def note_used(self, connection: Connection, at: Mapping[str, int]) -> None:
        connection.executemany(
            "update tokens set last_used_at = max(?, coalesce(last_used_at, 0)) where name = ?",
            [(moment, name) for name, moment in at.items()],
        )


def _token(row: Sequence[Any]) -> Token:
    name, user, digest, read_only, created, expires, used = row
    return Token(name, user, digest, bool(read_only), created, expires, used)
