"""The whole search over a real store: results, order, totals and notices."""

from __future__ import annotations

import itertools
from typing import get_args

import numpy as np
import pytest

import drafts
from chosen_store import in_a_file
from mem_search.contracts import FeedbackScorer, Question
from mem_search.errors import (
    IndexUnavailable,
    MissingField,
    ModelUnavailable,
    StorageError,
    StoreAway,
    StoreDamaged,
    Unavailable,
)
from mem_search.model import (
    Batch,
    DateRange,
    Draft,
    Filters,
    Kind,
    Mode,
    Order,
    Result,
    SearchPage,
    SearchRequest,
)
from mem_search.model.rankings import Numbers, Ranking, Values
from mem_search.records.registry import installed_kinds
from mem_search.search.pipeline import SearchPipeline
from mem_search.storage.sql import records
from mem_search.storage.sql.snapshot import SearchSnapshot
from mem_search.storage.sqlite.damage import DerivedDamaged
from mem_search.storage.sqlite.filters import FILTERS as SQL
from mem_search.text import words
from mem_search.wiring import Runtime
from runtimes import THERE, fill, pages

MODES: tuple[Mode, ...] = get_args(Mode)
KINDS = ("note", "observation", "user_prompt", "memory", "session_summary")
WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa".split()


def mixed(count: int) -> list[Draft]:
    """Records of several kinds, sessions and lengths; all have ``shared`` among their words."""
    return [
        drafts.draft(
            f"r{n}",
            f"shared {' '.join(WORDS[(n * 7 + i * i) % 10] for i in range(3 + n % 9))} number{n}",
            kind=KINDS[n % 5 if n % 11 else 0],
            created_at=(n * 37) % 101,
            session=f"s{n % 6}" if n % 3 else "",
            project=("shop", "Blog", "")[n % 3],
            importance=(n % 4) / 4,
        )
        for n in range(count)
    ]


STORED = mixed(150)


def numbers(page: SearchPage) -> list[int]:
    return [result.record.number for result in page.results]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("limit", [7, 100])
async def test_pages_put_together_are_the_whole_without_a_record_twice(
    runtime: Runtime, mode: Mode, limit: int
) -> None:
    await fill(runtime, *mixed(330))
    query = SearchRequest("shared alpha gamma", mode=mode, limit=limit)
    found = await pages(runtime.search.pipeline, query)
    together = [number for page in found for number in numbers(page)]
    assert len(set(together)) == len(together)
    assert {page.total for page in found} == {len(together)}
    kinds = [result.record.kind for page in found for result in page.results]
    assert found[0].counts == {kind: kinds.count(kind) for kind in sorted(set(kinds))}
    assert found[0].report.realised == mode
    assert found[0].report.coverage == 1


async def test_pages_fit_together_beyond_the_rows_that_are_scored(runtime: Runtime) -> None:
    lengths = itertools.cycle([1, 2, 5, 30])
    turns = [
        drafts.draft(f"t{n}", "deploy " + f"filler{n} " * next(lengths), kind="user_prompt")
        for n in range(1300)
    ]
    await fill(runtime, *turns)
    found = await pages(runtime.search.pipeline, SearchRequest("deploy", limit=100))
    together = [number for page in found for number in numbers(page)]
    assert len(set(together)) == len(together) == 1300
    assert {page.total for page in found} == {1300}


async def test_long_records_do_not_hide_others(runtime: Runtime) -> None:
    """Each has many passages that match: more rows are read until there are enough records."""
    long = " ".join(f"migration step {n} of the database." for n in range(700))
    await fill(runtime, *(drafts.draft(f"l{n}", f"{long} {n}") for n in range(110)))
    for mode in MODES:
        found = await pages(
            runtime.search.pipeline, SearchRequest("migration database", mode=mode, limit=50)
        )
        assert len({n for page in found for n in numbers(page)}) == found[0].total == 110


@pytest.mark.parametrize("mode", MODES)
async def test_an_order_by_date_is_over_all_that_is_found(runtime: Runtime, mode: Mode) -> None:
    await fill(runtime, *mixed(120))
    found: dict[Order, list[Result]] = {}
    for order in get_args(Order):
        found[order] = []
        for offset in range(0, 130, 10):
            query = SearchRequest("shared beta", mode=mode, order=order, limit=10, offset=offset)
            page = await runtime.search.pipeline.search(query)
            found[order] += page.results
        assert len(found[order]) == page.total - page.folded
    scores = [result.score for result in found["relevance"]]
    assert scores == sorted(scores, reverse=True)
    by_date = sorted(
        found["relevance"], key=lambda each: (each.record.created_at, each.record.number)
    )
    order_of = {order: [each.record.number for each in found[order]] for order in found}
    assert order_of["date_asc"] == [each.record.number for each in by_date]
    assert order_of["date_desc"] == order_of["date_asc"][::-1]


async def test_equal_records_come_by_number(runtime: Runtime) -> None:
    await fill(runtime, *(drafts.draft(f"n{n}", "the very same words") for n in range(30)))
    for mode in MODES:
        query = SearchRequest("same words", mode=mode, limit=30, fold=False)
        page = await runtime.search.pipeline.search(query)
        assert numbers(page) == sorted(numbers(page))
        assert len(page.results) == 30


async def test_one_kind_is_searched_alone_and_all_at_once_without_mixing_them_up(
    runtime: Runtime,
) -> None:
    await fill(runtime, *(drafts.draft(kind, "identical words", kind=kind) for kind in KINDS))
    page = await runtime.search.pipeline.search(SearchRequest("identical words"))
    assert page.counts == dict.fromkeys(sorted(KINDS), 1)
    for result in page.results:
        assert result.record.source_id == result.record.kind
    assert len({str(result.record.ref) for result in page.results}) == len(KINDS)
    for kind in KINDS:
        query = SearchRequest("identical words", Filters(kinds=(kind,)))  # type: ignore[arg-type]
        page = await runtime.search.pipeline.search(query)
        assert [result.record.kind for result in page.results] == [kind]
        assert page.counts == {kind: 1}


async def test_a_rare_kind_is_not_starved_by_a_frequent_one(runtime: Runtime) -> None:
    many = [
        drafts.draft(f"o{n}", f"fixed the login form again, take {n}", kind="observation")
        for n in range(2000)
    ]
    note = drafts.draft("note", "remember: the login form needs a captcha before the launch")
    await fill(runtime, *many, note)
    for mode in MODES:
        page = await runtime.search.pipeline.search(SearchRequest("login form", mode=mode))
        assert page.counts.get("note") == 1 or mode == "vector", mode
        found = {result.record.kind for result in page.results}
        assert found == {"observation", "note"} or mode == "vector", mode
    assert page.results


@in_a_file("statements of SQLite")
@pytest.mark.parametrize("embedded", [9999, 500])
async def test_several_rare_kinds_that_say_it_once_are_on_the_page(
    runtime: Runtime, embedded: int
) -> None:
    many = [
        drafts.draft(f"o{n}", f"The falcon number {n} was seen, a falcon.", kind="observation")
        for n in range(2000)
    ]
    once = "Dear all, the report about the river valley took longer than we had hoped, and"
    rare: list[Kind] = ["email", "website", "report"]
    few = [
        drafts.draft(kind, f"{once} somebody from the town hall mentions a falcon.", kind=kind)
        for kind in rare
    ]
    await fill(runtime, *many, *few)
    await runtime.store.database.write(
        lambda c: c.execute("delete from vectors where entry_id / 2 > ?", (embedded,))
    )
    for limit in (10, 20):
        page = await runtime.search.pipeline.search(SearchRequest("falcon", limit=limit))
        assert page.total == 2003
        shown = [r.record.kind for r in page.results]
        assert len({*shown[:10]} - {"observation"}) == 2, limit
        assert [r.score for r in page.results] == sorted(r.score for r in page.results)[::-1]


async def test_nonsense_finds_nothing(runtime: Runtime) -> None:
    await fill(runtime, *mixed(50))
    for text, mode in itertools.product(("zzqqxx", "qwxzv bnmpl", "!!! ???"), MODES):
        page = await runtime.search.pipeline.search(SearchRequest(text, mode=mode))
        assert (page.results, page.total, page.counts) == ((), 0, {}), (text, mode)


@in_a_file("statements of SQLite")
@pytest.mark.parametrize(
    "filters",
    [
        Filters(kinds=("memory", "note")),
        Filters(project="shop"),
        Filters(session="s1", importance=0.5),
        Filters(created=DateRange(10, 60)),
    ],
)
@pytest.mark.parametrize("mode", MODES)
async def test_a_filter_loses_no_match_and_lets_nothing_else_through(
    filled: Runtime, filters: Filters, mode: Mode
) -> None:
    passing = await filled.store.database.read(
        lambda c: records.browse(c, SQL.where(c, filters), "relevance", 999, 0)
    )
    everything = await filled.search.pipeline.search(
        SearchRequest("shared delta", mode=mode, limit=150, include_weaker=True)
    )
    page = await filled.search.pipeline.search(
        SearchRequest("shared delta", filters, mode, limit=150, include_weaker=True)
    )
    assert set(numbers(page)) == set(numbers(everything)) & set(passing)
    assert page.total == len(page.results)


async def test_a_filter_alone_lists_by_date(runtime: Runtime) -> None:
    await fill(runtime, *mixed(40))
    filters = Filters(kinds=("note",))
    page = await runtime.search.pipeline.search(SearchRequest(filters=filters, limit=5, offset=2))
    whole = await runtime.store.database.read(
        lambda c: records.browse(c, SQL.where(c, filters), "date_desc", 99, 0)
    )
    assert numbers(page) == whole[2:7]
    assert (page.total, page.report.realised) == (len(whole), "filter")
    assert page.report.notices == ()


async def test_neither_question_nor_filter_names_the_field(runtime: Runtime) -> None:
    with pytest.raises(MissingField) as raised:
        await runtime.search.pipeline.search(SearchRequest("  "))
    assert raised.value.field == "query"


async def test_every_snippet_is_a_span_of_its_record(runtime: Runtime) -> None:
    text = "Ünïcode 検索 padding. " * 400 + "The needle lies here. " + "More padding. " * 300
    await fill(runtime, drafts.draft("long", text), *mixed(20))
    page = await runtime.search.pipeline.search(SearchRequest("needle padding shared"))
    for result in page.results:
        snippet = result.snippet
        assert snippet.text == result.record.text[snippet.start : snippet.end]
    (long,) = [r for r in page.results if r.record.source_id == "long"]
    assert "needle" in long.snippet.text


async def test_where_an_index_is_not_wanted_the_scan_is_no_degradation(runtime: Runtime) -> None:
    await fill(runtime, *mixed(20))
    page = await runtime.search.pipeline.search(SearchRequest("shared alpha"))
    said = {leg.name: (leg.state, leg.detail) for leg in page.report.legs}
    assert said == {"keyword": ("ok", ""), "vector": ("ok", "exact")}


class Leg:
    """A leg that fails, or does something before it hands over another leg's ranking."""

    scores_early = False
    space = ""

    def __init__(self, name: str, error: Exception | None = None) -> None:
        self.name = name
        self.error = error

    async def reading(self, question: Question, depth: int) -> None:
        """Not by one read."""

    async def rank(self, question: Question, depth: int) -> Ranking:
        if self.error:
            raise self.error
        return Ranking(self.name)

    def score(
        self,
        snapshot: SearchSnapshot,
        question: Question,
        ranking: Ranking,
        records: Numbers,
    ) -> Values:
        return np.full(len(records), np.nan)

    def feedback_scorer(
        self, snapshot: SearchSnapshot, question: Question, passages: Numbers
    ) -> FeedbackScorer | None:
        return None


def with_vector_leg(runtime: Runtime, leg: Leg) -> SearchPipeline:
    keyword = runtime.search.pipeline._legs[0]
    return SearchPipeline(runtime.search.store, (keyword, leg), installed_kinds())


@pytest.mark.parametrize("error", [ModelUnavailable("no model"), IndexUnavailable("no index")])
async def test_when_meaning_fails_words_answer_and_the_page_says_so(
    runtime: Runtime, error: Exception
) -> None:
    await fill(runtime, *mixed(20))
    engine = with_vector_leg(runtime, Leg("vector", error))
    page = await engine.search(SearchRequest("shared alpha"))
    assert page.total == 20
    assert (page.report.requested, page.report.realised) == ("hybrid", "keyword")
    assert any(str(error) in notice for notice in page.report.notices)
    with pytest.raises(Unavailable, match=str(error)):
        await engine.search(SearchRequest("shared", mode="vector"))


async def test_the_words_of_a_question_are_expected_before_it_is_read(runtime: Runtime) -> None:
    expected: list[str] = []
    store, legs = runtime.search.store, runtime.search.pipeline._legs
    engine = SearchPipeline(store, legs, installed_kinds(), expect=expected.append)
    await engine.search(SearchRequest("shared alpha"))
    await engine.search(SearchRequest("shared beta", mode="keyword"))
    await engine.search(SearchRequest("shared -gamma"))
    assert expected == ["shared alpha"]


async def test_when_nothing_can_answer_that_is_an_error_with_both_reasons(
    runtime: Runtime,
) -> None:
    legs = (Leg("keyword", Unavailable("locked")), Leg("vector", ModelUnavailable("gone")))
    with pytest.raises(Unavailable, match="keyword: locked; vector: gone"):
        await SearchPipeline(runtime.search.store, legs, installed_kinds()).search(
            SearchRequest("words")
        )


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (StoreAway("it is gone"), StoreAway),
        (StoreDamaged("it is gone"), StoreDamaged),
        (StorageError("it is gone"), StorageError),
        (DerivedDamaged(("words",), "it is gone"), StoreDamaged),
    ],
)
async def test_when_no_leg_can_read_the_store_the_error_says_that_it_is_the_store(
    runtime: Runtime, error: StorageError, told: type[StorageError]
) -> None:
    """A search in the background that ends so is not over: it waits for the store."""
    legs = (Leg("keyword", error), Leg("vector", ModelUnavailable("gone, too")))
    with pytest.raises(StorageError, match=r"keyword: .*it is gone.*; vector: gone, too") as caught:
        await SearchPipeline(runtime.search.store, legs, installed_kinds()).search(
            SearchRequest("words")
        )
    assert type(caught.value) is told


async def test_a_record_deleted_while_it_is_being_found_is_left_out(runtime: Runtime) -> None:
    await fill(runtime, *mixed(20))

    class Deleting(Leg):
        async def rank(self, question: Question, depth: int) -> Ranking:
            await runtime.ingest.forgetting.forget([2, 3])
            return Ranking(self.name)

    keyword = runtime.search.pipeline._legs[0]
    ranking = await keyword.rank(Question("shared", words.read("shared"), Filters()), 200)

    class Stale(Leg):
        async def rank(self, question: Question, depth: int) -> Ranking:
            return ranking

    engine = SearchPipeline(
        runtime.search.store, (Stale("keyword"), Deleting("vector")), installed_kinds()
    )
    page = await engine.search(SearchRequest("shared"))
    assert set(numbers(page)) == set(range(1, 21)) - {2, 3}


@in_a_file("statements of SQLite")
async def test_while_the_index_fills_the_page_says_how_far_it_is(runtime: Runtime) -> None:
    await fill(runtime, *mixed(20))
    async with runtime.ingest.indexer._indexing:  # it may look once more after its last batch
        await runtime.store.database.write(
            lambda c: c.execute("insert into outbox select id, 'index' from passages limit 5")
        )
        runtime.search.store.changed()
        page = await runtime.search.pipeline.search(SearchRequest("shared alpha"))
    assert page.report.coverage == 0.75
    assert any("75.0%" in notice for notice in page.report.notices)
    assert page.total + page.weaker == 20
    page = await runtime.search.pipeline.search(SearchRequest("shared", mode="keyword"))
    assert page.report.notices == ()
    assert await runtime.ingest.writer.take(THERE, Batch()) is not None


async def test_a_commit_is_found_by_its_hash_and_by_the_beginning_of_it(runtime: Runtime) -> None:
    sha = "4a1ff1a74d212357958be51be6b15edfc2f30cb3"
    text = "Light the lamp\n\n" + "The keeper lights it at dusk. " * 300  # several passages
    commit = drafts.draft("c", text, kind="observation", metadata={"commit": sha.upper()})
    await fill(runtime, commit, *mixed(30))
    for asked in (sha, sha[:7], sha[:12].upper(), f"what did {sha[:8]} do"):
        page = await runtime.search.pipeline.search(SearchRequest(asked, mode="keyword"))
        assert [result.record.source_id for result in page.results] == ["c"], asked
        assert sha not in page.results[0].snippet.text.lower()

    async def found(asked: str) -> list[str]:
        page = await runtime.search.pipeline.search(SearchRequest(asked, limit=100))
        return [result.record.source_id for result in page.results]

    wordy = [drafts.draft(f"w{n}", f"commit after commit, and one commit {n}") for n in range(60)]
    await fill(runtime, *wordy)
    for mode in MODES[:2]:
        page = await runtime.search.pipeline.search(SearchRequest(f"commit {sha[:8]}", mode=mode))
        assert page.results[0].record.source_id == "c", mode
        assert page.total + page.weaker > 50

    # What the model sees in a hash is near to something, and means nothing.
    assert await found(sha) == await found(sha[:7]) == ["c"]
    for demanding in ("4a1ff1a AND keeper", "keeper +4a1ff1a7", '"4a1ff1a74"', "4a1ff1a OR zzzz"):
        assert await found(demanding) == ["c"], demanding
    for without in (
        "shared -4a1ff1a",
        "NOT 4a1ff1a",
        "NOT 4a1ff1a74d212357958be51be6b15edfc2f30cb3",
    ):
        assert "c" not in (others := await found(without)), without
        assert others
    assert "c" in await found("NOT 4a1ff1b")
