"""The full-text index: which passages match an expression, and how well.

BM25 is FTS5's own (k1 = 1.2, b = 0.75, https://sqlite.org/fts5.html#the_bm25_function) with the
title column weighted 3. Scores are returned positive, higher is better. Whose a passage is, the
caller knows (``owners``), and which of them pass a filter as well (``passing``): nothing is
joined here. Every statement has one row, because Python queues for its lock at each row it
takes, and there may be tens of thousands.
"""

from __future__ import annotations

import json
import sqlite3

import numpy as np
from numpy.typing import NDArray

_BM25 = "bm25(passages_fts, 3.0, 1.0, 1.0)"

_UNIT = 1e12
"""Scores leave SQLite as integers, which are written and read faster; no two of them tie by it."""

Passages = NDArray[np.int64]
Scores = NDArray[np.float64]


def scores(connection: sqlite3.Connection, expression: str) -> tuple[Passages, Scores]:
    """Every passage that matches an FTS5 ``expression``, with its score.

    All are scored: asking for the best thousand costs the same, since BM25 is the cost.
    """
    return _scored(connection, "", (expression,))


def among(
    connection: sqlite3.Connection, expression: str, passages: Passages
) -> tuple[Passages, Scores]:
    """The same for those of ``passages`` that match.

    The plus keeps SQLite from asking the full-text index anew for each of them.
    """
    return _scored(
        connection,
        " and +rowid in (select value from json_each(?))",
        (expression, json.dumps(passages.tolist())),
    )


def having(connection: sqlite3.Connection, expression: str, passages: Passages) -> set[int]:
    """Those of a few ``passages`` (at least one) that match."""
    (found,) = connection.execute(
        "select json_group_array(rowid) from passages_fts where passages_fts match ?"
        " and rowid between ? and ? and +rowid in (select value from json_each(?))",
        (expression, int(passages.min()), int(passages.max()), json.dumps(passages.tolist())),
    ).fetchone()
    return set(json.loads(found))


def records_having(connection: sqlite3.Connection, expression: str) -> set[int]:
    """The records with a passage that matches; for expressions that few do."""
    rows = connection.execute(
        "select distinct p.record_id from passages_fts f join passages p on p.id = f.rowid"
        " where passages_fts match ?",
        (expression,),
    )
    return {number for (number,) in rows}


def _scored(
    connection: sqlite3.Connection, condition: str, values: tuple[str, ...]
) -> tuple[Passages, Scores]:
    # The limit keeps the inner statement apart: bm25() is not to be had inside an aggregate.
    ids, scored = connection.execute(
        "select json_group_array(id), json_group_array(score) from (select rowid as id,"
        f" cast(-{_BM25} * {_UNIT:.0f} as integer) as score from passages_fts"
        f" where passages_fts match ?{condition} limit -1)",
        values,
    ).fetchone()
    return (
        np.array(json.loads(ids), dtype=np.int64),
        np.array(json.loads(scored), dtype=np.float64) / _UNIT,
    )


def matched(connection: sqlite3.Connection, expression: str) -> Passages:
    """Every passage that matches: totals are counted, never guessed."""
    (passages,) = connection.execute(
        "select json_group_array(rowid) from passages_fts where passages_fts match ?",
        (expression,),
    ).fetchone()
    return np.array(json.loads(passages), dtype=np.int64)
