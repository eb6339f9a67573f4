"""The search log: what it stores, and what is read from it."""

from __future__ import annotations

import sqlite3
from typing import Any

from mem_search.model.statistics import LoggedSearch
from mem_search.storage.sqlite import search_log


def search(query: str, at: int = 1, **values: Any) -> LoggedSearch:
    said = {"filters": "", "mode": "hybrid", "total": 1, "took_ms": 1.0, "surface": "http"}
    return LoggedSearch(at, query, **{**said, **values})


def test_popular_counts_questions_in_any_case(connection: sqlite3.Connection) -> None:
    search_log.add(connection, [search("Auth", 1), search("auth", 2, total=7), search("jwt", 3)])
    (first, second) = search_log.popular(connection, 5)
    assert (first.query, first.times, first.last_at, first.total) == ("auth", 2, 2, 7)
    assert second.query == "jwt"
    assert search_log.popular(connection, 1, since=3)[0].query == "jwt"


def test_a_question_is_in_vain_until_it_finds_something(connection: sqlite3.Connection) -> None:
    search_log.add(connection, [search("a", 1, total=0), search("b", 2, total=0), search("a", 3)])
    assert [each.query for each in search_log.in_vain(connection, 5)] == ["b"]


def test_other_filters_make_another_question_in_vain(connection: sqlite3.Connection) -> None:
    search_log.add(connection, [search("a", total=0, filters="f"), search("a", 2)])
    assert [each.query for each in search_log.in_vain(connection, 5)] == ["a"]


def test_the_slowest_come_first(connection: sqlite3.Connection) -> None:
    search_log.add(connection, [search("a", took_ms=1), search("b", took_ms=9)])
    assert [each.query for each in search_log.slow(connection, 1)] == ["b"]


def test_only_the_newest_are_kept(connection: sqlite3.Connection) -> None:
    search_log.add(connection, [search(f"q{i}", i) for i in range(search_log.MOST)])
    search_log.add(connection, [search("one"), search("more")])
    (count,) = connection.execute("select count(*) from search_log").fetchone()
    assert count == search_log.MOST
    kept = {row[0] for row in connection.execute("select query from search_log")}
    assert {"one", "more", "q2"} <= kept
    assert not {"q0", "q1"} & kept


def test_questions_that_share_a_word_are_those_that_found_something(
    connection: sqlite3.Connection,
) -> None:
    said = [search("JWT tokens"), search("jwt nothing", total=0), search("other")]
    search_log.add(connection, said)
    assert [each.query for each in search_log.sharing(connection, ["jwt"], 5)] == ["JWT tokens"]
    assert search_log.sharing(connection, [], 5) == []


def test_forgetting_leaves_nothing(connection: sqlite3.Connection) -> None:
    search_log.add(connection, [search("a"), search("b")])
    assert search_log.forget(connection) == 2
    assert search_log.popular(connection, 5) == []
