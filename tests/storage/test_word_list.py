"""Wildcards in front of a word are looked up in a list of the store's words."""

from __future__ import annotations

import fnmatch
import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drafts import draft, store
from mem_search.storage.sqlite import words as word_index
from mem_search.storage.sqlite.records import RecordWriter
from mem_search.storage.sqlite.words import WordList, pattern_of


def test_words_come_by_how_many_records_have_them(connection: sqlite3.Connection) -> None:
    store(connection, draft("a", "research search"), draft("b", "search"), draft("c", "x" * 50))
    assert WordList().matching_pattern(connection, "*search") == ["search", "research"]
    assert WordList().matching_pattern(connection, "*x*") == []  # longer than words are


def test_the_list_follows_the_store(
    connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = WordList()
    (first,) = store(connection, draft("a", "research"))
    assert words.matching_pattern(connection, "*search") == ["research"]
    store(connection, draft("b", "Websearch research", title="MemSearch"))
    assert words.matching_pattern(connection, "*search") == ["research", "memsearch", "websearch"]
    RecordWriter(connection).remove([first.number], forget=True)
    store(connection, draft("b", "websearch"))
    assert words.matching_pattern(connection, "*search") == ["websearch"]
    monkeypatch.setattr(word_index, "MAX_ADDED", 1)
    store(connection, draft("c", "subsearch"), draft("d", "subsearch"))
    assert words.matching_pattern(connection, "*search") == ["subsearch", "websearch"]


LETTERS = st.text("ab", max_size=6)


@given(LETTERS, st.lists(LETTERS.filter(bool), min_size=1, max_size=3), st.booleans())
def test_a_pattern_matches_what_a_shell_would(word: str, pieces: list[str], opened: bool) -> None:
    pattern = "*" * opened + "*".join(pieces) + "*" * (not opened)
    matches = pattern_of(pattern).fullmatch(word)
    assert bool(matches) == fnmatch.fnmatchcase(word, pattern)
