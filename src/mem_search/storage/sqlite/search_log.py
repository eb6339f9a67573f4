"""The log of searches: the newest ten thousand, kept on this machine and nowhere else.

Query texts come here already redacted. What was asked often, in vain or slowly is counted when
it is asked for; questions are equal that differ in case or filters only.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import astuple

from mem_search.model.statistics import AskedQuery, LoggedSearch
from mem_search.storage.sqlite.database import Connection, Repository, reads, writes

MOST = 10_000
MOST_SHARING = 2_000
_SINCE_EVER = 0


class SqliteSearchLog(Repository):
    """``ports.SearchLogStore`` over the table ``search_log``."""

    @writes
    def add(self, connection: Connection, searches: Sequence[LoggedSearch]) -> None:
        connection.executemany(
            "insert into search_log(at, query, filters, mode, total, took_ms, surface)"
            " values(?, ?, ?, ?, ?, ?, ?)",
            [astuple(search) for search in searches],
        )
        connection.execute(
            "delete from search_log where id <= (select max(id) from search_log) - ?", (MOST,)
        )

    @reads
    def popular(
        self, connection: Connection, limit: int, since: int | None = None
    ) -> list[AskedQuery]:
        return _asked(connection, "1", limit, since)

    @reads
    def without_results(
        self, connection: Connection, limit: int, since: int | None = None
    ) -> list[AskedQuery]:
        return _asked(connection, "found = 0", limit, since)

    @reads
    def slow(
        self, connection: Connection, limit: int, since: int | None = None
    ) -> list[LoggedSearch]:
        rows = connection.execute(
            "select at, query, filters, mode, total, took_ms, surface from search_log"
            " where at >= ? order by took_ms desc, id desc limit ?",
            (_SINCE_EVER if since is None else since, limit),
        )
        return [LoggedSearch(*row) for row in rows]

    @writes
    def clear(self, connection: Connection) -> int:
        return connection.execute("delete from search_log").rowcount


def sharing(connection: Connection, words: Sequence[str], limit: int) -> list[AskedQuery]:
    """Queries that found something and contain one of ``words``, the most frequent first.

    Only the newest are read, which limits the time.
    """
    if not words:
        return []
    condition = " or ".join("instr(lower(query), ?)" for _ in words)
    newest = f"id > (select max(id) from search_log) - {MOST_SHARING} and ({condition})"
    return _asked(connection, "found > 0", limit, None, newest, words)


def _asked(
    connection: sqlite3.Connection,
    kept: str,
    limit: int,
    since: int | None,
    condition: str = "1",
    values: Sequence[str] = (),
) -> list[AskedQuery]:
    # A question is one whatever its filters; ``found`` is what it found when it was last asked with
    # each of them. With max(id) SQLite takes the other columns from the newest row.
    rows = connection.execute(
        "select query, times, last_at, total from ("
        " select query, sum(times) as times, last_at, total, sum(total) as found, max(id) from ("
        "  select query, count(*) as times, at as last_at, total, max(id) as id from search_log"
        f"  where at >= ? and ({condition}) group by lower(query), filters)"
        " group by lower(query))"
        f" where {kept} order by times desc, last_at desc limit ?",
        (_SINCE_EVER if since is None else since, *values, limit),
    )
    return [AskedQuery(*row) for row in rows]
