import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_search.storage.sqlite.words import expression
from mem_search.text import words
from mem_search.text.words import any_of, extra_terms, read


def index() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.execute(
        "create virtual table f using fts5(title, text, parts,"
        " tokenize='porter unicode61 remove_diacritics 2')"
    )
    return connection


def found(text: str, question: str) -> bool:
    with closing(index()) as connection:
        connection.execute("insert into f values('', ?, ?)", (text, extra_terms(text)))
        query = any_of(read(question))
        assert query is not None
        rows = connection.execute("select 1 from f where f match ?", (expression(query),))
        return rows.fetchone() is not None


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        pytest.param("How do we handle auth?", "handle auth", id="without words without meaning"),
        pytest.param("who are you", "who are you", id="stop words alone stay"),
        pytest.param(
            "a::b x/y.py ABC-123 snake_case don't",
            "b x y py abc 123 snake case don t",
            id="identifiers become their parts",
        ),
        pytest.param('the "hugging" operator', "hugging operator", id="one quoted word"),
        pytest.param('"vector index" of "chroma"', "chroma", id="a phrase is not among them"),
    ],
)
def test_the_words_of_a_question(question: str, asked: str) -> None:
    assert read(question).words == tuple(asked.split())


def test_identifiers_are_found_whole_and_in_parts() -> None:
    assert found("fixed SessionStore.open in src/store.py", "SessionStore")
    assert found("fixed SessionStore.open in src/store.py", "session store")
    assert found("fixed session_store", "session_store")
    assert found("see ABC-123 for it", "ABC-123")


def test_chinese_japanese_and_korean_words_are_found_inside_a_run() -> None:
    assert found("我们修复了登录问题并添加了缓存", "登录")
    assert found("我们修复了登录问题并添加了缓存", "录")
    assert found("検索エンジンの設計", "エンジン")
    assert found("데이터베이스를 고쳤다", "데이터베이스")
    assert not found("我们修复了登录问题并添加了缓存", "天气")


def test_letters_that_people_also_write_otherwise_are_found_either_way() -> None:
    assert found("In der Hauptstraße", "Hauptstrasse")
    assert found("IN DER HAUPTSTRASSE", "Hauptstraße")
    assert found("Die STRAẞE nach Łódź", "strasse")
    assert found("Die Straße nach Łódź", "Lodz")
    assert found("Smørrebrød", "smorrebrod")
    assert found("Smorrebrod", "smørrebrød")
    assert found("am Ende der langen strasse", '"langen straße"')
    assert not found("Die Straße", "stras")


def test_signs_are_words_of_a_question_that_has_no_others() -> None:
    text = "The otter 🦦 pays 5 € → the ferry to 🇩🇰 👍🏽 ✓"
    for sign in ("🦦", "€", "→", "🇩🇰", "👍", "👍🏿", "✓", '"🦦"', "🦄 🦦"):
        assert found(text, sign), sign
    for other in ("🦄", "$🦄", "🇩🇪", "🇰🇩", "☃"):
        assert not found(text, other), other
    assert read("otter 🦦").words == ("otter",)
    assert any_of(read("?! ->")) is None


def test_a_word_that_touches_chinese_japanese_or_korean_is_found() -> None:
    for text in ("使用Redis缓存", "Redisを使う", "서버에서 Redis를 재시작", "中a文Redis"):
        assert found(text, "redis")
        assert found(text, "Redis")
        assert found(text, '"redis"')
    assert found("参考ABC-123号", "ABC-123")
    assert found("调用getUserName函数", "user")
    assert found("调用getUserName函数", "getUserName")
    assert found("2024年的计划", "2024")
    assert found("使用Redis缓存", '"Redis缓存"')
    assert not found("使用Redis缓存", "redistribute")
    # What stands by itself is in the text already.
    assert extra_terms("use Redis, 缓存") == "缓存 存"


def test_a_phrase_must_stand_together_and_other_words_only_help() -> None:
    assert found("the vector index is rebuilt", '"vector index" quickly')
    assert not found("the index of a vector", '"vector index"')
    assert found("修复了登录问题", '"登录问题"')
    assert not found("登录了, 没有问题", '"登录问题"')


def test_quotes_inside_a_longer_sentence_quote_and_do_not_demand() -> None:
    question = 'stop treating the "magic trailing commas" of collections and calls as special'
    assert not read(question).demanded
    assert found("special handling of calls", question)


@given(st.text())
def test_any_text_is_a_question_that_the_index_can_answer(text: str) -> None:
    query = any_of(read(text))
    if query:
        with closing(index()) as connection:
            connection.execute("select 1 from f where f match ?", (expression(query),)).fetchall()


@given(st.text())
def test_any_text_has_index_terms(text: str) -> None:
    with closing(index()) as connection:
        connection.execute("insert into f values('', '', ?)", (extra_terms(text),))


def test_mostly_foreign_distinguishes_scripts() -> None:
    assert words.mostly_foreign("登录问题 API")
    assert words.mostly_foreign("Привет, мир")
    assert not words.mostly_foreign("où est l'été à Zürich")
    assert not words.mostly_foreign("")


def test_the_beginning_of_a_hash_matches_the_hash() -> None:
    commit = "4a1ff1a74d212357958be51be6b15edfc2f30cb3"
    text = f"since {commit} it is slow"
    for length in (7, 8, 12, 40):
        assert found(text, f"what did {commit[:length]} change"), length
    assert not found(text, commit[:6])
    assert not found(text, "4a1ff1b")
    for number in ("1234567", "deadbeef"):  # may be anything, and begins what it does not mean
        assert not found(f"about {number}89", number)
