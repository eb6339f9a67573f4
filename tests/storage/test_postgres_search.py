"""Words over PostgreSQL: the same matches and the same scores as the default store's."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from drafts import draft, prepared
from mem_search.model import Draft, Filters, Location
from mem_search.storage.postgres import postings, word_lists
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.postgres.store import PostgresStore
from mem_search.storage.postgres.word_lists import Phrase, WordLists
from mem_search.storage.sqlite.store import SqliteStore
from mem_search.storage.store import SearchStore, Store
from mem_search.text.words import WordQuery, all_of, any_of, read
from postgres_server import address

HERE = Location("test", "/there")
WORDS = (
    "token tokens auth auth.py refresh_token café straße Müller the running runs 1234567a rare"
    " 日本語 東京タワー 使用Redis缓存 parseJSON x²y a–b naïve İstanbul"
).split()
QUESTIONS = (
    "token", "the token", "auth.py", "refresh_token", '"token auth"', '"auth py" token', "cafe",
    "strasse", "muller", "日本語", "東京", "語", "redis", "1234567", "running the rare", "nowhere",
    "json", "x²y", '"runs the" rare', "istanbul", "lighthouse",
)  # fmt: skip
STORES = ("sqlite", "postgres")


@pytest.fixture
async def stores(tmp_path: Path) -> AsyncIterator[dict[str, Store]]:
    opened: dict[str, Store] = {
        "sqlite": await SqliteStore.open(tmp_path / "mem-search.db"),
        "postgres": await PostgresStore.open(address(), str(tmp_path)),
    }
    yield opened
    for store in opened.values():
        await store.close()


def made(chance: random.Random, name: int) -> Draft:
    def text(most: int) -> str:
        return " ".join(chance.choices(WORDS, k=chance.randrange(most)))

    kind = chance.choice(["note", "user_prompt", "memory"])
    long = text(30) + " lighthouse keeper" * chance.choice([0, 0, 0, 300])
    people = {"author": chance.choice(["Ana Müller", "Bo"])} if chance.random() < 0.3 else {}
    return draft(str(name), f"x {long}", title=text(4), kind=kind, metadata=people)


async def fill(store: Store, *drafts: Draft, **batch: Any) -> None:
    await store.ingest.store_batch(HERE, prepared(*drafts, **batch), followed=False)


def asked() -> list[WordQuery]:
    return [query for text in QUESTIONS for how in (any_of, all_of) if (query := how(read(text)))]


async def found(
    search: SearchStore, query: WordQuery, filters: Filters
) -> tuple[dict[str, float], list[str]]:
    """source id → score of the matches, and the best of them."""

    def matches(snapshot: Any) -> tuple[dict[str, float], list[str]]:
        candidates, matches = snapshot.word_matches(query, filters, 10, guessed)
        records = snapshot.records([*matches.records.tolist(), *candidates.records.tolist()])
        scores = zip(matches.records.tolist(), matches.scores.tolist(), strict=True)
        best = [records[number].source_id for number in candidates.records.tolist()]
        return {records[number].source_id: score for number, score in scores}, best

    guessed = any_of(read("the rare"))
    return await search.read(matches)


@pytest.mark.parametrize("seed", range(3))
async def test_both_stores_score_alike_after_any_write(
    stores: dict[str, Store], tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postings, "_TOGETHER", 2)  # so that segments are merged
    monkeypatch.setattr(postings, "_MAX_SEGMENT_PASSAGES", 40)
    monkeypatch.setattr(word_lists, "_AT_ONCE", 2)
    chance = random.Random(seed)
    searches = {
        name: store.open_search(tmp_path, 1, 8, ("user_prompt",)) for name, store in stores.items()
    }
    for _ in range(4):
        drafts = [made(chance, chance.randrange(40)) for _ in range(15)]
        gone = tuple(str(chance.randrange(40)) for _ in range(3))
        for name, store in stores.items():
            await fill(store, *drafts, deletions=gone)
            searches[name].changed()
        for query in asked():
            for filters in (Filters(), Filters(kinds=("note",)), Filters(kinds=("memory",))):
                expected, best = await found(searches["sqlite"], query, filters)
                scores, order = await found(searches["postgres"], query, filters)
                assert scores == pytest.approx(expected, rel=1e-6, abs=2e-10), query
                assert sorted(order) == sorted(best), query


async def test_no_word_of_a_forgotten_record_is_left_in_the_index(
    stores: dict[str, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postings, "_TOGETHER", 2)
    store = stores["postgres"]
    assert isinstance(store, PostgresStore)
    for name in "abc":
        await fill(store, draft(name, f"only{name} shared", title=f"Title{name}"))
    await fill(store, draft("a", "changed shared"))
    numbers = [record.number for record in await store.records.newest(Filters(), 9)]
    receipt = await store.forgetting.begin(numbers)
    while await store.forgetting.remove_some(receipt):
        pass
    left = await store.database.read(
        lambda c: (
            c.column("select term from postings"),
            c.count("select count(*) from segments"),
            c.one("select indexed_passages, indexed_terms from stores"),
        )
    )
    assert left == ([], 0, (0, 0))


@pytest.mark.parametrize(("prefix", "looked"), [(False, [2, 2]), (True, [6, 3])])
async def test_places_are_read_only_where_the_other_words_of_a_phrase_are(
    stores: dict[str, Store], monkeypatch: pytest.MonkeyPatch, prefix: bool, looked: list[int]
) -> None:
    """Of a word that may go on the places are read first, and then those of the others."""
    store = stores["postgres"]
    assert isinstance(store, PostgresStore)
    text = {2: "pole star", 4: "star of the pole", 5: "pole starfish"}
    for number in range(6):  # a segment each
        await fill(store, draft(f"{number}", f"{text.get(number, 'pole')} {number}"))
    segments_of, segments = word_lists._segments_of, list[int]()

    def looking(connection: Connection, passages: Any) -> list[int]:
        found = segments_of(connection, passages)
        segments.append(len(found))
        return found

    monkeypatch.setattr(word_lists, "_segments_of", looking)
    phrase = Phrase(("pole", "star"), prefix)
    lists = await store.database.read(lambda c: WordLists().of(c, [phrase], 1))
    assert len(lists[phrase].passages) == (2 if prefix else 1)
    assert segments == looked


async def test_lists_asked_for_last_are_kept(stores: dict[str, Store]) -> None:
    store = stores["postgres"]
    assert isinstance(store, PostgresStore)
    await fill(store, draft("a", "lighthouse gauge harbour"))
    words = [Phrase((term,)) for term in ("lighthous", "gaug", "harbour")]
    lists = WordLists()

    async def asked(*phrases: Phrase) -> list[Phrase]:
        await store.database.read(lambda c: lists.of(c, phrases, 1))
        return [word for word in words if word in lists._known]

    assert await asked(words[0]) == words[:1]
    lists.most_bytes = 2 * lists.bytes
    assert await asked(words[1]) == words[:2]
    await asked(words[0])
    assert await asked(words[2]) == [words[0], words[2]]
