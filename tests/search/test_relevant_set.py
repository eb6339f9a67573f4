"""What a question finds is a set with a border; totals, counts, pages and orders are over it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np

import drafts
from mem_search.model import Draft, Filters, SearchPage, SearchRequest
from mem_search.records.registry import installed_kinds
from mem_search.renderers.listing import render
from mem_search.renderers.record_line import DisplayOptions
from mem_search.search.stages import STAGES, relevance, stages_without
from mem_search.search.state import LegScores
from mem_search.wiring import Runtime, open_runtime
from runtimes import fill, small

DISPLAY = DisplayOptions(installed_kinds().get, UTC, datetime(2025, 11, 20, tzinfo=UTC))
FILLER = ("harbour", "lantern", "meadow", "thunder", "pebble", "willow", "copper", "velvet")


def crowd(count: int) -> list[Draft]:
    """Records that share only the word ``server`` with the question; the newest are last."""
    return [
        drafts.draft(
            f"crowd{n}",
            f"{FILLER[n % 8]} {FILLER[n // 8 % 8]} {FILLER[n // 64 % 8]} server {n}",
            kind="observation",
            created_at=10_000 + n,
        )
        for n in range(count)
    ]


ANSWERS = [
    drafts.draft(
        f"answer{n}",
        f"The mail server drops the encrypted connection when the certificate expires, case {n}",
        title="Mail server certificate expired",
        kind="observation",
        created_at=n,
    )
    for n in range(3)
]
QUESTION = "why does the mail server drop connections when a certificate expires"


async def ask(runtime: Runtime, text: str, **options: object) -> SearchPage:
    return await runtime.search.pipeline.search(
        SearchRequest(text, **{"fold": False, **options})  # type: ignore[arg-type]
    )


async def test_records_that_share_a_word_are_weaker(runtime: Runtime) -> None:
    await fill(runtime, *crowd(300), *ANSWERS)
    page = await ask(runtime, QUESTION)
    assert {result.record.source_id for result in page.results[:3]} == {
        "answer0",
        "answer1",
        "answer2",
    }
    assert page.total == sum(page.counts.values()) < 200
    assert page.weaker > 100
    everything = await ask(runtime, QUESTION, include_weaker=True)
    assert (everything.total, everything.weaker) == (page.total + page.weaker, 0)
    assert f"{page.weaker} weaker" in render(page, "index", DISPLAY)


async def test_newest_first_is_the_newest_of_the_relevant_set(runtime: Runtime) -> None:
    await fill(runtime, *crowd(300), *ANSWERS)
    ranked = await ask(runtime, QUESTION, limit=100)
    newest = await ask(runtime, QUESTION, limit=1, order="date_desc")
    assert ranked.total == newest.total
    ids = {result.record.created_at for result in ranked.results}
    assert newest.results[0].record.created_at == max(ids)


async def test_one_word_finds_all_that_have_it_in_every_order(runtime: Runtime) -> None:
    await fill(runtime, *crowd(450))
    for order in ("relevance", "date_desc", "date_asc"):
        together: list[str] = []
        for offset in range(0, 500, 90):
            page = await ask(runtime, "server", limit=90, offset=offset, order=order)
            assert (page.total, page.weaker) == (450, 0)
            together += [result.record.source_id for result in page.results]
        assert len(together) == len(set(together)) == 450, order
        if order != "relevance":
            oldest_first = [f"crowd{n}" for n in range(450)]
            assert together == oldest_first[:: 1 if order == "date_asc" else -1]


async def test_all_words_of_a_short_question_are_enough(runtime: Runtime) -> None:
    await fill(runtime, *crowd(450))
    page = await ask(runtime, "pebble server", limit=100)
    both = [f"crowd{n}" for n in range(450) if "pebble" in crowd(450)[n].text]
    everything = [
        result.record.source_id
        for offset in range(0, page.total, 100)
        for result in (await ask(runtime, "pebble server", limit=100, offset=offset)).results
    ]
    assert set(both) <= set(everything)


async def test_a_name_alone_finds_what_holds_it(runtime: Runtime) -> None:
    parts = [drafts.draft(f"part{n}", f"the server port of worker {n}") for n in range(30)]
    holder = drafts.draft("holder", "set SERVER_WORKER_PORT before the start")
    await fill(runtime, *parts, holder)
    for order in ("relevance", "date_desc"):
        page = await ask(runtime, "SERVER_WORKER_PORT", order=order)
        assert [each.record.source_id for each in page.results] == ["holder"]
        assert (page.total, page.weaker) == (1, 30)
    assert (await ask(runtime, "SERVER_WORKER_PORT", include_weaker=True)).total == 31
    # Beside other words, and where no record holds it, its words count.
    assert (await ask(runtime, "where is SERVER_WORKER_PORT used")).total > 1
    assert (await ask(runtime, "SERVER_PORT_WORKER")).total > 1


async def test_what_is_demanded_is_found_whole(runtime: Runtime) -> None:
    await fill(runtime, *crowd(450))
    assert (await ask(runtime, '"server" -pebble harbour OR meadow OR willow')).total > 0
    page = await ask(runtime, "server AND thunder AND copper AND lantern", limit=1)
    words = {"server", "thunder", "copper", "lantern"}
    assert page.total == sum(words <= {*each.text.split()} for each in crowd(450))


async def test_the_first_ten_are_the_same_for_every_limit(runtime: Runtime) -> None:
    note = drafts.draft("note", "the mail server certificate is due", kind="note")
    await fill(runtime, *crowd(300), *ANSWERS, note)
    for text in (QUESTION, "server", "mail server"):
        few, many = await ask(runtime, text, limit=10), await ask(runtime, text, limit=100)
        assert few.results == many.results[:10]
        scores = [result.score for result in many.results]
        assert scores == sorted(scores, reverse=True)


async def test_there_are_at_most_so_many_of_each_kind(runtime: Runtime) -> None:
    notes = [drafts.draft(f"note{n}", f"a note about the server {n}") for n in range(30)]
    await fill(runtime, *crowd(100), *notes)
    for text, filters in (("server", Filters()), ("", Filters(kinds=("note", "observation")))):
        for order in ("relevance", "date_desc"):
            page = await ask(
                runtime, text, filters=filters, limit=50, limit_per_kind=5, order=order
            )
            kinds = [result.record.kind for result in page.results]
            assert (kinds.count("note"), kinds.count("observation")) == (5, 5)
            assert page.total == 130


async def test_without_the_border_all_matches_are_found(tmp_path: Path) -> None:
    assert "relevant" in {stage.name for stage in STAGES}
    async with open_runtime(small(tmp_path), stages=stages_without(["relevant"])) as runtime:
        await fill(runtime, *crowd(300), *ANSWERS)
        assert (await ask(runtime, QUESTION)).total > 250


def test_the_ten_best_may_lie_further_below_the_best() -> None:
    cosines = np.full(30, 0.3)
    legs = {name: LegScores(cosines, np.zeros(30, np.int64)) for name in ("keyword", "vector")}
    border = relevance.RELEVANT_SHARE * 20 - relevance.SLACK[True] - relevance.COSINE_SLACK * 0.3

    def kept(*lower: float) -> int:
        total = np.full(30, -9.0)
        total[: 1 + len(lower)] = [20.0, *lower]
        return int(relevance.near_the_best(total, np.ones(30, np.bool_), legs).sum())

    assert kept(*[border + 1] * 20) == 21
    assert kept(*[border + 1] * 4, *[border - 1] * 5) == 10
    assert kept(*[border + 1] * 9, *[border - 1] * 5) == 10
    assert kept(*[border + 1] * 4, *[border - 4] * 5) == 5
