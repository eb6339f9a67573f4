"""How sure a search is, and what it says when the store has no answer.

1. A question whose words the store lacks is not answered, whatever is nearest.
2. A record and a question have the same relevance whatever else is found.
3. What is demanded, named or said in full is an answer.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from drafts import draft
from mem_search.model import SearchPage, SearchRequest
from mem_search.records.registry import installed_kinds
from mem_search.renderers.listing import render
from mem_search.renderers.record_line import DisplayOptions
from mem_search.search.stages.relevance import MAX_SHOWN_UNANSWERED
from mem_search.wiring import Runtime
from runtimes import fill

LAMPS = [
    draft(f"lamp{number}", f"The keeper of lamp {number} trims the wick", title=f"Lamp {number}")
    for number in range(120)
]
HARBOUR = draft("harbour", "The harbour master wrote down every ship", title="Harbour book")


async def search(runtime: Runtime, text: str, **values: object) -> SearchPage:
    request = SearchRequest(text, **values)  # type: ignore[arg-type]
    return await runtime.search.service.search(request, "test")


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
@pytest.mark.parametrize("order", ["relevance", "date_desc"])
async def test_a_store_without_the_words_has_no_answer(
    runtime: Runtime, mode: str, order: str
) -> None:
    await fill(runtime, *LAMPS, HARBOUR)
    page = await search(runtime, "saxophone lesson with the keeper", mode=mode, order=order)
    assert not page.report.answerable
    assert (page.total, dict(page.counts), page.relevant) == (0, {}, ())
    assert len(page.results) <= MAX_SHOWN_UNANSWERED
    assert page.report.missing == ("saxophone", "lesson")
    assert any("“saxophone” or “lesson”" in notice for notice in page.report.notices)


async def test_words_of_asking_are_not_missing(runtime: Runtime) -> None:
    await fill(runtime, *LAMPS, HARBOUR)
    page = await search(runtime, "please tell something about the saxophone", mode="keyword")
    assert page.report.missing == ("saxophone",)
    assert (await search(runtime, "please tell something", mode="keyword")).report.missing


async def test_its_second_page_is_empty(runtime: Runtime) -> None:
    await fill(runtime, *LAMPS)
    assert not (await search(runtime, "saxophone lesson keeper", offset=3)).results


async def test_all_matches_can_be_asked_for(runtime: Runtime) -> None:
    await fill(runtime, *LAMPS)
    page = await search(runtime, "saxophone lesson keeper", mode="keyword", include_weaker=True)
    assert (page.report.answerable, page.total) == (False, len(LAMPS))


@pytest.mark.parametrize(
    "text",
    ["harbour", "harbour master ship", '"harbour master"', "ship AND harbour", "title:harbour"],
)
async def test_what_is_said_in_full_is_answered(runtime: Runtime, text: str) -> None:
    await fill(runtime, *LAMPS, HARBOUR)
    page = await search(runtime, text, mode="keyword")
    assert page.report.answerable
    assert page.results[0].record.source_id == "harbour"


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("会議はいつに延期されましたか", "meeting"),
        ("我们用什么数据库", "database"),
        ("배포가 왜 실패했나요", "deploy"),
        ("火星の天気はどうですか", ""),
        ("火星上的天气怎么样", ""),
        ("날씨는 어떻습니까", ""),
    ],
)
@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
async def test_a_question_without_blanks_is_answered_by_the_words_in_it(
    runtime: Runtime, text: str, first: str, mode: str
) -> None:
    others = [
        draft("meeting", "会議は来週の火曜日に延期されました。"),
        draft("database", "我们决定使用PostgreSQL作为主数据库。"),
        draft("deploy", "서버 배포가 실패한 이유는 메모리 부족 때문입니다."),
    ]
    await fill(runtime, *LAMPS, *others)
    page = await search(runtime, text, mode=mode)
    assert page.report.answerable == bool(first)
    if first:
        assert page.results[0].record.source_id == first
    else:
        assert page.report.missing in (("火星", "天気"), ("火星上", "天气"), ("날씨",))


async def test_an_empty_store_has_no_answer_and_nothing_near(runtime: Runtime) -> None:
    page = await search(runtime, "harbour")
    assert (page.report.answerable, page.results, page.report.notices) == (False, (), ())


async def test_the_relevance_of_a_record_does_not_depend_on_the_page(runtime: Runtime) -> None:
    await fill(runtime, *LAMPS, HARBOUR)
    whole = await search(runtime, "harbour keeper", mode="keyword", include_weaker=True, limit=500)
    of_all = {each.record.ref: each.relevance for each in whole.results}
    for change in ({"limit": 1}, {"order": "date_asc"}, {"offset": 2}):
        request = replace(whole.request, **change)  # type: ignore[arg-type]
        for each in (await runtime.search.service.search(request, "test")).results:
            assert each.relevance == of_all[each.record.ref]


async def test_what_has_more_of_the_rare_words_is_more_relevant(runtime: Runtime) -> None:
    await fill(runtime, *LAMPS, HARBOUR)
    page = await search(runtime, "harbour keeper", mode="keyword", include_weaker=True, limit=500)
    sure = {each.record.source_id: each.relevance or 0.0 for each in page.results}
    assert sure["harbour"] > sure["lamp3"] > 0


async def test_a_listing_says_what_no_record_mentions_once(runtime: Runtime) -> None:
    await fill(runtime, *LAMPS)
    page = await search(runtime, "saxophone lesson keeper")
    assert page.results
    display = DisplayOptions(installed_kinds().get, UTC, datetime(2025, 11, 20, tzinfo=UTC))
    text = render(page, "index", display)
    assert text.startswith("No record mentions “saxophone”, “lesson”; nearest:\n")
    assert text.count("saxophone") == 1


async def test_a_rare_word_deep_in_a_long_record_is_an_answer(runtime: Runtime) -> None:
    long = " ".join(f"The harbour has a lamp and a gauge, as page {n} says." for n in range(900))
    await fill(runtime, draft("long", f"{long} Quillonport."), *LAMPS)
    page = await search(runtime, "quillonport", mode="keyword")
    assert (page.report.answerable, page.total) == (True, 1)
