"""The contract of every retriever."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest

import drafts
from mem_search.contracts import Question, Retriever
from mem_search.model import Filters
from mem_search.text import words
from mem_search.wiring import Runtime
from runtimes import fill

TEXT = "shared words of a question"


@pytest.fixture(params=["keyword", "vector"])
async def leg(request: pytest.FixtureRequest, runtime: Runtime) -> Retriever:
    await fill(
        runtime,
        *(
            drafts.draft(
                f"r{n}",
                f"shared {'words ' * (n % 7)} number{n} {'question' if n % 3 else 'padding'}",
                kind=("note", "memory", "user_prompt")[n % 3],
                project="p" if n % 2 else "q",
            )
            for n in range(60)
        ),
        drafts.draft("same 1", "shared words"),
        drafts.draft("same 2", "shared words"),
        drafts.draft("long", "shared words " * 900),
    )
    (leg,) = [leg for leg in runtime.search.pipeline._legs if leg.name == request.param]
    return leg


def question(text: str = TEXT, filters: Filters = Filters()) -> Question:  # noqa: B008
    return Question(text, words.read(text), filters)


async def test_candidates_are_records_best_first_each_once(leg: Retriever) -> None:
    ranking = await leg.rank(question(), 100)
    order = [(-candidate.score, candidate.record) for candidate in ranking.candidates]
    assert order == sorted(order)
    assert len({candidate.record for candidate in ranking.candidates}) == len(order) == 63
    assert ranking.name == leg.name
    found = ranking.candidates
    known = ranking.scores if len(ranking.scores) else ranking.matched
    assert known.of(found.records).tolist() == found.scores.tolist()


@pytest.mark.parametrize("filters", [Filters(), Filters(kinds=("note",))])
async def test_one_read_ranks_like_the_leg_itself(
    leg: Retriever, runtime: Runtime, filters: Filters
) -> None:
    ranked = await leg.rank(question(filters=filters), 20)
    reading = await leg.reading(question(filters=filters), 20)
    assert reading is not None  # the store is small, and the question is known
    read = await runtime.search.store.read(reading)
    assert read.candidates.records.tolist() == ranked.candidates.records.tolist()
    assert read.candidates.scores.tolist() == ranked.candidates.scores.tolist()
    assert (read.state, read.detail, read.unknown) == (ranked.state, ranked.detail, ranked.unknown)


async def test_a_deeper_ranking_begins_like_a_shallow_one(leg: Retriever) -> None:
    deep = [c.record for c in (await leg.rank(question(), 60)).candidates]
    shallow = [c.record for c in (await leg.rank(question(), 10)).candidates]
    assert len(shallow) >= 10
    assert deep[:10] == shallow[:10]


@pytest.mark.parametrize(
    "filters",
    # Kinds of long texts alone have statistics of their own (``bm25.own_statistics``).
    [
        Filters(project="p"),
        Filters(kinds=("memory",)),
        Filters(project="q", kinds=("memory", "note")),
    ],
)
async def test_a_filter_keeps_the_order_and_the_scores(leg: Retriever, filters: Filters) -> None:
    everything = await leg.rank(question(), 100)
    filtered = await leg.rank(question(filters=filters), 100)
    kept = {candidate.record for candidate in filtered.candidates}
    assert kept
    assert list(filtered.candidates) == [c for c in everything.candidates if c.record in kept]
    assert set(filtered.matched.records) == set(everything.matched.records) & kept


async def test_a_later_score_equals_the_score_of_the_ranking(
    leg: Retriever, runtime: Runtime
) -> None:
    ranking = await leg.rank(question(), 100)
    known = ranking.scores if len(ranking.scores) else ranking.matched
    for records in (np.array([63, 1, 5]), np.array([7]), np.zeros(0, np.int64)):
        again = await runtime.search.store.read(leg.score, question(), ranking, records)
        assert again == pytest.approx(known.of(records), abs=1e-6)


@pytest.mark.parametrize(
    "text", ["'\"*()", "a OR b NEAR(c)", "\x00\ud800", "検索 エ", "-", "title:x"]
)
async def test_any_text_is_a_question(leg: Retriever, text: str) -> None:
    try:
        await leg.rank(question(text), 10)
    except sqlite3.Error as error:  # pragma: no cover
        pytest.fail(f"{text!r}: {error}")
