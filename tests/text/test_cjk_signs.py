"""Every character and every run of Chinese, Japanese and Korean is found."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from hypothesis import given, settings
from hypothesis import strategies as st

from mem_search.storage.sqlite.words import expression
from mem_search.text.words import any_of, extra_terms, read

SIGNS = st.one_of(
    st.integers(0x4E00, 0x9FA5),  # Han
    st.integers(0x3041, 0x3096),  # Hiragana
    st.integers(0x30A1, 0x30FA),  # Katakana
    st.integers(0xAC00, 0xD7A3),  # Hangul
).map(chr)
RUNS = st.text(SIGNS, min_size=1, max_size=8)
TEXTS = st.lists(st.one_of(RUNS, st.sampled_from(["and", "v2", "-", "。"])), min_size=1, max_size=6)


def index(text: str) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.execute(
        "create virtual table f using fts5(title, text, parts,"
        " tokenize='porter unicode61 remove_diacritics 2')"
    )
    connection.execute("insert into f values('', ?, ?)", (text, extra_terms(text)))
    return connection


def is_found(connection: sqlite3.Connection, question: str) -> bool:
    query = any_of(read(question))
    assert query is not None
    found = connection.execute("select 1 from f where f match ?", (expression(query),))
    return bool(found.fetchall())


@given(TEXTS)
@settings(deadline=None)
def test_a_single_character_is_found_anywhere_in_a_text(pieces: list[str]) -> None:
    text = " ".join(pieces)
    with closing(index(text)) as connection:
        for sign in set("".join(pieces)):
            if ord(sign) > 0x3040:
                assert is_found(connection, sign), sign


@given(TEXTS, st.data())
@settings(deadline=None)
def test_a_part_of_a_run_is_found_as_a_phrase(pieces: list[str], data: st.DataObject) -> None:
    with closing(index("".join(pieces))) as connection:
        runs = [piece for piece in pieces if ord(piece[0]) > 0x3040]
        for run in runs:
            start = data.draw(st.integers(0, len(run) - 1))
            end = data.draw(st.integers(start + 1, len(run)))
            assert is_found(connection, f'"{run[start:end]}"')


@given(st.one_of(RUNS, st.just("")), st.from_regex(r"[a-z]{3,8}[0-9]?", fullmatch=True), RUNS)
@settings(deadline=None)
def test_a_word_of_another_script_is_found_between_them(one: str, word: str, other: str) -> None:
    with closing(index(f"{one}{word}{other} and {other}{word}")) as connection:
        assert is_found(connection, word)
        assert is_found(connection, f'"{word}{other}"')


@given(RUNS, SIGNS)
@settings(deadline=None)
def test_a_character_that_does_not_stand_there_is_not_found(run: str, sign: str) -> None:
    with closing(index(run)) as connection:
        assert is_found(connection, sign) == (sign in run)


def test_the_end_of_a_run_and_the_beginning_of_the_next_are_no_pair() -> None:
    with closing(index("登录 录音 问题")) as connection:
        assert is_found(connection, '"登录"')
        assert is_found(connection, "录")
        assert not is_found(connection, '"音问"')
        assert not is_found(connection, '"登录音"')
