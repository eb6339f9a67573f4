"""Words and names of the store that complete a prefix: titles, projects, tags, files.

A query skips from one distinct value to the next in an index, so a value costs the same however
many records have it. Case does not matter.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Final

from mem_search.model import SAMPLE
from mem_search.storage.sqlite.word_list import MAX_WORD_CHARS, WordList
from mem_search.text.query.parse import MAX_MEANT
from mem_search.text.spelling import edits_allowed, other_beginnings

LAST = "\U0010ffff"
"""Sorts after everything that can follow a prefix."""

Counted = tuple[str, int]
"""A word and the number of records with it."""


def beginning_with(connection: sqlite3.Connection, prefix: str, limit: int) -> list[Counted]:
    """Longer words that begin with ``prefix`` (in lower case), the most frequent first."""
    return connection.execute(
        "select term, max(doc) as most from known_words where term > ? and term < ?"
        " and length(term) <= ? and term not glob '[0-9]*'"
        " group by term order by most desc, term limit ?",
        (prefix, prefix + LAST, MAX_WORD_CHARS, limit),
    ).fetchall()


def like(connection: sqlite3.Connection, word: str) -> list[Counted]:
    """Candidates for the correction of ``word``, to be compared letter by letter.

    They begin with its first or second letter; words one edit away may begin with any letter.
    """
    edits = edits_allowed(word)
    rows = chain(
        *(
            connection.execute(
                "select term, doc from known_words where term >= ? and term < ?"
                " and length(term) between ? and ?",
                (initial, initial + LAST, len(word) - edits, len(word) + edits),
            )
            for initial in dict.fromkeys(word[:2])
        ),
        connection.execute(
            "select w.term, w.doc from json_each(?) j cross join known_words w on w.term = j.value",
            (json.dumps(other_beginnings(word)),),
        ),
    )
    found: dict[str, int] = {}
    for term, records in rows:
        found[term] = max(records, found.get(term, 0))
    return list(found.items())


@dataclass(frozen=True, slots=True)
class Lookup:
    """``rules.wild_words.Lookup`` over ``connection``."""

    connection: sqlite3.Connection
    words: WordList

    def beginning_with(self, prefix: str, limit: int) -> list[Counted]:
        return beginning_with(self.connection, prefix, limit)

    def like(self, word: str) -> list[Counted]:
        return like(self.connection, word)

    def alike(self, pattern: str) -> list[str]:
        return alike(self.connection, pattern, self.words)


def alike(connection: sqlite3.Connection, pattern: str, words: WordList) -> list[str]:
    """The words that ``pattern`` stands for, the most frequent first: ``au*tion``, ``*tion``.

    What precedes the first ``*`` is looked up; without it all words of the store are compared.
    """
    beginning = pattern.partition("*")[0]
    if beginning:
        rows = connection.execute(
            "select term from known_words where term >= ? and term < ? and term glob ?"
            " and length(term) <= ? group by term order by max(doc) desc, term limit ?",
            (beginning, beginning + LAST, pattern, MAX_WORD_CHARS, MAX_MEANT),
        )
        return [word for (word,) in rows]
    return words.alike(connection, pattern)


Named = Callable[[sqlite3.Connection, str, int], list[Counted]]
"""A function for one sort of names: prefix, limit → names with their counts."""

MAX_VALUES = 1_000
"""Distinct values that are read: beyond them a completion can be missed, but none is slow."""

_NEXT_PROJECT: Final = "select min(project) from records where project > ?"
_FILE_NAME = "lower(replace(value, rtrim(value, replace(value, '/', '')), ''))"
_FILE_FACETS = "name in ('file_read', 'file_modified', 'path')"


def titles(connection: sqlite3.Connection, prefix: str, limit: int) -> list[Counted]:
    """Titles with their number of records, in alphabetical order."""
    return connection.execute(
        "select title, count(*) from records where title != '' and source != ?"
        " and title >= ? collate nocase and title < ? collate nocase"
        " group by title collate nocase order by title collate nocase limit ?",
        (SAMPLE, prefix, prefix + LAST, limit),
    ).fetchall()


def projects(connection: sqlite3.Connection, prefix: str, limit: int) -> list[Counted]:
    """Project names; counts stop at 1000."""
    return _begun(
        connection,
        _NEXT_PROJECT,
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

    A prefix with a slash is compared with the whole path; then case matters.
    """
    # The statement names the index, because the planner would read all files.
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
    folded = prefix.casefold()
    values = _distinct(connection, following)
    found = [value for value in values if value.casefold().startswith(folded)]
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


def values_of(connection: sqlite3.Connection, field: str, most: int) -> list[str]:
    """The first ``most`` values of ``project``, ``source`` or of the facet ``field``."""
    following = "select min(value) from facets where name = :name and value > ?"
    if field == "project":
        following = _NEXT_PROJECT
    elif field == "source":
        following = "select min(source) from records where source > ?"
    return _distinct(connection, following, field, most)


def _distinct(
    connection: sqlite3.Connection, following: str, name: str = "", most: int = MAX_VALUES
) -> list[str]:
    """The distinct values in order; ``following`` selects the one after ``?``, by a seek."""
    rows = connection.execute(
        f"with recursive each(value, place) as (select ({following.replace('?', ':none')}), 1"
        f" union all select ({following.replace('?', 'each.value')}), place + 1 from each"
        " where each.value is not null and place < :most)"
        " select value from each where value is not null",
        {"none": "", "most": most, "name": name},
    )
    return [value for (value,) in rows]
