"""Scores from posting lists equal those of FTS5, after any write and any damage of their file."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import sqlite3
import stat
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import drafts
from drafts import search_store, store
from mem_search.errors import StorageError
from mem_search.model.statistics import Corpus
from mem_search.storage.sqlite import (
    posting_file,
    posting_lists,
    postings,
    vectors,
    words,
)
from mem_search.storage.sqlite.database import Connection, Database
from mem_search.storage.sqlite.posting_file import META_KEY, ROW, Piece, hashed
from mem_search.storage.sqlite.postings import Postings
from mem_search.storage.sqlite.records import RecordWriter
from mem_search.storage.sqlite.store import SqliteStore
from mem_search.text.words import AnyWords, WordPhrase, WordQuery, any_of, read

WORDS = ["token", "tokens", "auth", "auth.py", "refresh_token", "café", "straße", "the", "1234567a"]
TEXTS = st.lists(st.sampled_from([*WORDS, "日本語", "other"]), max_size=40).map(" ".join)
ONE: Any = st.builds(
    drafts.draft, st.integers(0, 9).map(str), TEXTS.map("x {}".format), title=TEXTS
)
WRITE = st.lists(ONE, max_size=6) | st.integers(1, 12)
MADE: Any = st.sampled_from(["behind", "file", "start"])
CORPUS = Corpus({}, {}, 0)
QUESTION = st.lists(
    st.sampled_from([*WORDS, "nowhere", "日本語", "日", '"token auth"']), min_size=1, max_size=6
).map(" ".join)
TOKEN = WordPhrase(("token",))
BOTH = AnyWords((TOKEN, WordPhrase(("auth",))))


@pytest.fixture
def lists(database: Database) -> Postings:
    return Postings(database)


@pytest.fixture
def fts5_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("FTS5 was asked")

    monkeypatch.setattr(words, "scores", fail)


async def check(database: Database, known: Postings, query: WordQuery) -> None:
    expected_passages, expected = await database.read(words.scores, query)
    passages, scores = await database.read(known.scores, query, CORPUS)
    in_order = np.argsort(expected_passages)
    assert passages.tolist() == expected_passages[in_order].tolist()
    np.testing.assert_allclose(scores, expected[in_order], rtol=1e-9, atol=2e-10)
    assert (await database.read(known.matched, query)).tolist() == passages.tolist()


async def ask(database: Database, known: Postings, query: WordQuery = BOTH) -> list[int]:
    passages, _ = await database.read(known.scores, query, CORPUS)
    return list(passages.tolist())


def remove(connection: Connection, number: int) -> None:
    RecordWriter(connection).remove([number], forget=False)


@settings(max_examples=60)
@given(steps=st.lists(st.tuples(WRITE | MADE, st.lists(QUESTION, max_size=3)), max_size=8))
async def test_scores_are_those_of_fts5(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[Any, list[str]]]
) -> None:
    # A new store for each example, or a failure could not be shown again.
    database = await Database.open(tmp_path_factory.mktemp("store") / "mem-search.db")
    known = Postings(database)
    for step, questions in steps:
        if isinstance(step, int):
            await database.write(remove, step)
        elif isinstance(step, list):
            await database.write(lambda c, batch: store(c, *batch), step)
        elif step == "start":
            known = Postings(database)
        else:
            await known.keep_up(0 if step == "file" else 10**6)
        for question in questions:
            if (query := any_of(read(question))) is not None:
                await check(database, known, query)
    await known.close()
    await database.close()


@pytest.mark.usefixtures("fts5_is_silent")
async def test_a_question_is_answered_by_the_file(database: Database, lists: Postings) -> None:
    await database.write(store, drafts.draft("a", "token auth"), drafts.draft("b", "Tokens"))
    await lists.keep_up()
    assert await ask(database, lists) == [1, 2]
    again = Postings(database)  # a start
    assert await ask(database, again) == [1, 2]


@pytest.mark.usefixtures("fts5_is_silent")
async def test_what_was_written_since_is_answered_without_fts5(
    database: Database, lists: Postings
) -> None:
    await database.write(store, drafts.draft("a", "token auth"), drafts.draft("b", "token"))
    await lists.keep_up()
    made = lists.file.read_bytes()
    await database.write(store, drafts.draft("b", "nothing"), drafts.draft("c", "auth"))
    assert await ask(database, lists) == [1, 4]
    await database.write(remove, 1)
    await database.write(remove, 3)
    assert await ask(database, lists) == []
    assert lists.file.read_bytes() == made


async def test_what_is_much_is_read_behind_the_searches(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postings, "MAX_AT_ONCE", 2)
    searching = search_store(database)
    await database.write(store, *(drafts.draft(str(n), "token") for n in range(9)))
    answer = lambda snapshot: snapshot._scored(TOKEN, CORPUS)[0].tolist()  # noqa: E731
    for first in (0, 10):  # without a file, and with one
        assert len(await searching.read(answer)) == 9 + bool(first) * 5
        await searching.postings._working  # type: ignore[misc]  # begun by the search
        with monkeypatch.context() as silent:
            silent.setattr(words, "scores", lambda *_: pytest.fail("FTS5 was asked"))
            assert len(await searching.read(answer)) == 9 + bool(first) * 5
        await database.write(store, *(drafts.draft(f"{first} {n}", "token") for n in range(5)))
    await searching.postings.close()


async def test_a_start_does_not_read_again_what_an_import_has_written(
    database: Database, lists: Postings
) -> None:
    await database.write(store, drafts.draft("a", "token"))
    await lists.keep_up()
    imported = [drafts.draft(f"new {n}", "token") for n in range(1000)]
    await database.write(store, *imported)
    await lists.keep_up()
    found = await database.read(Postings(database).current)
    assert found is not None
    assert found.changed == 0


async def test_a_file_is_made_where_much_is_not_in_it(database: Database, lists: Postings) -> None:
    await database.write(store, *(drafts.draft(str(n), f"token {n}") for n in range(20)))
    await lists.keep_up()
    made = lists.file.read_bytes()
    await database.write(store, *(drafts.draft(f"new {n}", "token") for n in range(4)))
    await lists.keep_up(5)
    assert lists.file.read_bytes() == made
    await database.write(remove, 1)
    await lists.keep_up(5)
    assert lists.file.read_bytes() != made
    await check(database, Postings(database), TOKEN)


async def test_who_reads_a_file_keeps_it_while_another_takes_its_place(
    database: Database, lists: Postings
) -> None:
    await database.write(store, drafts.draft("a", "token"), drafts.draft("b", "auth"))
    await lists.keep_up()
    before = await database.read(lists.current)
    assert before is not None
    await database.write(store, drafts.draft("a", "auth"))
    await lists.keep_up(0)
    assert before.of("token")[0].tolist() == [1]
    after = await database.read(lists.current)
    assert after is not None
    assert after.of("token")[0].tolist() == []


async def test_the_file_is_its_owners_and_has_no_words(database: Database, lists: Postings) -> None:
    os.umask(os.umask(0))  # whatever it is
    await database.write(store, drafts.draft("a", "zylophantic harbour"))
    await lists.keep_up()
    assert stat.S_IMODE(lists.file.stat().st_mode) == 0o600
    content = lists.file.read_bytes()
    assert b"zylophant" not in content
    (noted,) = await database.read(
        lambda c: c.execute("select value from meta where key = ?", (META_KEY,)).fetchone()
    )
    key = bytes.fromhex(noted)[16:]
    assert hashed("zylophant", key).to_bytes(8, "little") in content
    assert hashed("zylophant", bytes(16)).to_bytes(8, "little") not in content
    await database.write(remove, 1)
    await lists.without_deleted()
    assert hashed("zylophant", key).to_bytes(8, "little") not in lists.file.read_bytes()


async def test_forgetting_takes_the_hash_of_a_word_and_what_a_killed_worker_left(
    tmp_path: Path,
) -> None:
    opened = await SqliteStore.open(tmp_path / "mem-search.db")
    await opened.database.write(
        store, drafts.draft("a", "zylophantic harbour"), drafts.draft("b", "harbour")
    )
    await opened.postings.keep_up()
    left = opened.postings.file.with_name(f".{opened.postings.file.name}.0123abcd.part")
    left.write_bytes(opened.postings.file.read_bytes())
    known = await opened.database.read(opened.postings.current)
    assert known is not None
    await drafts.forget(opened, 1)
    await opened.forgetting.merge_words()
    words_left = [
        hashed(word, known.key).to_bytes(8, "little") for word in ("zylophant", "harbour")
    ]
    content = opened.postings.file.read_bytes()
    assert [word in content for word in words_left] == [False, True]
    assert not left.exists()
    await opened.close()


async def test_a_forgetting_waits_for_room_to_write_the_file(
    database: Database, lists: Postings, monkeypatch: pytest.MonkeyPatch
) -> None:
    await database.write(store, drafts.draft("a", "token"), drafts.draft("b", "auth"))
    await lists.keep_up()
    await database.write(remove, 1)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(posting_file, "write", full)
    with pytest.raises(OSError, match="No space"):
        await lists.without_deleted()
    monkeypatch.undo()
    await lists.without_deleted()
    assert await ask(database, Postings(database)) == [2]


@pytest.fixture(scope="module")
def twenty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a store of twenty records and of the file with its lists."""
    folder = tmp_path_factory.mktemp("twenty")

    async def fill() -> None:
        database = await Database.open(folder / "mem-search.db")
        await database.write(store, *(drafts.draft(str(n), f"token auth {n}") for n in range(20)))
        await Postings(database).keep_up()
        await database.close()

    asyncio.run(fill())
    return folder


@settings(max_examples=150)
@given(place=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255), cut=st.booleans())
async def test_a_damaged_file_gives_no_wrong_score_and_is_made_again(
    tmp_path_factory: pytest.TempPathFactory, twenty: Path, place: float, flip: int, cut: bool
) -> None:
    home = await asyncio.to_thread(shutil.copytree, twenty, tmp_path_factory.mktemp("x") / "home")
    database = await Database.open(home / "mem-search.db")
    known = Postings(database)
    content = bytearray(known.file.read_bytes())
    at = int(place * len(content))
    content[at] ^= flip
    known.file.write_bytes(content[:at] if cut else content)
    for number in range(20):
        query = AnyWords((TOKEN, WordPhrase((str(number),))))
        await check(database, known, query)
    await known.keep_up()
    await check(database, known, BOTH)
    again = await database.read(Postings(database).current)
    assert again is not None
    assert len(again.of("token")[0]) == 20
    await known.close()
    await database.close()


@pytest.mark.parametrize("found", ["none", "of another store", "older", "a pipe", "another's"])
async def test_a_file_that_is_not_the_stores_is_made_again(
    database: Database,
    lists: Postings,
    found: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await database.write(store, drafts.draft("a", "token"), drafts.draft("b", "auth"))
    await lists.keep_up()
    older = lists.file.read_bytes()
    await database.write(store, drafts.draft("a", "auth"), drafts.draft("c", "token"))
    await lists.keep_up(0)
    lists.file.unlink()
    if found == "of another store":
        other = await Database.open(tmp_path / "other.db")
        theirs = Postings(other)
        await theirs.keep_up()
        theirs.file.rename(lists.file)
        await other.close()
    elif found == "older":
        lists.file.write_bytes(older)
    elif found == "a pipe":
        os.mkfifo(lists.file)
    elif found == "another's":
        lists.file.write_bytes(older)
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    known = Postings(database)
    await check(database, known, BOTH)
    monkeypatch.undo()
    await known.keep_up()
    assert [each for each in known.file.parent.iterdir() if each.name.endswith(".part")] == []
    again = await database.read(Postings(database).current)
    assert again is not None
    await check(database, known, BOTH)


async def test_a_worker_that_dies_before_it_notes_a_file_has_it_made_again(
    database: Database, lists: Postings, monkeypatch: pytest.MonkeyPatch
) -> None:
    await database.write(store, drafts.draft("a", "token"), drafts.draft("b", "auth"))
    await lists.keep_up()
    await database.write(remove, 1)

    def die(*_: object) -> None:
        raise StorageError("killed")

    monkeypatch.setattr(posting_lists, "note", die)
    await lists.keep_up(0)
    monkeypatch.undo()
    known = Postings(database)
    await check(database, known, BOTH)
    assert await database.read(known.current) is None
    await known.keep_up()
    await check(database, known, BOTH)
    assert await database.read(known.current) is not None


async def test_changes_that_were_pruned_make_the_lists_be_made_anew(
    database: Database, lists: Postings
) -> None:
    await database.write(store, drafts.draft("a", "token auth"), drafts.draft("b", "token"))
    await lists.keep_up()
    await database.write(store, drafts.draft("a", "nothing"), drafts.draft("c", "token token"))

    def prune(connection: Connection) -> None:
        connection.execute(
            "delete from record_changes where revision < (select max(revision) from record_changes)"
        )

    await database.write(prune)
    await check(database, lists, TOKEN)
    assert await database.read(lists.current) is None
    await lists.keep_up()
    await check(database, lists, TOKEN)
    assert await database.read(lists.current) is not None


async def test_an_older_snapshot_is_answered_by_fts5(database: Database, lists: Postings) -> None:
    await database.write(store, drafts.draft("a", "token"))
    await lists.keep_up()
    with closing(sqlite3.connect(database.path)) as older:
        older.execute("begin")
        older.execute("select count(*) from records").fetchone()
        await database.write(store, drafts.draft("b", "token token"))
        await check(database, lists, TOKEN)
        passages, _ = lists.scores(older, TOKEN, CORPUS)
        assert passages.tolist() == [1]
    await check(database, lists, TOKEN)


async def test_a_full_disk_is_logged_once_and_fts5_answers(
    database: Database, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    await database.write(store, drafts.draft("a", "token"))
    searching = search_store(database)

    def full(*_: object) -> Iterator[Piece]:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(posting_lists, "indexed_pieces", full)
    answer = lambda snapshot: snapshot._scored(TOKEN, CORPUS)[0].tolist()  # noqa: E731
    with caplog.at_level(logging.WARNING):
        assert await searching.read(answer) == [1]
        await searching.postings._working  # type: ignore[misc]  # begun by the search
        assert await searching.read(answer) == [1]
    assert caplog.text.count("full-text index for now: [Errno 28]") == 1
    await searching.postings.close()


async def test_lists_that_were_made_of_a_damaged_index_are_made_again(tmp_path: Path) -> None:
    opened = await SqliteStore.open(tmp_path / "mem-search.db")
    database, searching = opened.database, opened.open_search(tmp_path, 1, 8, ())
    await database.write(store, drafts.draft("a", "token"), drafts.draft("b", "auth"))
    await database.write(
        lambda c: c.execute(
            "insert into passages_fts(passages_fts, rowid, title, text, parts, people)"
            " values('delete', 1, '', 'token', '', '')"
        )
    )
    await searching.postings.keep_up()
    assert await ask(database, searching.postings) == [2]
    assert await opened.mend(deep=True)
    await check(database, searching.postings, BOTH)
    await searching.postings.keep_up()
    await check(database, searching.postings, BOTH)
    assert await database.read(searching.postings.current) is not None
    await opened.close()


async def test_a_store_closes_while_lists_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = await SqliteStore.open(tmp_path / "mem-search.db")
    await opened.database.write(store, drafts.draft("a", "token"))
    searching = opened.open_search(tmp_path, 1, 8, ())
    endless = iter(lambda: posting_file.segment(()), None)
    piece = (np.zeros(0, np.uint64), np.zeros(0, np.int64), np.zeros(0, ROW))
    monkeypatch.setattr(posting_lists, "indexed_pieces", lambda *_: (piece for _ in endless))
    assert await searching.read(lambda snapshot: snapshot._matched(TOKEN).tolist()) == [1]
    await opened.close()
    assert [each.name for each in tmp_path.iterdir() if "words" in each.name] == []  # noqa: ASYNC240


def resident(folder: Path) -> dict[str, int]:
    """kB of this process that are pages of the derived files in ``folder``, by their names."""
    held, name = {"lists": 0, "vectors": 0}, ""
    for line in Path("/proc/self/smaps").read_text("utf-8").splitlines():
        if "-" in line.split(" ", 1)[0]:
            name = line.split(maxsplit=5)[5] if f" {folder}/" in line else ""
        elif line.startswith("Rss:") and name.endswith(".words"):
            held["lists"] += int(line.split()[1])
        elif line.startswith("Rss:") and name.endswith("(deleted)"):
            held["vectors"] += int(line.split()[1])
    return held


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells what is mapped")
async def test_pages_of_lists_and_vectors_are_let_go_at_rest(tmp_path: Path) -> None:
    opened = await SqliteStore.open(tmp_path / "mem-search.db")
    await opened.database.write(store, *(drafts.draft(str(n), "token") for n in range(9)))
    number = await opened.indexing.model_number("a", "a", 8)
    entries, rows = [2 * n + 2 for n in range(9)], np.eye(9, 8, dtype=np.float32)
    await opened.database.write(vectors.save, number, entries, rows)
    searching = opened.open_search(tmp_path, number, 8, ())
    await searching.fill_caches()

    def answer(connection: Connection) -> tuple[list[int], list[float]]:
        passages, _ = searching.postings.scores(connection, TOKEN, CORPUS)
        return passages.tolist(), searching.vectors.cosines(connection, rows[:1], passages).tolist()

    before = await opened.database.read(answer)
    assert all(resident(tmp_path).values())
    await opened.rest()
    assert resident(tmp_path) == {"lists": 0, "vectors": 0}
    assert await opened.database.read(answer) == before
    await opened.close()


async def test_lists_are_merged_in_pieces(
    database: Database, lists: Postings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(posting_file, "_PIECE", 7)
    monkeypatch.setattr(posting_file, "BLOCK", 64)
    monkeypatch.setattr(posting_lists, "_BATCH", 20)
    texts = [f"token auth {n} {n % 7} {'word ' * (n % 5)}" for n in range(50)]
    await database.write(store, *(drafts.draft(str(n), text) for n, text in enumerate(texts)))
    await lists.keep_up()
    await database.write(store, drafts.draft("3", "token word"), drafts.draft("new", "5 auth"))
    await lists.keep_up(0)
    known = Postings(database)
    for word in ("token", "auth", "5", "word", "nowhere"):
        await check(database, known, AnyWords((WordPhrase((word,)), TOKEN)))
    assert await database.read(known.current) is not None


@given(st.lists(st.integers(0, 2**40), max_size=20))
def test_varints(numbers: list[int]) -> None:
    data = b""
    for number in numbers:
        octets = [number & 127]
        while number := number >> 7:
            octets.insert(0, 128 | number & 127)
        data += bytes(octets)
    assert posting_lists.varints(data).tolist() == numbers
