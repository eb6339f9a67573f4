"""The log of searches: the newest ten thousand, kept in the store and nowhere else.

Query texts come here already redacted and without fields. What was asked often, in vain or slowly
is counted when it is asked for; questions are equal that differ only in case, in filters or in the
punctuation at their end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, replace
from typing import Any, Final

from mem_search.model.statistics import AskedQuery, Click, LoggedSearch
from mem_search.storage.sql.connection import Connection, Repository, reads, writes, writes_beside

_COLUMNS: Final = "at, query, filters, mode, total, took_ms, surface"
_SINCE_EVER: Final = 0

MAX_LOGGED: Final = 10_000
"""Searches that the log keeps, the newest ones."""

MAX_CLICKS: Final = 5_000
"""Openings after searches that are kept, the newest ones."""

MAX_SHARING: Final = 2_000
"""The newest searches, in which those with a word are looked for."""


class StoredSearchLog(Repository):
    """The newest ten thousand searches; queries that differ in case or filters only are equal."""

    @writes_beside
    def add(self, connection: Connection, searches: Sequence[LoggedSearch]) -> None:
        """Store searches and drop the oldest beyond the limit."""
        connection.many(
            f"insert into search_log({_COLUMNS}) values(%s, %s, %s, %s, %s, %s, %s)",
            [astuple(search) for search in searches],
        )
        # Several users share the numbers of a table, so the oldest that stays is looked up.
        connection.execute(
            "delete from search_log where id <="
            " (select id from search_log order by id desc limit 1 offset %s)",
            (MAX_LOGGED,),
        )

    @writes_beside
    def opened(self, connection: Connection, openings: Mapping[int, tuple[int, int]]) -> None:
        """Note that records were opened: number → when last, and how often since the last note."""
        rows = [(at, times, number) for number, (at, times) in openings.items()]
        connection.many(
            "update openings set at = %s, times = times + %s where record_id = %s", rows
        )
        connection.many(
            "insert into openings(record_id, at, times) select r.id, %s, %s from records r"
            " where r.id = %s and not exists (select 1 from openings o where o.record_id = r.id)",
            rows,
        )

    @writes_beside
    def add_clicks(self, connection: Connection, clicks: Sequence[Click]) -> None:
        """Store openings after searches, of records that are still there; drop the oldest."""
        connection.many(
            "insert into clicks(at, query, record_id)"
            " select %s, %s, r.id from records r where r.id = %s",
            [astuple(click) for click in clicks],
        )
        connection.execute(
            "delete from clicks where id <="
            " (select id from clicks order by id desc limit 1 offset %s)",
            (MAX_CLICKS,),
        )

    @reads
    def clicks(self, connection: Connection) -> list[Click]:
        """Openings after searches, the newest first."""
        rows = connection.execute("select at, query, record_id from clicks order by id desc")
        return [Click(*row) for row in rows]

    @reads
    def popular(
        self, connection: Connection, limit: int, since: int | None = None
    ) -> list[AskedQuery]:
        """The most frequent queries."""
        return [asked for asked, _ in _asked(connection, since)][:limit]

    @reads
    def without_results(
        self, connection: Connection, limit: int, since: int | None = None
    ) -> list[AskedQuery]:
        """Queries that found nothing when they were last asked with each of their filters."""
        return [asked for asked, total in _asked(connection, since) if not total][:limit]

    @reads
    def slow(
        self, connection: Connection, limit: int, since: int | None = None
    ) -> list[LoggedSearch]:
        """The searches that took longest."""
        rows = connection.execute(
            f"select {_COLUMNS} from search_log where at >= %s"
            " order by took_ms desc, id desc limit %s",
            (_SINCE_EVER if since is None else since, limit),
        )
        return [LoggedSearch(*row) for row in rows]

    @reads
    def totals(self, connection: Connection, since: int | None = None) -> tuple[int, int | None]:
        """How many searches the log has, and when the first of them was."""
        count, first = connection.one(
            "select count(*), min(at) from search_log where at >= %s",
            (_SINCE_EVER if since is None else since,),
        )
        return count, first

    @writes
    def clear(self, connection: Connection) -> int:
        """Empty the log, with what was opened; returns how many searches it had."""
        connection.execute("delete from openings")
        connection.execute("delete from clicks")
        return connection.execute("delete from search_log").rowcount


def sharing(connection: Connection, words: Sequence[str], limit: int) -> list[AskedQuery]:
    """Queries that found something and contain one of ``words``, the most frequent first.

    Only the newest are read, which limits the time.
    """
    if not words:
        return []
    condition = " or ".join(["strpos(lower(query), %s) > 0"] * len(words))
    newest = f"id > (select max(id) from search_log) - {MAX_SHARING} and ({condition})"
    return [asked for asked, total in _asked(connection, None, newest, words) if total][:limit]


def beginning(connection: Connection, prefix: str, limit: int) -> list[AskedQuery]:
    """Queries that found something and begin with ``prefix``, in whatever case; the most frequent
    of the newest ones first.
    """
    newest = f"id > (select max(id) from search_log) - {MAX_SHARING}"
    begun = prefix.casefold()
    return [
        asked
        for asked, total in _asked(connection, None, newest)
        if total and asked.query.casefold().startswith(begun) and asked.query != prefix
    ][:limit]


def _asked(
    connection: Connection, since: int | None, condition: str = "true", values: Sequence[Any] = ()
) -> list[tuple[AskedQuery, int]]:
    return _by_question(
        connection.execute(
            "select query, filters, at, total from search_log"
            f" where at >= %s and {condition} order by id desc",
            (_SINCE_EVER if since is None else since, *values),
        )
    )


def _by_question(rows: Iterable[tuple[str, str, int, int]]) -> list[tuple[AskedQuery, int]]:
    """Each question of ``rows``, (query, filters, when, total) with the newest first, and what it
    found in all when it was last asked with each of its filters; the most frequent first.

    It is written, and its total is, as when it was last asked.
    """
    # In Python: databases differ in the letters whose case they fold.
    asked: dict[str, AskedQuery] = {}
    totals: dict[str, dict[str, int]] = {}
    for query, filters, at, total in rows:
        key = query.casefold().rstrip(" ?!.") or query
        known = asked.get(key)
        asked[key] = (
            AskedQuery(query, 1, at, total)
            if known is None
            else replace(known, times=known.times + 1)
        )
        totals.setdefault(key, {}).setdefault(filters, total)
    ordered = sorted(asked, key=lambda key: (-asked[key].times, -asked[key].last_at))
    return [(asked[key], sum(totals[key].values())) for key in ordered]
