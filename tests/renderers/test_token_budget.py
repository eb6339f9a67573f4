"""Listings within a token budget."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mem_search.model import Record, Result, SearchPage, SearchReport, SearchRequest, Snippet
from mem_search.records.registry import installed_kinds
from mem_search.renderers import DisplayOptions, fitted, render
from mem_search.renderers.record_json import SearchReply
from mem_search.renderers.record_line import index_line
from mem_search.renderers.schema import to_json
from mem_search.renderers.token_budget import (
    fits,
    fitted_text,
    most_that,
    nearest_to,
    page_json,
    page_within,
)
from mem_search.text import token_count

AT = 1_763_401_500_000
DISPLAY = DisplayOptions(installed_kinds().get, UTC, datetime(2025, 11, 20, tzinfo=UTC))

ADVERSARIAL = st.one_of(
    st.text(max_size=300),
    st.text("漢字かなカナ한글", max_size=300),
    st.text("🦊👩‍👩‍👧🏽🇩🇪✨", max_size=300),
    st.text("a1_-/.#!\"'\\\t\n", max_size=300),
    st.text("ЖшčřẞϞ", max_size=300),
    st.text("abc ", max_size=300),
)
KINDS = st.sampled_from(["observation", "user_prompt", "session_summary", "note", "email"])


def record(number: int, title: str, text: str = "Text.", kind: str = "note") -> Record:
    at = AT + number * 1000
    return Record(number, kind, "jsonl", f"{number}", title, text, at, at)  # type: ignore[arg-type]


def page(
    *records: Record, query: SearchRequest | None = None, total: int | None = None
) -> SearchPage:
    results = (
        Result(each, 1.0 / each.number, Snippet(each.text, 0, len(each.text)), {"fused": 1.0})
        for each in records
    )
    return SearchPage(
        request=query or SearchRequest("auth"),
        results=tuple(results),
        total=len(records) if total is None else total,
        counts={},
        report=SearchReport("hybrid", "hybrid"),
    )


@given(ADVERSARIAL, ADVERSARIAL, KINDS, st.integers(1, 10**9))
@settings(max_examples=300, deadline=None)
def test_an_index_entry_costs_at_most_60_tokens(
    title: str, text: str, kind: str, number: int
) -> None:
    year_ago = record(number, title, text or "x", kind)
    line = index_line(
        year_ago, DisplayOptions(installed_kinds().get, UTC, datetime(2026, 11, 20, tzinfo=UTC))
    )
    assert token_count.count(line) <= 60
    assert "\n" not in line


@given(
    st.lists(st.tuples(ADVERSARIAL, ADVERSARIAL), max_size=8),
    st.sampled_from(["index", "full"]),
    st.integers(50, 900),
    ADVERSARIAL,
    st.sampled_from(["relevance", "date_desc", "date_asc"]),
)
@settings(max_examples=200, deadline=None)
def test_a_listing_never_costs_more_than_its_limit_and_reports_its_cost(
    written: list[tuple[str, str]], listing: str, limit: int, question: str, order: str
) -> None:
    records = [record(i, title, text) for i, (title, text) in enumerate(written, 1)]
    asked = page(*records, query=SearchRequest(question, order=order))  # type: ignore[arg-type]
    shown = fitted(asked, listing, DISPLAY, limit)
    assert shown.tokens == token_count.count(shown.text) <= limit
    assert shown.page.total == asked.total
    whole = fitted(asked, listing, DISPLAY, None)
    assert whole.text == render(asked, listing, DISPLAY)
    assert whole.tokens == token_count.count(whole.text)


def test_results_that_do_not_fit_are_left_for_the_next_page() -> None:
    asked = page(*(record(i, f"Title {i}") for i in range(1, 11)), total=143)
    shown = fitted(asked, "index", DISPLAY, 130)
    count = len(shown.page.results)
    assert 0 < count < 10
    assert shown.page.results == asked.results[:count]
    assert shown.text.startswith('Found 143 result(s) matching "auth":')
    assert f"{count} of 143 shown to fit max_tokens=130; next: offset={count}" in shown.text
    assert f"#{count} - Title {count} " in shown.text
    assert f"Title {count + 1}" not in shown.text


def test_enough_tokens_change_nothing() -> None:
    asked = page(record(1, "One"), record(2, "Two"))
    assert fitted(asked, "index", DISPLAY, 5000).text == render(asked, "index", DISPLAY)


@pytest.mark.parametrize("text", ["auth", ""])
def test_a_dated_list_is_cut_at_its_end(text: str) -> None:
    newest_first = [record(i, f"Title {i}") for i in range(10, 0, -1)]
    asked = page(*newest_first, query=SearchRequest(text, order="date_desc"))
    shown = fitted(asked, "index", DISPLAY, 120)
    assert shown.page.results == asked.results[: len(shown.page.results)] != ()


def test_a_full_listing_cuts_its_last_record_at_a_word_and_says_how_to_open_it() -> None:
    asked = page(record(1, "Short"), record(2, "Long", "word " * 2000), record(3, "Never seen"))
    shown = fitted(asked, "full", DISPLAY, 300)
    assert "## 📝 Note #1 - Short" in shown.text
    assert " word…\n\nCut to fit; open it whole: mem-search get note:2" in shown.text
    assert "2 of 3 shown to fit max_tokens=300; next: offset=2" in shown.text
    assert "Never seen" not in shown.text


def test_one_result_is_worth_more_than_the_words_around_it() -> None:
    asked = page(record(1, "A title of some length " * 2), total=9)
    text = fitted(asked, "index", DISPLAY, 50).text
    assert "A title of some length" in text
    assert text.endswith("Next: offset=1")


def test_suggested_spellings_are_on_one_line() -> None:
    report = SearchReport("hybrid", "hybrid", suggestions=("authentication", "authenticator"))
    empty = SearchPage(SearchRequest("authentcation"), (), 0, {}, report)
    for listing in ("index", "full"):
        assert "Did you mean: authentication, authenticator?" in render(empty, listing, DISPLAY)


@given(st.text(max_size=2000), st.integers(50, 200))
@settings(deadline=None)
def test_a_cut_text_stays_within_its_limit(text: str, limit: int) -> None:
    cut = fitted_text(text, limit, "open it whole: mem-search get note:1")
    assert token_count.count(cut) <= limit
    assert fits(text, limit) == (cut == text)


@pytest.mark.parametrize("threshold", range(8))
def test_the_most_is_found_by_halving(threshold: int) -> None:
    assert most_that(lambda number: number <= threshold, 7) == threshold
    assert most_that(lambda number: False, 7) == 0


@given(st.integers(0, 30), st.integers(1, 30), st.integers(0, 30))
def test_the_nearest_contain_the_anchor(place: int, count: int, most: int) -> None:
    place, most = min(place, count - 1), min(most, count)
    chosen = list(range(count))[nearest_to(place, count, most)]
    assert len(chosen) == most
    assert not most or place in chosen


def test_plain_values_of_a_report_can_be_sent() -> None:
    asked = page(record(1, "One"))
    assert json.loads(to_json(SearchReply.of(asked)))["search"]["suggestions"] == []


WITH_HALVES = ADVERSARIAL | st.text(st.sampled_from('a\ud83d\udc80 "\\é'), max_size=20)


@given(
    st.lists(st.tuples(WITH_HALVES, WITH_HALVES), max_size=4),
    WITH_HALVES,
    st.none() | st.integers(1, 2000),
    st.sampled_from([(), ("title", "score")]),
)
@settings(deadline=None, max_examples=50)
def test_a_page_written_once_is_the_reply_and_costs_what_it_says(
    texts: list[tuple[str, str]], question: str, limit: int | None, names: tuple[str, ...]
) -> None:
    records = [record(at, title, text) for at, (title, text) in enumerate(texts, 1)]
    some = page(*records, query=SearchRequest(question))
    written = page_json(some, limit, names)
    reply = json.loads(written)
    assert reply == json.loads(to_json(page_within(some, limit, names)))
    _, _, results = written.decode().partition('"results":')
    results = results.lstrip()
    _, end = json.JSONDecoder().raw_decode(results)
    if "\\ud" not in results[:end]:  # an escape has more signs than what it stands for
        assert reply["tokens_used"] == token_count.count(results[:end])
