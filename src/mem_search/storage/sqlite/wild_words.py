"""Which of the store's words a prefix (``auth*``) or a misspelling (``authentcation~``) means."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from threading import Lock
from typing import Final

from mem_search.storage.sqlite import store_words
from mem_search.text import spelling

MOST_NEIGHBOURS: Final = 8
"""Spellings that a misspelt word is taken for: more of them are other words."""

MOST_BEGINNINGS: Final = 64
"""Words that a prefix is taken for one by one, the frequent ones first."""


def expand(connection: sqlite3.Connection, wild: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """For each word the words it stands for; ``auth*`` among them is all that begin so."""
    return {
        word: beginnings(connection, word[:-1])
        if word.endswith("*")
        else neighbours(connection, word[:-1])
        for word in wild
    }


def beginnings(connection: sqlite3.Connection, prefix: str) -> tuple[str, ...]:
    """The words that begin with ``prefix``, and ``prefix*`` where the index can look that up.

    The index holds stems: ``authenti*`` is no beginning of ``authent``, and ``running*`` would
    be looked up as ``run*``. So words are named one by one, as far as they are few.
    """
    rows = store_words.beginning_with(connection, prefix, MOST_BEGINNINGS)
    found = tuple(word for word, _ in rows if word.isalnum())
    if "_" in prefix or len(rows) == MOST_BEGINNINGS or stem(prefix) == prefix:
        return (f"{prefix}*", *found)
    return (prefix, *found)


def neighbours(connection: sqlite3.Connection, word: str) -> tuple[str, ...]:
    """Words of the store that ``word`` may be misspelt from, the likeliest first."""
    if not (word.isascii() and word.isalnum() and spelling.edits_allowed(word)):
        return ()
    near = spelling.nearest(word, store_words.like(connection, word), MOST_NEIGHBOURS)
    return tuple(other for other in near if other.isalnum())


_stemmer_lock = Lock()
_stemmer: list[sqlite3.Connection] = []


def stem(word: str) -> str:
    """The word as the full-text index holds it, from the tokenizer itself."""
    with _stemmer_lock:
        if not _stemmer:
            connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
            connection.execute(
                "create virtual table stems using"
                " fts5(word, tokenize='porter unicode61 remove_diacritics 2')"
            )
            connection.execute("create virtual table terms using fts5vocab(stems, row)")
            _stemmer.append(connection)
        connection = _stemmer[0]
        connection.execute("delete from stems")
        connection.execute("insert into stems values(?)", (word,))
        found: list[tuple[str]] = connection.execute("select term from terms").fetchall()
    return found[0][0] if len(found) == 1 else word
