"""The log of searches: the newest ten thousand, kept on this machine and nowhere else.

Query texts come here already redacted. What was asked often, in vain or slowly is counted when
it is asked for; equal questions are those that differ in case only.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import astuple

from mem_search.model.statistics import AskedQuery, LoggedSearch

MOST = 10_000
MOST_SHARING = 2_000
_SINCE_EVER = 0


def add(connection: sqlite3.Connection, searches: Sequence[LoggedSearch]) -> None:
    """Keep ``searches`` and drop the oldest beyond ``MOST``."""
    connection.executemany(
        "insert into search_log(at, query, filters, mode, total, took_ms, surface)"
        " values(?, ?, ?, ?, ?, ?, ?)",
        [astuple(search) for search in searches],
    )
    connection.execute(
        "delete from search_log where id <= (select max(id) from search_log) - ?", (MOST,)
    )


def popular(
    connection: sqlite3.Connection, limit: int, since: int | None = None
) -> list[AskedQuery]:
    """What is asked most often."""
    return _asked(connection, "lower(query)", "1", limit, since)


def in_vain(
    connection: sqlite3.Connection, limit: int, since: int | None = None
) -> list[AskedQuery]:
    """What found nothing when it was last asked with the same filters."""
    return _asked(connection, "lower(query), filters", "total = 0", limit, since)


def slow(
    connection: sqlite3.Connection, limit: int, since: int | None = None
) -> list[LoggedSearch]:
    """The searches that took longest."""
    rows = connection.execute(
        "select at, query, filters, mode, total, took_ms, surface from search_log"
        " where at >= ? order by took_ms desc, id desc limit ?",
        (_SINCE_EVER if since is None else since, limit),
    )
    return [LoggedSearch(*row) for row in rows]


def sharing(connection: sqlite3.Connection, words: Sequence[str], limit: int) -> list[AskedQuery]:
    """Questions that found something and contain one of ``words``, the most frequent first.

    Only the newest are looked at: this is asked while somebody waits.
    """
    if not words:
        return []
    condition = " or ".join("instr(lower(query), ?)" for _ in words)
    newest = f"id > (select max(id) from search_log) - {MOST_SHARING} and ({condition})"
    return _asked(connection, "lower(query)", "total > 0", limit, None, newest, words)


def forget(connection: sqlite3.Connection) -> int:
    """Empty the log; returns how many searches it had."""
    return connection.execute("delete from search_log").rowcount


def _asked(
    connection: sqlite3.Connection,
    alike: str,
    kept: str,
    limit: int,
    since: int | None,
    condition: str = "1",
    values: Sequence[str] = (),
) -> list[AskedQuery]:
    # With max(id) SQLite takes the other columns from the row that has it: the newest one.
    rows = connection.execute(
        "select query, times, last_at, total from ("
        " select query, count(*) as times, at as last_at, total, max(id) from search_log"
        f" where at >= ? and ({condition}) group by {alike})"
        f" where {kept} order by times desc, last_at desc limit ?",
        (_SINCE_EVER if since is None else since, *values, limit),
    )
    return [AskedQuery(*row) for row in rows]
