"""The full-text index: word queries compiled to FTS5, the matching passages and their scores.

BM25 is FTS5's own, with the weights of ``rules.bm25``. Returned scores are positive, higher is
better. No statement has a join: ``passage_map`` and ``record_columns`` know in memory which record
a passage belongs to and whether it passes a filter. Every statement returns one row, because Python
waits for its lock at each of what may be tens of thousands of rows.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mem_search.patterns import pattern
from mem_search.storage.rules import bm25
from mem_search.text.words import (
    CJK,
    FOLDED,
    AllWords,
    AnyWords,
    WordPhrase,
    WordQuery,
    folded,
    is_hash,
    pairs,
)

_BM25 = f"bm25(passages_fts, {', '.join(map(str, bm25.WEIGHTS))})"

_UNIT = 1e15
"""Scores leave SQLite as integers, which is faster; the factor is large enough to avoid ties."""

_IS_CJK = pattern(f"[{CJK}]")

Passages = NDArray[np.int64]
Scores = NDArray[np.float64]


def expression(query: WordQuery) -> str:
    """``query`` in the syntax of FTS5."""
    match query:
        case WordPhrase():
            return _phrase(query)
        case AllWords():
            join = " AND "
        case AnyWords():
            join = " OR "
    terms = [(expression(part), isinstance(part, WordPhrase)) for part in query.of]
    return join.join([term if is_one else f"({term})" for term, is_one in terms])


def _phrase(phrase: WordPhrase) -> str:
    """Words of one script form a phrase; where the script changes, both sides must match."""
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
            # A character is indexed as the beginning of a pair, or alone at the end of a run.
            terms.append(f'parts : "{" ".join(pairs(run))}"{" *" * (len(run) == 1)}')
        else:
            latin.append(run)
    if latin:
        terms.append(f'"{" ".join(latin)}"')
        if not terms[-1].isascii() and (plain := folded(terms[-1])) != terms[-1]:
            # The index has the word as it was written, and beside it without such letters.
            sign = " *" * phrase.prefix
            terms[-1] = f"({terms[-1]}{sign} OR {plain}{sign})"
    if len(terms) > 1:
        return f"({' AND '.join(terms)})"
    return f"{terms[0]} *" if phrase.prefix and terms[0].startswith('"') else terms[0]


def scores(
    connection: sqlite3.Connection, query: WordQuery, among: Passages | None = None
) -> tuple[Passages, Scores]:
    """Every passage that matches ``query``, or those ``among`` some, with its score.

    All are scored, because BM25 costs the same for the best thousand.
    """
    condition, values = "", list[str | int]([expression(query)])
    if among is not None:
        # The plus keeps SQLite from querying the full-text index for each of them.
        condition = " and rowid >= ? and +rowid in (select value from json_each(?))"
        values += [int(among.min()) if len(among) else 0, json.dumps(among.tolist())]
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
    """Every matching passage, so that totals are exact."""
    (passages,) = connection.execute(
        "select json_group_array(rowid) from passages_fts where passages_fts match ?",
        (expression(query),),
    ).fetchone()
    return np.array(json.loads(passages), dtype=np.int64)


def unknown(connection: sqlite3.Connection, words: Sequence[str]) -> list[str]:
    """The ``words``, in lower case, that no search can find in any form that it treats as equal."""
    # One statement for all, because each search asks; the index has each word folded, too.
    rows = connection.execute(
        "select w.key from json_each(?) w where not exists (select 1 from passages_fts"
        " where passages_fts match '\"' || w.value || '\"')",
        (json.dumps(words, ensure_ascii=False).translate(FOLDED),),
    ).fetchall()
    return [words[place] for (place,) in rows] if rows else []


FILLED_BY: Final = {
    "passages_fts": "insert into passages_fts(passages_fts) values('rebuild')",
    "words_fts": "insert into words_fts(rowid, title, body) select id, title, body from records"
    " where source != 'sample'",
    "people_fts": "insert into people_fts(rowid, people)"
    " select id, people from passages where people != ''",
}
"""Full-text index → the statement that fills it when it is empty."""

_SECURE_SINCE = (3, 42)
_PLAIN_FORMAT = 4


def secure_words(connection: sqlite3.Connection) -> None:
    """Let FTS5 remove deleted terms at once, where SQLite can (``secure-delete``, 3.42).

    That changes the format of the index. An older SQLite cannot read it, so it writes the index
    anew; it removes deleted terms when the index is merged (``SqliteForgetting.merge_words``).
    """
    for table in FILLED_BY:
        held = dict(connection.execute(f"select k, v from {table}_config").fetchall())
        if sqlite3.sqlite_version_info >= _SECURE_SINCE:
            if not held.get("secure-delete"):
                connection.execute(f"insert into {table}({table}, rank) values('secure-delete', 1)")
        elif held.get("version", _PLAIN_FORMAT) > _PLAIN_FORMAT:
            _written_anew(connection, table)


def _written_anew(connection: sqlite3.Connection, table: str) -> None:
    connection.execute("begin immediate")
    connection.execute(f"delete from {table}_config where k = 'secure-delete'")
    connection.execute(f"update {table}_config set v = ? where k = 'version'", (_PLAIN_FORMAT,))
    if table != "passages_fts":
        connection.execute(f"insert into {table}({table}) values('delete-all')")
    connection.execute(FILLED_BY[table])
    connection.commit()
