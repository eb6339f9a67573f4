"""The step ``m009_sessions``."""

from __future__ import annotations

from typing import Final

from mem_search.storage.postgres.connection import Connection
from mem_search.storage.postgres.migrations import owned_tables

TABLES: Final = """
    -- Browsers that are logged in, by the digest of their secret. Times: milliseconds since 1970.
    create table login_sessions(
        id text not null, digest bytea not null, key bytea not null, browser text not null,
        began_at bigint not null, used_at bigint not null, seq bigint generated always as identity
    );
"""

KEYS: Final = {"login_sessions": "id"}


def m009_sessions(connection: Connection) -> None:
    """Browsers that are logged in, in place of signed cookies; ``key`` is one of ``login_keys``."""
    owned_tables.create(connection, TABLES, KEYS)
