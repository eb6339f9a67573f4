"""Matches of the full-text index and their scores."""

from __future__ import annotations

import numpy as np
import pytest

import drafts
from drafts import store
from mem_search.storage.sqlite import fulltext
from mem_search.storage.sqlite.database import Connection
from mem_search.text import words

LOGIN = words.WordPhrase(("login",))


def found(connection: Connection, question: str) -> list[str]:
    """Source ids, best first."""
    query = words.any_of(words.read(question))
    assert query is not None
    passages, scores = fulltext.scores(connection, query)
    names = dict(
        connection.execute(
            "select p.id, r.source_id from passages p join records r on r.id = p.record_id"
        ).fetchall()
    )
    assert passages.tolist() == fulltext.matched(connection, query).tolist()
    assert (scores >= 0).all()
    return [names[passages[place]] for place in np.lexsort((passages, -scores))]


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


def test_scores_are_those_of_the_index(connection: Connection) -> None:
    store(connection, *(drafts.draft(f"{n}", f"login {'word ' * n}") for n in range(9)))
    passages, scores = fulltext.scores(connection, LOGIN)
    exact = dict(
        connection.execute(
            "select rowid, -bm25(passages_fts, 3.0, 1.0, 1.0) from passages_fts"
            " where passages_fts match 'login'"
        ).fetchall()
    )
    assert dict(zip(passages.tolist(), scores.tolist(), strict=True)) == pytest.approx(exact)


def test_scoring_some_passages_gives_them_the_scores_they_have_among_all(
    connection: Connection,
) -> None:
    store(connection, *(drafts.draft(f"{n}", f"login {'word ' * n}") for n in range(9)))
    passages, scores = fulltext.scores(connection, LOGIN)
    some, their_scores = fulltext.scores(connection, LOGIN, np.append(passages[::2], 999))
    assert some.tolist() == passages[::2].tolist()
    assert their_scores.tolist() == scores[::2].tolist()
    assert len(fulltext.scores(connection, LOGIN, passages[:0])[0]) == 0
