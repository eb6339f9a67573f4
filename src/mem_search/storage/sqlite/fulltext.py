"""The full-text index: ranked passages for a match expression, and all passages that match.

BM25 is FTS5's own (k1 = 1.2, b = 0.75, https://sqlite.org/fts5.html#the_bm25_function) with the
title column weighted 3. Scores are returned positive, higher is better. Whose a passage is, the
caller knows (``owners``): without a filter nothing is joined here.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable

from mem_search.model import Filters
from mem_search.storage.sqlite import filters as sql_filters

_BM25 = "bm25(passages_fts, 3.0, 1.0, 1.0)"
_JOINED = (
    " join passages p on p.id = passages_fts.rowid join records r on r.id = p.record_id"
    " where passages_fts match ? and "
)

Match = tuple[int, float]
"""(passage, BM25 score)."""


def search_sql(filters: Filters) -> tuple[str, list[object]]:
    """The ranking statement and its parameters after the expression, before the limit."""
    condition, values = sql_filters.where(filters)
    matching = " where passages_fts match ?" if condition == "1" else _JOINED + condition
    return (
        f"select passages_fts.rowid as id, -{_BM25} as score from passages_fts{matching}"
        " order by score desc, id limit ?",
        values,
    )


def search(
    connection: sqlite3.Connection, expression: str, filters: Filters, limit: int
) -> list[Match]:
    """The best ``limit`` passages for an FTS5 ``expression`` within ``filters``, best first."""
    statement, values = search_sql(filters)
    return connection.execute(statement, (expression, *values, limit)).fetchall()


def among(
    connection: sqlite3.Connection, expression: str, passages: Iterable[int], limit: int
) -> list[Match]:
    """The best ``limit`` of ``passages`` that match, best first.

    BM25 is the cost of a search: here only the wanted rows are scored. The plus keeps SQLite
    from asking the full-text index anew for each of them.
    """
    return connection.execute(
        f"select rowid as id, -{_BM25} as score from passages_fts where passages_fts match ?"
        " and +rowid in (select value from json_each(?)) order by score desc, id limit ?",
        (expression, json.dumps(list(passages)), limit),
    ).fetchall()


def matched(connection: sqlite3.Connection, expression: str, filters: Filters) -> list[int]:
    """Every passage that matches: totals are counted, never guessed."""
    condition, values = sql_filters.where(filters)
    matching = " where passages_fts match ?" if condition == "1" else _JOINED + condition
    # One row: each that Python takes costs a turn at its lock, and there may be tens of
    # thousands while the ranking waits for its own.
    (passages,) = connection.execute(
        f"select json_group_array(passages_fts.rowid) from passages_fts{matching}",
        (expression, *values),
    ).fetchone()
    return list(json.loads(passages))
