"""The full-text index: ranked passages for a match expression, and all records that match.

BM25 is FTS5's own (k1 = 1.2, b = 0.75, https://sqlite.org/fts5.html#the_bm25_function) with the
title column weighted 3. Scores are returned positive, higher is better.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from mem_search.model import Filters
from mem_search.storage.sqlite import filters as sql_filters

_BM25 = "bm25(passages_fts, 3.0, 1.0, 1.0)"
_OWNER = "p.record_id, p.kind, p.field, p.end - p.start"


@dataclass(frozen=True, slots=True)
class Match:
    """A passage that matched: its record, its BM25 score, its length in characters."""

    passage: int
    record: int
    kind: str
    field: str
    length: int
    score: float


def search_sql(filters: Filters) -> tuple[str, list[object]]:
    """The ranking statement and its parameters after the expression, before the limit."""
    condition, values = sql_filters.where(filters)
    if condition == "1":
        # Rank first, look up owners for the rows that stay: the join on every match costs more.
        return (
            f"select f.id, {_OWNER}, f.score from (select rowid as id, -{_BM25} as score"
            " from passages_fts where passages_fts match ?"
            " order by score desc limit ?) f join passages p on p.id = f.id"
            " order by f.score desc, f.id",
            [],
        )
    return (
        f"select p.id, {_OWNER}, -{_BM25} as score from passages_fts"
        " join passages p on p.id = passages_fts.rowid join records r on r.id = p.record_id"
        f" where passages_fts match ? and {condition} order by score desc, p.id limit ?",
        values,
    )


def search(
    connection: sqlite3.Connection, expression: str, filters: Filters, limit: int
) -> list[Match]:
    """The best ``limit`` passages for an FTS5 ``expression`` within ``filters``, best first."""
    statement, values = search_sql(filters)
    return [Match(*row) for row in connection.execute(statement, (expression, *values, limit))]


def among(
    connection: sqlite3.Connection, expression: str, records: Iterable[int], limit: int
) -> list[Match]:
    """The best ``limit`` passages of ``records`` that match, best first.

    BM25 is the cost of a search: here only the wanted rows are scored. The plus keeps SQLite
    from asking the full-text index anew for each of them.
    """
    rows = connection.execute(
        f"select f.id, {_OWNER}, f.score from (select rowid as id, -{_BM25} as score"
        " from passages_fts where passages_fts match ? and +rowid in (select id from passages"
        " where record_id in (select value from json_each(?)))"
        " order by score desc limit ?) f join passages p on p.id = f.id"
        " order by f.score desc, f.id",
        (expression, json.dumps(list(records)), limit),
    )
    return [Match(*row) for row in rows]


def matched(connection: sqlite3.Connection, expression: str, filters: Filters) -> dict[int, str]:
    """Every record that matches, with its kind: totals are counted, never guessed."""
    condition, values = sql_filters.where(filters)
    join = "" if condition == "1" else " join records r on r.id = p.record_id"
    # One row: each that Python takes costs a turn at its lock, and there may be tens of
    # thousands while the ranking waits for its own.
    numbers, kinds = connection.execute(
        "select json_group_array(p.record_id), json_group_array(p.kind) from passages_fts"
        f" join passages p on p.id = passages_fts.rowid{join}"
        f" where passages_fts match ? and {condition}",
        (expression, *values),
    ).fetchone()
    return dict(zip(json.loads(numbers), json.loads(kinds), strict=True))
