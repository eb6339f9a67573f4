"""The step ``m006_tokens``."""

from __future__ import annotations

import sqlite3

from mem_search.storage.sqlite.migrations._script import run


def m006_tokens(connection: sqlite3.Connection) -> None:
    """Created tokens, in the worker's own store only. ``digest`` is the SHA-256 of the secret, so
    that the file alone grants no access.
    """
    run(
        connection,
        """
        create table tokens(
            name text primary key,
            user text not null,
            digest blob not null unique,
            read_only integer not null,
            created_at integer not null,
            expires_at integer,
            last_used_at integer
        ) without rowid;
    """,
    )
