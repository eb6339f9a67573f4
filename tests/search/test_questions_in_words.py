"""A question in plain words over a store: exclusions, numbers as names, intent, failures, moments,
and questions in two steps. Each reading is shown and can be taken back.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from drafts import draft
from mem_search.model import Link, SearchPage, SearchRequest
from mem_search.model.requests import ReadPart
from mem_search.text.date_words import to_ms
from mem_search.wiring import Runtime
from runtimes import fill

ASKED = datetime(2025, 11, 20, 12, tzinfo=UTC)


def at(day: str) -> int:
    return to_ms(datetime.fromisoformat(day).replace(tzinfo=UTC))


def step(name: str, text: str, day: str, **more: object) -> object:
    metadata = {"type": "change", **more.pop("metadata", {})}  # type: ignore[dict-item]
    return draft(
        name, text, kind="observation", title=name, created_at=at(day), metadata=metadata, **more
    )


FAILURE = {"failed": ["Failed: Ran: make docs"]}
DRAFTS = (
    step("cache on windows", "The cache keeps bugs away on Windows", "2025-08-01"),
    step("cache on linux", "The cache keeps bugs away on Linux", "2025-08-02"),
    step("lock", "Workers run without a lock beside each other", "2025-08-03"),
    step("pager", "PR 3592 replaces the offset of the pager", "2025-08-04"),
    step("statistics", "Of 3,592 requests a PR takes two days", "2025-08-05"),
    step("how to decide", "We decide about the cache by what we measure about it", "2025-08-06"),
    step("sqlite", "One file is the cache", "2025-08-07", metadata={"type": "decision"}),
    step("Release 0.20", "It is out", "2025-09-01"),
    step("export early", "The export has columns", "2025-08-20"),
    step("export late", "The export has columns and rows", "2025-09-20"),
    step("docs failed", "Build the docs again", "2025-11-19", metadata=FAILURE),
    step("docs failed before", "Build the docs", "2025-11-03", metadata=FAILURE),
    step("docs error pages", "Docs of the error pages", "2025-11-19"),
    step("redirect loop", "The browser is sent back and forth", "2025-07-01"),
    step("stale cookie", "It is removed", "2025-07-02", links=(Link("redirect loop", "fixes"),)),
)


async def ask(runtime: Runtime, text: str, *as_words: ReadPart) -> SearchPage:
    await fill(runtime, *DRAFTS)
    request = SearchRequest(text, asked_at=ASKED, as_words=as_words)
    return await runtime.search.service.search(request, "test")


def ids(page: SearchPage) -> list[str]:
    return [result.record.source_id for result in page.results]


def readings(page: SearchPage) -> list[tuple[str, str, str]]:
    return [(each.phrase, each.filter, each.part) for each in page.report.analyzed.readings]


async def test_what_a_question_leaves_out_is_not_found_and_is_said(runtime: Runtime) -> None:
    page = await ask(runtime, "cache bugs not about windows")
    assert readings(page) == [("not about windows", "-windows", "negation")]
    assert "cache on linux" in ids(page)
    assert "cache on windows" not in ids(page)


async def test_an_exclusion_can_be_taken_back(runtime: Runtime) -> None:
    page = await ask(runtime, "cache bugs not about windows", "negation")
    assert not page.report.analyzed.readings
    assert "cache on windows" in ids(page)


async def test_what_no_record_has_and_what_one_says_itself_is_no_exclusion(
    runtime: Runtime,
) -> None:
    assert not readings(await ask(runtime, "cache bugs not about kafka"))
    page = await ask(runtime, "all workers without lock")
    assert "lock" in ids(page)


async def test_the_record_that_holds_a_number_beside_its_word_leads(runtime: Runtime) -> None:
    assert ids(await ask(runtime, "PR 3592"))[0] == "pager"
    assert ids(await ask(runtime, "what was pull request 3592"))[0] == "pager"


async def test_words_of_intent_do_not_rank(runtime: Runtime) -> None:
    page = await ask(runtime, "what did we decide about the cache")
    assert ids(page)[0] == "sqlite"
    assert page.report.analyzed.words == ("cache",)
    assert readings(page) == [("decide", "type:decision,note", "intent")]


async def test_a_failure_and_the_time_beside_it_bind(runtime: Runtime) -> None:
    page = await ask(runtime, "the error I saw yesterday")
    assert ids(page) == ["docs failed"]
    assert [each.use for each in page.report.analyzed.dates] == ["filter"]
    assert ids(await ask(runtime, "what failed this month")) == [
        "docs failed",
        "docs failed before",
    ]


async def test_failing_may_be_the_topic(runtime: Runtime) -> None:
    assert ids(await ask(runtime, "docs of the error pages"))[0] == "docs error pages"


@pytest.mark.parametrize(
    ("text", "first"),
    [("export before the 0.20 release", "export early"), ("export since 0.20", "export late")],
)
async def test_a_release_is_a_moment_where_the_store_has_it(
    runtime: Runtime, text: str, first: str
) -> None:
    page = await ask(runtime, text)
    assert ids(page)[0] == first
    assert len(page.report.analyzed.dates) == 1


async def test_an_unknown_release_stays_a_word(runtime: Runtime) -> None:
    assert not (await ask(runtime, "export before the 7.77 release")).report.analyzed.dates


async def test_a_relation_leads_to_a_record_without_a_word_of_the_question(
    runtime: Runtime,
) -> None:
    page = await ask(runtime, "the fix after the redirect loop")
    assert ids(page)[0] == "stale cookie"
    assert [each.part for each in page.report.analyzed.readings] == ["relation"]
    assert ids(await ask(runtime, "the fix after the redirect loop", "relation"))[0] != (
        "stale cookie"
    )
