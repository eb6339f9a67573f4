"""Matches of the full-text index and their scores."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import drafts
from drafts import store
from mem_search.model import Filters
from mem_search.storage.sqlite import words as word_index
from mem_search.storage.sqlite.database import Connection, Database
from mem_search.text import words

LOGIN = words.WordPhrase(("login",))


def found(connection: Connection, question: str) -> list[str]:
    """Source ids, best first."""
    query = words.any_of(words.read(question))
    assert query is not None
    passages, scores = word_index.scores(connection, query)
    names = dict(
        connection.execute(
            "select p.id, r.source_id from passages p join records r on r.id = p.record_id"
        ).fetchall()
    )
    assert passages.tolist() == word_index.matched(connection, query).tolist()
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
    passages, scores = word_index.scores(connection, LOGIN)
    exact = dict(
        connection.execute(
            "select rowid, -bm25(passages_fts, 3.0, 1.0, 1.0) from passages_fts"
            " where passages_fts match 'login'"
        ).fetchall()
    )
    assert dict(zip(passages.tolist(), scores.tolist(), strict=True)) == pytest.approx(
        exact, abs=2e-10
    )


def test_scoring_some_passages_gives_them_the_scores_they_have_among_all(
    connection: Connection,
) -> None:
    store(connection, *(drafts.draft(f"{n}", f"login {'word ' * n}") for n in range(9)))
    passages, scores = word_index.scores(connection, LOGIN)
    some, their_scores = word_index.scores(connection, LOGIN, np.append(passages[::2], 999))
    assert some.tolist() == passages[::2].tolist()
    assert their_scores.tolist() == scores[::2].tolist()
    assert len(word_index.scores(connection, LOGIN, passages[:0])[0]) == 0


async def test_kinds_of_long_texts_are_scored_as_in_a_store_of_their_own(
    tmp_path: Path,
) -> None:
    chance = random.Random(7)

    def text(count: int) -> str:  # some words are common, most are rare
        return " ".join(f"word{int(300 * chance.random() ** 1.5):03}" for _ in range(count))

    long = [
        drafts.draft(f"{n}", text(60 + 5 * (n % 9)), kind="session_summary", project=f"p{n % 2}")
        for n in range(60)
    ]
    short = [drafts.draft(f"short {n}", text(6)) for n in range(400)]
    summaries = Filters(kinds=("session_summary",))
    query = words.any_of(words.read("word020 word077 word111 word290"))
    assert query is not None
    found = {}
    for name, given in (("alone", long), ("mixed", [*long, *short])):
        database = await Database.open(tmp_path / f"{name}.db")
        await database.write(store, *given)
        for project in ("", "p1"):
            within = replace(summaries, project=project)
            candidates, matches = await drafts.search_store(database).read(
                lambda snapshot, within=within: snapshot.word_matches(query, within, 99)
            )
            found[name, project] = candidates.records.tolist(), matches.scores
        await database.close()
    for project in ("", "p1"):
        order, scores = found["mixed", project]
        assert order == found["alone", project][0]
        assert scores == pytest.approx(found["alone", project][1], rel=0.02)
    assert 0 < len(found["mixed", "p1"][0]) < len(found["mixed", ""][0])
