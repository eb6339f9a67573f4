"""Matches of the full-text index, and that they equal those of a filtered store."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import drafts
from drafts import store
from mem_search.model import Filters
from mem_search.storage.sqlite import fulltext, records
from mem_search.storage.sqlite.database import Connection
from mem_search.text import words


def found(connection: Connection, question: str, filters: Filters = Filters()) -> list[str]:  # noqa: B008
    expression = words.match_expression(words.read(question))
    matches = fulltext.search(connection, expression, filters, 99)
    names = dict(
        connection.execute(
            "select p.id, r.source_id from passages p join records r on r.id = p.record_id"
        ).fetchall()
    )
    assert {passage for passage, _ in matches} == set(
        fulltext.matched(connection, expression, filters)
    )
    assert all(score >= 0 for _, score in matches)
    return [names[passage] for passage, _ in matches]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("login", {"title", "body"}),
        ("LOGGING IN with logins", {"title", "body"}),
        ("parse json", {"camel"}),
        ("get_user", {"snake"}),
        ("naïve", {"accent"}),
        ("naive", {"accent"}),
        ("検索", {"cjk"}),
        ('"exact phrase"', {"phrase"}),
        ("nothing of it", set()),
    ],
)
def test_words_are_found_as_people_write_them(
    connection: Connection, question: str, expected: set[str]
) -> None:
    store(
        connection,
        drafts.draft("title", "something else", title="The login"),
        drafts.draft("body", "a long story in which a login is mentioned once, among others"),
        drafts.draft("camel", "calls parseJSON here"),
        drafts.draft("snake", "calls get_user here"),
        drafts.draft("accent", "a naïve idea"),
        drafts.draft("cjk", "全文検索エンジン"),
        drafts.draft("phrase", "an exact phrase stands here"),
        drafts.draft("apart", "the phrase is not exact"),
    )
    assert set(found(connection, question)) >= expected
    if question not in ("parse json", "get_user"):
        assert set(found(connection, question)) == expected


def test_a_title_counts_more_than_the_text(connection: Connection) -> None:
    store(
        connection,
        drafts.draft("text", "login of some kind", title="words"),
        drafts.draft("title", "words of some kind", title="login"),
    )
    assert found(connection, "login") == ["title", "text"]


ONE = st.tuples(
    st.lists(st.sampled_from("alpha beta gamma delta".split()), min_size=1, max_size=6),
    st.sampled_from(["note", "memory"]),
    st.sampled_from(["p", "q"]),
)


@given(
    st.lists(ONE, max_size=15), st.sampled_from([Filters(kinds=("note",)), Filters(project="P")])
)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_filtered_search_is_the_search_filtered(
    connection: Connection, made: list[tuple[list[str], str, str]], filters: Filters
) -> None:
    connection.execute("savepoint example")
    store(
        connection,
        *(
            drafts.draft(f"{n}", " ".join(text), kind=kind, project=project)
            for n, (text, kind, project) in enumerate(made)
        ),
    )
    passing = {
        record.source_id
        for record in records.fetch(
            connection, records.browse(connection, filters, "relevance", 99, 0)
        ).values()
    }
    everything = found(connection, "alpha gamma")
    assert found(connection, "alpha gamma", filters) == [n for n in everything if n in passing]
    connection.execute("rollback to example")
