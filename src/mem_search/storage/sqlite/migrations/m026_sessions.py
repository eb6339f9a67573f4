"""The step ``m026_sessions``."""

from __future__ import annotations

import sqlite3

from mem_search.storage.sqlite.migrations._script import run


def m026_sessions(connection: sqlite3.Connection) -> None:
    """Browsers that are logged in, by the digest of their secret, in place of signed cookies.

    Times are milliseconds since 1970. ``key`` is one of ``login_keys``.
    """
    run(
        connection,
        """
        create table login_sessions(
            id text not null unique, digest blob not null unique, key blob not null,
            browser text not null, began_at integer not null, used_at integer not null
        );
    """,
    )
