"""Scores from posting lists in memory equal those of FTS5, after any write."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import drafts
from drafts import store
from mem_search.model.statistics import Corpus
from mem_search.storage.rules import bm25
from mem_search.storage.sqlite import postings, words
from mem_search.storage.sqlite.database import Connection, Database
from mem_search.storage.sqlite.passage_map import PassageMapCache
from mem_search.storage.sqlite.postings import PostingsCache
from mem_search.storage.sqlite.records import RecordWriter
from mem_search.text.words import AnyWords, WordPhrase, WordQuery, any_of, read

WORDS = ["token", "tokens", "auth", "auth.py", "refresh_token", "café", "straße", "the", "1234567a"]
TEXTS = st.lists(st.sampled_from([*WORDS, "日本語", "other"]), max_size=40).map(" ".join)
ONE: Any = st.builds(
    drafts.draft, st.integers(0, 9).map(str), TEXTS.map("x {}".format), title=TEXTS
)
WRITE = st.lists(ONE, max_size=6) | st.integers(1, 12)
CORPUS = Corpus({}, {}, 0)
QUESTION = st.lists(
    st.sampled_from([*WORDS, "nowhere", "日本語", "日", '"token auth"']), min_size=1, max_size=6
).map(" ".join)


def cache(**options: Any) -> PostingsCache:
    return PostingsCache(PassageMapCache(), **{"few": 0, **options})


async def check(database: Database, known: PostingsCache, query: WordQuery) -> None:
    expected_passages, expected = await database.read(words.scores, query)
    passages, scores = await database.read(known.scores, query, CORPUS)
    in_order = np.argsort(expected_passages)
    assert passages.tolist() == expected_passages[in_order].tolist()
    np.testing.assert_allclose(scores, expected[in_order], rtol=1e-9, atol=2e-12)


def remove(connection: Connection, number: int) -> None:
    RecordWriter(connection).remove([number], forget=False)


@settings(max_examples=60)
@given(steps=st.lists(st.tuples(WRITE, st.lists(QUESTION, max_size=3)), max_size=6))
async def test_scores_are_those_of_fts5(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[Any, list[str]]]
) -> None:
    # A new store for each example, or a failure could not be shown again.
    database = await Database.open(tmp_path_factory.mktemp("store") / "mem-search.db")
    known, tiny = cache(), cache(most_bytes=1_000, few=3)
    for written, questions in steps:
        if isinstance(written, int):
            await database.write(remove, written)
        else:
            await database.write(lambda c, batch: store(c, *batch), written)
        for question in questions:
            if (query := any_of(read(question))) is not None:
                await check(database, known, query)
                await check(database, tiny, query)
                assert tiny.bytes <= 1_000
    await database.close()


async def test_a_list_whose_passages_are_all_deleted(database: Database) -> None:
    known = cache()
    await database.write(store, drafts.draft("a", "token"), drafts.draft("b", "token"))
    await check(database, known, WordPhrase(("token",)))
    await database.write(remove, 1)
    await database.write(remove, 2)
    await check(database, known, WordPhrase(("token",)))


async def test_lists_are_read_once(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    known = cache()
    await database.write(store, drafts.draft("a", "token auth"), drafts.draft("b", "token"))
    query = AnyWords((WordPhrase(("token",)), WordPhrase(("auth",))))
    first = await database.read(known.scores, query, CORPUS)

    def fail(*_: object) -> None:
        raise AssertionError("FTS5 was asked again")

    monkeypatch.setattr(words, "scores", fail)
    again = await database.read(known.scores, query, CORPUS)
    assert [values.tolist() for values in first] == [values.tolist() for values in again]


async def test_short_lists_are_not_kept(database: Database) -> None:
    known = cache(few=2)
    await database.write(store, drafts.draft("a", "token auth"), drafts.draft("b", "token"))
    query = AnyWords((WordPhrase(("token",)), WordPhrase(("auth",))))
    await check(database, known, query)
    one = known.bytes
    await check(database, known, query)
    assert 0 < known.bytes == one < 2 * postings.ENTRY_BYTES


async def test_only_what_was_written_is_read_again(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = cache()
    for start in range(0, 100, 50):
        each = [drafts.draft(str(number), f"token {number}") for number in range(start, start + 50)]
        await database.write(store, *each)
    query = WordPhrase(("token",))
    await database.read(known.scores, query, CORPUS)
    await database.write(store, drafts.draft("7", "no longer"), drafts.draft("new", "a token"))

    read_again: list[int] = []
    scores = words.scores

    def counted(connection: Connection, query: WordQuery, among: Any = None) -> Any:
        found = scores(connection, query, among)
        read_again.append(len(found[0]))
        return found

    monkeypatch.setattr(postings.words, "scores", counted)
    passages, _ = await database.read(known.scores, query, CORPUS)
    assert len(passages) == 100
    assert read_again == [1]
    monkeypatch.undo()
    await check(database, known, query)


async def test_what_was_written_is_looked_up_once_for_all_words(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = cache()
    await database.write(store, drafts.draft("a", "token auth"), drafts.draft("b", "auth"))
    query = AnyWords((WordPhrase(("token",)), WordPhrase(("auth",))))
    await database.read(known.scores, query, CORPUS)
    await database.write(store, drafts.draft("a", "auth"), drafts.draft("c", "token auth"))

    looked_up: list[int] = []
    change = postings._change

    def counted(connection: Connection, revision: int) -> Any:
        looked_up.append(revision)
        return change(connection, revision)

    await database.read(known.current)  # which looks the change up for the statistics
    monkeypatch.setattr(postings, "_change", counted)
    await database.read(known.scores, query, CORPUS)
    assert len(looked_up) == 1
    monkeypatch.undo()
    await check(database, known, query)


async def test_changes_that_were_pruned_make_lists_be_read_anew(database: Database) -> None:
    known = cache()
    await database.write(store, drafts.draft("a", "token auth"), drafts.draft("b", "token"))
    query = WordPhrase(("token",))
    await check(database, known, query)
    await database.write(store, drafts.draft("a", "nothing"), drafts.draft("c", "token token"))

    def prune(connection: Connection) -> None:
        connection.execute(
            "delete from record_changes where revision < (select max(revision) from record_changes)"
        )

    await database.write(prune)
    await check(database, known, query)


async def test_an_older_snapshot_is_answered_by_fts5(database: Database) -> None:
    known = cache()
    await database.write(store, drafts.draft("a", "token"))
    query = WordPhrase(("token",))
    with closing(sqlite3.connect(database.path)) as older:
        older.execute("begin")
        older.execute("select count(*) from records").fetchone()
        await database.write(store, drafts.draft("b", "token token"))
        await check(database, known, query)
        passages, _ = known.scores(older, query, CORPUS)
        assert passages.tolist() == [1]
    await check(database, known, query)


async def test_statistics_that_do_not_fit_are_not_used(
    database: Database, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    await database.write(store, drafts.draft("a", "token and more"), drafts.draft("b", "token"))
    monkeypatch.setattr(bm25, "K1", 2.0)
    with caplog.at_level(logging.WARNING):
        await check(database, cache(), WordPhrase(("token",)))
    assert "posting lists are not used" in caplog.text


@given(st.lists(st.integers(0, 2**40), max_size=20))
def test_varints(numbers: list[int]) -> None:
    data = b""
    for number in numbers:
        octets = [number & 127]
        while number := number >> 7:
            octets.insert(0, 128 | number & 127)
        data += bytes(octets)
    assert postings.varints(data).tolist() == numbers
