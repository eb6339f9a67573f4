"""The step ``m023_access``."""

from __future__ import annotations

import sqlite3

from mem_search.storage.sqlite.migrations._script import run


def m023_access(connection: sqlite3.Connection) -> None:
    """Requests that count against a limit, links that log a browser in, and keys of cookies.

    Times of requests are milliseconds since 1970, ends of links are seconds. A link is kept by the
    digest of its code, so that the file alone logs nobody in by it.
    """
    run(
        connection,
        """
        create table granted_requests(
            budget text not null, policy text not null, at integer not null, count integer not null
        );
        create index granted_requests_by_budget on granted_requests(budget, policy, at);
        create table login_links(digest blob not null unique, ends integer not null);
        create table login_keys(key blob not null unique);
    """,
    )
