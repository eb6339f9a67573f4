"""Tokens as they are stored: by the digest of their secret, never the secret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple
from typing import Any, Final

from mem_search.model.access import Token
from mem_search.storage.sql.connection import Connection, Repository, reads, writes_beside

_COLUMNS: Final = 'name, "user", digest, read_only, created_at, expires_at, last_used_at'


class StoredTokens(Repository):
    """Tokens by the digest of their secret, never the secret."""

    @reads
    def find(self, connection: Connection, digest: bytes) -> Token | None:
        """The token whose secret has this digest, whichever worker created it."""
        row = connection.maybe(f"select {_COLUMNS} from tokens where digest = %s", (digest,))
        return None if row is None else _token(row)

    @reads
    def all(self, connection: Connection) -> list[Token]:
        """All tokens by name."""
        return [*map(_token, connection.execute(f"select {_COLUMNS} from tokens order by name"))]

    @writes_beside
    def add(self, connection: Connection, token: Token) -> bool:
        """Add a token; False when the name is taken."""
        added = connection.execute(
            f"insert into tokens({_COLUMNS}) values(%s, %s, %s, %s, %s, %s, %s)"
            " on conflict(owner, name) do nothing",
            astuple(token),
        )
        return bool(added.rowcount)

    @writes_beside
    def remove(self, connection: Connection, names: Sequence[str]) -> list[Token]:
        """Remove tokens; returns those that there were, by name."""
        rows = connection.execute(
            f"delete from tokens where name = any(%s::text[]) returning {_COLUMNS}", (list(names),)
        )
        return sorted(map(_token, rows.fetchall()), key=lambda token: token.name)

    @writes_beside
    def note_used(self, connection: Connection, at: Mapping[str, int]) -> None:
        """name → when the token was last used. An earlier time changes nothing."""
        # "greatest": another worker may have answered with it later.
        connection.many(
            "update tokens set last_used_at = greatest(%s, coalesce(last_used_at, 0))"
            " where name = %s",
            [(moment, name) for name, moment in sorted(at.items())],
        )


def _token(row: Sequence[Any]) -> Token:
    name, user, digest, read_only, *times = row
    return Token(name, user, digest, bool(read_only), *times)
