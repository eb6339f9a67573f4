"""The contract of every store, as searches see it: ``storage.store.SearchStore``.

Records come in through the import, so that any store can be put through it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drafts import draft
from mem_search.contracts import Question
from mem_search.ingest.prepare import prepare
from mem_search.model import AllOf, AnyOf, Batch, Condition, Filters, Link, Not, Order, Term
from mem_search.model.rankings import Numbers, Ranking, Vectors
from mem_search.settings import Settings
from mem_search.storage.postgres import snapshot
from mem_search.storage.store import SearchStore
from mem_search.text.words import AllWords, AnyWords, WordPhrase
from mem_search.wiring import Runtime, open_runtime
from postgres_server import address
from runtimes import THERE, fill, small

DAY = 86_400_000
DRAFTS = (
    draft("login", "login with a password and a cookie", title="Login", project="web", tags=("a",)),
    draft("cookie", "the cookie is kept for a while", project="web", created_at=2 * DAY),
    draft("long", "a login " + "among very many other words of the story " * 200, kind="memory"),
    draft("turn 1", "how do I login?", kind="user_prompt", session="s", project="web"),
    draft("turn 2", "by the cookie", kind="user_prompt", session="s", project="web"),
    draft("old", "deploy by hand, step by step", importance=0.9),
    draft("new", "deploy by the pipeline", links=(Link("old", "supersedes"),)),
    draft("copy", "deploy by the pipeline"),
    draft("commit", "fixes 4a1ff1a74d21 for good"),
    draft("中文", "我们修复了登录问题"),
)


@dataclass(frozen=True, slots=True)
class Filled:
    """A store with ``DRAFTS``, and the numbers of its records by their source ids."""

    runtime: Runtime
    settings: Settings
    numbers: dict[str, int]

    @property
    def store(self) -> SearchStore:
        return self.runtime.search.store

    def of(self, *names: str) -> Numbers:
        return np.array([self.numbers[name] for name in names], dtype=np.int64)

    def names(self, numbers: Any) -> set[str]:
        by_number = {number: name for name, number in self.numbers.items()}
        return {by_number[int(number)] for number in numbers}


def sqlite(home: Path) -> Settings:
    return small(home, store="")


def postgres(home: Path) -> Settings:
    # Each test is another user of one server, so a statement that forgets the user fails here.
    return small(home, store=address(), store_owner=str(home))


STORES = {"sqlite": sqlite, "postgres": postgres}
"""name → the settings of a home whose store is of that sort."""


@pytest.fixture(params=STORES)
async def filled(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Filled]:
    settings = STORES[request.param](tmp_path / "home")
    async with open_runtime(settings) as runtime:
        await fill(runtime, *DRAFTS)
        yield Filled(runtime, settings, await numbers_of(runtime.search.store))


async def numbers_of(store: SearchStore) -> dict[str, int]:
    numbers = await store.matching(Filters())
    records = await store.read(lambda snapshot: snapshot.records(numbers))
    return {record.source_id: number for number, record in records.items()}


def word(*words: str, prefix: bool = False) -> WordPhrase:
    return WordPhrase(words, prefix)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (word("login"), {"login", "long", "turn 1"}),
        (word("cookie"), {"login", "cookie", "turn 2"}),
        (word("many", "other"), {"long"}),
        (word("other", "many"), set()),
        (word("pass", prefix=True), {"login"}),
        (word("pass"), set()),
        (word("登录"), {"中文"}),
        (word("录"), {"中文"}),
        (word("4a1ff1a"), {"commit"}),
        (AllWords((word("login"), word("cookie"))), {"login"}),
        (AnyWords((word("password"), word("pipeline"))), {"login", "new", "copy"}),
        (
            AllWords((word("deploy"), AnyWords((word("hand"), word("login"))))),
            {"old"},
        ),
    ],
)
async def test_word_queries_match_what_they_say(
    filled: Filled, query: Any, expected: set[str]
) -> None:
    candidates, matches = await filled.store.read(
        lambda snapshot: snapshot.word_matches(query, Filters(), 10)
    )
    assert filled.names(matches.records) == expected
    assert filled.names(candidates.records) == expected
    assert (matches.scores > 0).all()
    whole = await filled.store.read(lambda snapshot: snapshot.records_with_words(query))
    assert whole.tolist() == matches.records.tolist()


async def test_what_a_record_said_before_it_was_changed_is_near_to_nothing(filled: Filled) -> None:
    """Also where its vector was read for an earlier search."""
    leg = filled.runtime.search.pipeline._legs[1]
    question = Question("a tall lighthouse", AnyWords(()), Filters(), exact=True)
    before = await leg.rank(question, 50)
    changed = [draft(name, "a tall lighthouse", project="web") for name in ("login", "cookie")]
    await fill(filled.runtime, *changed)
    known = await leg.rank(question, 50)
    assert filled.names(known.candidates.records[:2]) == {"login", "cookie"}
    await fill(filled.runtime, *DRAFTS[:2])
    after = await leg.rank(question, 50)
    for ranking in (before, after):
        assert ranking.candidates.scores[0] < known.candidates.scores[0]
    assert by_record(after) == pytest.approx(by_record(before))


def by_record(ranking: Ranking) -> dict[int, float]:
    return dict(zip(ranking.scores.records.tolist(), ranking.scores.scores.tolist(), strict=True))


async def test_a_title_counts_more_and_a_filter_changes_no_score(filled: Filled) -> None:
    candidates, matches = await filled.store.read(
        lambda snapshot: snapshot.word_matches(word("login"), Filters(), 10)
    )
    assert candidates[0].record == filled.numbers["login"]
    order = [(-candidate.score, candidate.record) for candidate in candidates]
    assert order == sorted(order)
    assert matches.records.tolist() == sorted(matches.records.tolist())
    _, within = await filled.store.read(
        lambda snapshot: snapshot.word_matches(word("login"), Filters(project="web"), 10)
    )
    assert filled.names(within.records) == {"login", "turn 1"}
    assert within.scores == pytest.approx(matches.of(within.records))
    shallow, _ = await filled.store.read(
        lambda snapshot: snapshot.word_matches(word("login"), Filters(), 1)
    )
    assert [candidate.record for candidate in shallow] == [filled.numbers["login"]]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(project="WEB"), {"login", "cookie", "turn 1", "turn 2"}),
        (Filters(kinds=("user_prompt",)), {"turn 1", "turn 2"}),
        (Filters(tags=("a",)), {"login"}),
        (Filters(superseded=True), {"old"}),
        (Filters(importance=0.5), {"old"}),
        (Filters(demand=Term(("pipeline",))), {"new", "copy"}),
        (
            Filters(demand=AllOf((Term(("cookie",)), Not(Term(("password",)))))),
            {"cookie", "turn 2"},
        ),
        (
            Filters(demand=AnyOf((Term(("hand",)), Condition("tag:a", (Filters(tags=("a",)),))))),
            {"old", "login"},
        ),
        (Filters(kinds=("no such kind",)), set()),
    ],
)
async def test_every_method_lets_the_same_records_pass(
    filled: Filled, filters: Filters, expected: set[str]
) -> None:
    store = filled.store
    assert filled.names(await store.matching(filters)) == expected
    assert filled.names(await store.read(lambda s: s.matching(filters))) == expected
    assert (
        filled.names(await store.read(lambda s: s.browse(filters, "date_asc", 99, 0))) == expected
    )
    assert await store.read(lambda s: s.matches_any(filters)) == bool(expected)
    assert sum((await store.read(lambda s: s.counts(filters))).values()) == len(expected)
    passages = await store.read(lambda s: s.passages_within(filters))
    assert filled.names((await store.passage_columns(passages)).records) == expected


async def test_columns_describe_records_that_exist(filled: Filled) -> None:
    asked = np.append(filled.of("turn 1", "turn 2", "login", "old", "cookie"), 999)
    columns = await filled.store.read(lambda snapshot: snapshot.columns(asked))
    assert columns.exist.tolist() == [True] * 5 + [False]
    first, second, outside, *_ = columns.conversations.tolist()
    assert first == second > 0 == outside
    assert columns.positions[:2].tolist() == [1, 2]
    assert columns.importance[3] == pytest.approx(0.9)
    assert np.isnan(columns.importance[2])
    assert columns.created[4] == 2 * DAY


@pytest.mark.parametrize(("at_once", "cheaper"), [(1, 1), (1, 8), (2, 1), (2000, 8)])
@pytest.mark.parametrize("order", ["date_asc", "date_desc"])
async def test_the_first_by_date_are_found_however_many_are_asked_for(
    filled: Filled, order: Order, at_once: int, cheaper: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "_MAX_FEW_DATED", at_once)
    monkeypatch.setattr(snapshot, "_CHEAPER", cheaper)
    every = np.array(sorted(filled.numbers.values()))
    created = (await filled.store.read(lambda s: s.columns(every))).created
    sign = 1 if order == "date_asc" else -1
    rows = np.lexsort((sign * every, sign * created))
    for some in (every, every[::2], every[:2], every[-2:], every[:0]):
        expected = [row for row in rows if every[row] in some]
        asked = np.append(some, 999)
        for limit in (0, 1, 3, 99):
            numbers, dates = await filled.store.read(
                lambda s, asked=asked, limit=limit: s.first_by_date(asked, order, limit)
            )
            assert numbers.tolist() == every[expected][:limit].tolist()
            assert dates.tolist() == created[expected][:limit].tolist()


async def test_records_that_are_gone_have_no_place_in_an_order(filled: Filled) -> None:
    gone = np.array([10**6, 10**6 + 1])
    some = np.concatenate([gone, filled.of("login")])
    for numbers, expected in ((gone, [-1, -1]), (some, [-1, -1, 1])):
        found = await filled.store.read(lambda s, n=numbers: s.sort_values(n, ("title", "number")))
        assert found["title"].tolist() == expected


async def test_a_choice_of_nothing_lets_no_record_pass(filled: Filled) -> None:
    nothing = Filters(demand=Condition("nothing", ()))
    assert not await filled.store.read(lambda s: s.matches_any(nothing))
    assert await filled.store.read(lambda s: s.browse(nothing, "date_desc", 9, 0)) == []
    everything = Filters(demand=Not(Condition("nothing", ())))
    assert await filled.store.read(lambda s: len(s.matching(everything))) == len(DRAFTS)


async def test_near_duplicates_and_successors_are_known(filled: Filled) -> None:
    every = filled.of(*(each.source_id for each in DRAFTS))
    sketched, sketches = await filled.store.read(
        lambda snapshot: snapshot.near_duplicate_sketches(every)
    )
    assert {"new", "copy"} <= filled.names(sketched)
    assert len(sketches) == len(sketched)
    successors = await filled.store.read(lambda snapshot: snapshot.successors(every, Filters()))
    assert successors == {filled.numbers["old"]: (filled.numbers["new"],)}
    assert not await filled.store.read(
        lambda snapshot: snapshot.successors(every, Filters(without=(filled.numbers["new"],)))
    )


async def test_cosines_of_records_are_those_of_their_nearest_passage(filled: Filled) -> None:
    vector: Vectors = filled.runtime.model.embedder.embed(["login with a password and a cookie"])
    records = filled.of("login", "cookie", "long")
    cosines = await filled.store.read(lambda snapshot: snapshot.record_cosines(vector, records))
    assert cosines.argmax() == 0
    passages = await filled.store.read(lambda snapshot: snapshot.passages_within(Filters()))
    single = await filled.store.read(lambda s: s.passage_cosines(vector, passages))
    owners = (await filled.store.passage_columns(passages)).records
    for record, cosine in zip(records, cosines, strict=True):
        assert single[owners == record].max() == pytest.approx(cosine)
    rows, vectors = await filled.store.read(lambda s: s.passage_vectors(passages))
    best = np.full(len(passages), -1.0)
    np.maximum.at(best, rows, vectors @ vector[0])
    assert best == pytest.approx(single, abs=1e-6)
    missing = await filled.store.read(lambda s: s.record_cosines(vector, np.array([999])))
    assert np.isnan(missing).all()
    assert not len(await filled.store.read(lambda s: s.unindexed_passages(9)))


async def test_words_and_names_are_completed(filled: Filled) -> None:
    found = await filled.store.read(lambda s: s.expand_words(["pass*", "passwrod~"]))
    assert "password" in found["pass*"]
    assert "password" in found["passwrod~"]
    assert await filled.store.read(lambda s: s.unknown_words(["login", "qqzz"])) == ["qqzz"]
    assert ("password", 1) in await filled.store.read(lambda s: s.similar_words("passwrod"))
    assert ("password", 1) in await filled.store.read(lambda s: s.words_beginning_with("pass", 5))
    assert await filled.store.read(lambda s: s.names_beginning_with("project", "w", 5)) == [
        ("web", 4)
    ]
    assert await filled.store.read(lambda s: s.names_beginning_with("tag", "A", 5)) == [("a", 1)]


async def test_records_passages_and_the_graph_are_read_by_number(filled: Filled) -> None:
    old, new, long = (filled.numbers[name] for name in ("old", "new", "long"))
    records = await filled.store.read(lambda s: s.records([new, 999, old]))
    assert records[old].superseded_by == records[new].ref
    ((record, links),) = await filled.store.read(lambda s: s.records_with_links([new, 999]))
    assert (record.number, [link.relation for link in links]) == (new, ["supersedes"])
    spans = await filled.store.read(lambda s: s.spans_of_records([long]))
    assert len(spans[long]) > 2
    first, _, _ = await filled.store.read(lambda s: s.first_passages([long])[long])
    assert (await filled.store.read(lambda s: s.spans([first])))[first] == spans[long][0]
    context = await filled.store.read(lambda s: s.passage_contexts({long: first}, 1))
    assert (context[long].ordinal, context[long].count) == (0, len(spans[long]))
    assert context[long].end == spans[long][1][1]
    walk = await filled.store.read(lambda s: s.walk([new], 1, Filters()))
    assert walk.depths[old] == 1
    assert (await filled.store.read(lambda s: s.labels([old])))[old].ref.number == old
    related = await filled.store.read(lambda s: s.relationships([old], Filters()))
    assert "supersedes" in {each.relation for each in related[old]}
    earlier, later = await filled.store.read(lambda s: s.around((2 * DAY, 0), 1, 1, Filters()))
    assert (filled.names(earlier), filled.names(later)) == (set(), {"cookie"})


@pytest.mark.parametrize("settings_of", STORES.values(), ids=STORES)
async def test_a_summary_is_shown_by_the_first_passage_and_counted_by_none(
    settings_of: Callable[[Path], Settings], tmp_path: Path
) -> None:
    text = "# Lamps\n\n" + "The keeper fills the lamp with oil. " * 115
    note = draft("lamps", text, metadata={"description": "Of lighthouses"})
    # Without an indexer, which could take the summary out of the queue before it is read here.
    async with open_runtime(settings_of(tmp_path / "home"), background=False) as runtime:
        stored = await runtime.store.ingest.store_one(
            prepare(note), replace=False, even_forgotten=False
        )
        number, store = stored.number, runtime.search.store
        waiting = await runtime.store.indexing.to_embed(99)
        (summary,) = (each.passage for each in waiting if each.above == "Of lighthouses")
        spans = await store.read(lambda s: s.spans_of_records([number]))
        assert [each.above for each in spans[number]] == ["", "# Lamps", "# Lamps"]
        assert await store.read(lambda s: s.spans([summary])) == {summary: spans[number][0]}
        context = await store.read(lambda s: s.passage_contexts({number: summary}, 1))
        assert (context[number].ordinal, context[number].count) == (0, 3)
        found = await store.read(lambda s: s.records_with_words(word("lighthouses")))
        assert number not in found


async def test_the_corpus_is_counted(filled: Filled) -> None:
    corpus = await filled.store.corpus()
    assert corpus == await filled.store.read(lambda snapshot: snapshot.corpus())
    assert corpus.passages["user_prompt"] == 2
    assert (corpus.waiting, corpus.coverage) == (0, 1.0)


async def test_a_read_keeps_its_view_while_others_write(filled: Filled) -> None:
    async def write() -> None:
        await fill(filled.runtime, draft("later", "login much later"))

    loop = asyncio.get_running_loop()

    def twice(snapshot: Any) -> tuple[set[str], set[str]]:
        before = set(snapshot.records_with_words(word("login")))
        asyncio.run_coroutine_threadsafe(write(), loop).result(30)
        return before, set(snapshot.records_with_words(word("login")))

    before, after = await filled.store.read(twice)
    assert before == after
    _, matches = await filled.store.read(
        lambda snapshot: snapshot.word_matches(word("login"), Filters(project=""), 10)
    )
    assert len(matches) == len(before) + 1


async def test_the_next_search_sees_what_another_process_wrote(filled: Filled) -> None:
    """Another runtime of the same home has nothing in memory in common with the first."""
    everything = await filled.store.matching(Filters())
    async with open_runtime(filled.settings, background=False) as other:
        theirs = draft("theirs", "login of theirs", project="new")
        await other.ingest.writer.take(THERE, Batch(drafts=(theirs,)))
        gone = filled.numbers["cookie"]
        await other.ingest.forgetting.forget([gone])
        for filters in (Filters(), Filters(project="new"), Filters(kinds=("note",))):
            seen = await filled.store.matching(filters)
            assert seen == await other.search.store.matching(filters)
        assert len(await filled.store.matching(Filters())) == len(everything)
        columns = await filled.store.read(lambda snapshot: snapshot.columns(np.array([gone])))
        assert not columns.exist.any()
        _, matches = await filled.store.read(
            lambda snapshot: snapshot.word_matches(word("login"), Filters(project="new"), 10)
        )
        assert len(matches) == 1


DECOMPOSED = "Fa\u0308hre"
"""As a Mac writes the name of a folder; composed it is ``Fähre``."""


@pytest.mark.parametrize("named", ["Fähre", "fähre", "FÄHRE", DECOMPOSED, DECOMPOSED.upper()])
@pytest.mark.parametrize("store", STORES)
async def test_names_compare_as_people_read_them(tmp_path: Path, store: str, named: str) -> None:
    async with open_runtime(STORES[store](tmp_path / "home")) as runtime:
        await fill(
            runtime,
            draft("project", "x", project=DECOMPOSED),
            draft("tag", "x", tags=("FÄHRE", "other")),
            draft("file", "x", kind="file", metadata={"path": f"docs/{DECOMPOSED}/plan.md"}),
            draft("none", "x", project="Fahre", tags=("fahre",)),
        )
        search = runtime.search.store
        numbers = await numbers_of(search)
        for filters, expected in (
            (Filters(project=named), "project"),
            (Filters(tags=(named,)), "tag"),
            (Filters(files=(f"{named}/",)), "file"),
            (Filters(files=(f"docs/{named}/*",)), "file"),
            (Filters(files=(f"{named}/plan.md",)), "file"),
            (Filters(files=(f"docs/{named}/plan.md",)), "file"),
        ):
            assert list(await search.matching(filters)) == [numbers[expected]], filters
            counted = await search.read(lambda snapshot, f=filters: snapshot.counts(f))
            assert sum(counted.values()) == 1
