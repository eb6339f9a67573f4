"""The step ``m006_access``."""

from __future__ import annotations

from typing import Final

from mem_search.storage.postgres.connection import Connection
from mem_search.storage.postgres.migrations import owned_tables

TABLES: Final = """
    -- Requests that count against a limit: whose, which, when (milliseconds since 1970), how many.
    create table granted_requests(
        id bigint generated always as identity,
        budget text not null, policy text not null, at bigint not null, count bigint not null
    );
    -- Links that log a browser in, by the digest of their code, until a second since 1970; and the
    -- key by which the worker of a home signs cookies.
    create table login_links(
        digest bytea not null, ends bigint not null, seq bigint generated always as identity
    );
    create table login_keys(home text not null, key bytea not null);
"""

KEYS: Final = {"granted_requests": "id", "login_links": "digest", "login_keys": "home"}


def m006_access(connection: Connection) -> None:
    """What all workers of a store decide alike: limits and logins of browsers."""
    owned_tables.create(connection, TABLES, KEYS)
    connection.execute("create index on granted_requests(owner, budget, policy, at)")
