"""The store's own words: how a prefix goes on, and what could have been meant by a word.

Words are those of titles and texts as they are written (lower-cased, not stemmed), each with
the number of records that have it. Everything is a seek or a short range of the word index.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from mem_search.text.spelling import edits_allowed, other_beginnings

LAST = "\U0010ffff"
"""Sorts behind everything that can follow a prefix."""

LONGEST = 40
"""Characters; longer words are hashes and runs of text without spaces."""

Counted = tuple[str, int]
"""A word, and how many records have it."""


def beginning_with(connection: sqlite3.Connection, prefix: str, limit: int) -> list[Counted]:
    """Longer words that begin with ``prefix`` (in lower case), the most frequent first."""
    return connection.execute(
        "select term, doc from words where term > ? and term < ?"
        " and length(term) <= ? and term not glob '[0-9]*' order by doc desc, term limit ?",
        (prefix, prefix + LAST, LONGEST, limit),
    ).fetchall()


def unknown(connection: sqlite3.Connection, words: Sequence[str]) -> list[str]:
    """Those ``words`` that no search can find, in any form that the search takes for the same."""
    return [
        word
        for word in words
        if connection.execute(
            "select 1 from passages_fts where passages_fts match ? limit 1", (f'"{word}"',)
        ).fetchone()
        is None
    ]


def like(connection: sqlite3.Connection, word: str) -> list[Counted]:
    """Words that ``word`` may have been meant to be, to be compared letter by letter.

    They begin with its first or second letter; those one edit away may begin with any.
    """
    edits = edits_allowed(word)
    found: dict[str, int] = {}
    for initial in dict.fromkeys(word[:2]):
        found.update(
            connection.execute(
                "select term, doc from words where term >= ? and term < ?"
                " and length(term) between ? and ?",
                (initial, initial + LAST, len(word) - edits, len(word) + edits),
            )
        )
    found.update(
        connection.execute(
            "select w.term, w.doc from json_each(?) j cross join words w on w.term = j.value",
            (json.dumps(other_beginnings(word)),),
        )
    )
    return list(found.items())
