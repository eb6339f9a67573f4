"""The log of searches: the newest ten thousand, kept on this machine and nowhere else.

Query texts come here already redacted and without fields. What was asked often, in vain or slowly
is counted when it is asked for; questions are equal that differ only in case, in filters or in the
punctuation at their end.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import astuple

from mem_search.model.statistics import AskedQuery, LoggedSearch
from mem_search.storage.rules.asked import MOST_LOGGED, MOST_SHARING, asked_queries
from mem_search.storage.sqlite.database import Connection, Repository, reads, writes

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
            "delete from search_log where id <= (select max(id) from search_log) - ?",
            (MOST_LOGGED,),
        )

    @reads
    def popular(
        self, connection: Connection, limit: int, since: int | None = None
    ) -> list[AskedQuery]:
        return [asked for asked, _ in _asked(connection, since)][:limit]

    @reads
    def without_results(
        self, connection: Connection, limit: int, since: int | None = None
    ) -> list[AskedQuery]:
        return [asked for asked, found in _asked(connection, since) if not found][:limit]

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
    return [asked for asked, found in _asked(connection, None, newest, words) if found][:limit]


def _asked(
    connection: sqlite3.Connection,
    since: int | None,
    condition: str = "1",
    values: Sequence[str] = (),
) -> list[tuple[AskedQuery, int]]:
    return asked_queries(
        connection.execute(
            "select query, filters, at, total from search_log"
            f" where at >= ? and ({condition}) order by id desc",
            (_SINCE_EVER if since is None else since, *values),
        )
    )
