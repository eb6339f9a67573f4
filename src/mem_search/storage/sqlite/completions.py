"""Names in the store that begin with what was typed: titles, projects, tags, files.

Distinct values are found by jumping from one to the next in an index, so that a project with a
million records costs as much as one with a single record. Letters of either case are equal.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from mem_search.storage.sqlite.store_words import LAST, Counted

Named = Callable[[sqlite3.Connection, str, int], list[Counted]]
"""One sort of names: those that begin with a prefix, at most so many."""

MOST_VALUES = 1_000
"""Distinct values looked at; behind them a completion may be missed, but nothing is slow."""

_FILE_NAME = "lower(replace(value, rtrim(value, replace(value, '/', '')), ''))"
_FILE_FACETS = "name in ('file_read', 'file_modified', 'path')"


def titles(connection: sqlite3.Connection, prefix: str, limit: int) -> list[Counted]:
    """Titles and how many records have them, in the order of the alphabet."""
    return connection.execute(
        "select title, count(*) from records where title != ''"
        " and title >= ? collate nocase and title < ? collate nocase"
        " group by title collate nocase order by title collate nocase limit ?",
        (prefix, prefix + LAST, limit),
    ).fetchall()


def projects(connection: sqlite3.Connection, prefix: str, limit: int) -> list[Counted]:
    """Project names; counts stop at 1000."""
    return _begun(
        connection,
        "select min(project) from records where project > ?",
        "select 1 from records where project = ?",
        prefix,
        limit,
    )


def tags(connection: sqlite3.Connection, prefix: str, limit: int) -> list[Counted]:
    """Tags; counts stop at 1000."""
    return _begun(
        connection,
        "select min(value) from facets where name = 'tag' and value > ?",
        "select 1 from facets where name = 'tag' and value = ?",
        prefix,
        limit,
    )


def files(connection: sqlite3.Connection, prefix: str, limit: int) -> list[Counted]:
    """Paths whose last part begins with ``prefix``, and how many records touched them.

    With a slash in it the whole path begins so, in this case of its letters.
    """
    # The index is named, because the planner knows nothing of the values and would read all files.
    table, told, begun = (
        ("facets", "value", prefix)
        if "/" in prefix
        else ("facets indexed by facets_by_file_name", _FILE_NAME, prefix.lower())
    )
    return connection.execute(
        f"select value, count(distinct record_id) from {table}"
        f" where {_FILE_FACETS} and {told} >= ? and {told} < ?"
        " group by value order by 2 desc, 1 limit ?",
        (begun, begun + LAST, limit),
    ).fetchall()


def _begun(
    connection: sqlite3.Connection, following: str, counted: str, prefix: str, limit: int
) -> list[Counted]:
    """Values with ``prefix``, the most used first; two statements, each a seek."""
    rows = connection.execute(
        f"with recursive each(value, place) as (select ({following}), 1 union all"
        f" select ({following.replace('?', 'each.value')}), place + 1 from each"
        " where each.value is not null and place < ?)"
        " select value from each where value is not null",
        ("", MOST_VALUES),
    )
    folded = prefix.casefold()
    found = [value for (value,) in rows if value.casefold().startswith(folded)]
    counts = [
        (
            value,
            connection.execute(f"select count(*) from ({counted} limit 1000)", (value,)).fetchone()[
                0
            ],
        )
        for value in found[: 5 * limit]
    ]
    return sorted(counts, key=lambda item: (-item[1], item[0]))[:limit]
