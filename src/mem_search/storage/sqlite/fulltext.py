"""The full-text index: compiling word queries to FTS5, which passages match, and how well.

BM25 is FTS5's own (k1 = 1.2, b = 0.75, https://sqlite.org/fts5.html#the_bm25_function) with the
title column weighted 3. Scores are returned positive, higher is better. Nothing is joined here:
which record a passage belongs to, and whether it passes a filter, is known in memory
(``passage_map``, ``filter_masks``). Every statement returns one row, because Python waits for its
lock at each row it takes, and there may be tens of thousands.
"""

from __future__ import annotations

import json
import re
import sqlite3

import numpy as np
from numpy.typing import NDArray

from mem_search.text.words import CJK, AllWords, AnyWords, WordPhrase, WordQuery, is_hash, pairs

_BM25 = "bm25(passages_fts, 3.0, 1.0, 1.0)"

_UNIT = 1e12
"""Scores leave SQLite as integers, which are written and read faster; no two of them tie by it."""

_IS_CJK = re.compile(f"[{CJK}]")

Passages = NDArray[np.int64]
Scores = NDArray[np.float64]


def expression(query: WordQuery) -> str:
    """``query`` in the syntax of FTS5."""
    match query:
        case WordPhrase():
            return _phrase(query)
        case AllWords():
            return " AND ".join(map(_operand, query.of))
        case AnyWords():
            return " OR ".join(map(_operand, query.of))


def _operand(query: WordQuery) -> str:
    return expression(query) if isinstance(query, WordPhrase) else f"({expression(query)})"


def _phrase(phrase: WordPhrase) -> str:
    """Words of one script stand together; where the script changes, both sides must match."""
    runs = phrase.words
    if len(runs) == 1 and is_hash(runs[0]):
        return f'"{runs[0]}" *'
    terms: list[str] = []
    latin: list[str] = []
    for run in runs:
        if _IS_CJK.match(run):
            if latin:
                terms.append(f'"{" ".join(latin)}"')
                latin = []
            # One character is indexed as the beginning of a pair, or alone at the end of a run.
            terms.append(f'parts : "{" ".join(pairs(run))}"{" *" * (len(run) == 1)}')
        else:
            latin.append(run)
    if latin:
        terms.append(f'"{" ".join(latin)}"')
    if len(terms) > 1:
        return f"({' AND '.join(terms)})"
    return f"{terms[0]} *" if phrase.prefix and terms[0].startswith('"') else terms[0]


def scores(connection: sqlite3.Connection, query: WordQuery) -> tuple[Passages, Scores]:
    """Every passage that matches ``query``, with its score.

    All are scored: asking for the best thousand costs the same, since BM25 is the cost.
    """
    return _scored(connection, "", (expression(query),))


def among(
    connection: sqlite3.Connection, query: WordQuery, passages: Passages
) -> tuple[Passages, Scores]:
    """The same for those of ``passages`` that match.

    The plus keeps SQLite from asking the full-text index anew for each of them.
    """
    return _scored(
        connection,
        " and +rowid in (select value from json_each(?))",
        (expression(query), json.dumps(passages.tolist())),
    )


def having(connection: sqlite3.Connection, query: WordQuery, passages: Passages) -> set[int]:
    """Those of a few ``passages`` (at least one) that match."""
    (found,) = connection.execute(
        "select json_group_array(rowid) from passages_fts where passages_fts match ?"
        " and rowid between ? and ? and +rowid in (select value from json_each(?))",
        (
            expression(query),
            int(passages.min()),
            int(passages.max()),
            json.dumps(passages.tolist()),
        ),
    ).fetchone()
    return set(json.loads(found))


def records_having(connection: sqlite3.Connection, query: WordQuery) -> set[int]:
    """The records with a passage that matches; for queries that few passages match."""
    rows = connection.execute(
        "select distinct p.record_id from passages_fts f join passages p on p.id = f.rowid"
        " where passages_fts match ?",
        (expression(query),),
    )
    return {number for (number,) in rows}


def _scored(
    connection: sqlite3.Connection, condition: str, values: tuple[str, ...]
) -> tuple[Passages, Scores]:
    # The limit keeps the inner statement apart: bm25() cannot be used inside an aggregate.
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


def matched(connection: sqlite3.Connection, query: WordQuery) -> Passages:
    """Every passage that matches: totals are counted, never guessed."""
    (passages,) = connection.execute(
        "select json_group_array(rowid) from passages_fts where passages_fts match ?",
        (expression(query),),
    ).fetchone()
    return np.array(json.loads(passages), dtype=np.int64)
