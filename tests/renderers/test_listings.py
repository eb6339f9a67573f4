"""Whole listings, compared with the expected text."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from mem_search.errors import InputError
from mem_search.model import (
    DateRange,
    Filters,
    Kind,
    LegReport,
    Link,
    Record,
    Ref,
    Result,
    SearchPage,
    SearchReport,
    SearchRequest,
    Snippet,
)
from mem_search.records.registry import installed_kinds
from mem_search.renderers import DisplayOptions, fitted, render, render_record
from mem_search.renderers.record_line import index_line
from mem_search.text.date_words import to_ms

EVENING = 1_763_401_500_000  # 2025-11-17T17:45:00Z
MINUTE = 60_000
DISPLAY = DisplayOptions(installed_kinds().get, UTC, datetime(2025, 11, 20, tzinfo=UTC))


def record(kind: Kind, number: int, title: str, text: str = "Text.", **values: Any) -> Record:
    at = values.pop("created_at", EVENING)
    times = {"created_at": at, "updated_at": at, **values}
    return Record(number, kind, "jsonl", f"id{number}", title, text, **times)


def page(*records: Record, total: int | None = None, **values: Any) -> SearchPage:
    return SearchPage(
        request=values.pop("request", SearchRequest("auth")),
        results=tuple(
            Result(item, 0.8312, Snippet(item.text, 0, len(item.text)), {"keyword": 12.5})
            for item in records
        ),
        total=len(records) if total is None else total,
        counts={},
        report=values.pop("report", SearchReport("hybrid", "hybrid")),
    )


SESSION = record(
    "session_summary", 1234, "Implemented JWT authentication", created_at=EVENING - 15 * MINUTE
)
OBSERVATION = record("observation", 5678, "Added login endpoint")
PROMPT = record("user_prompt", 42, "", "How do we handle auth?", created_at=EVENING + 15 * MINUTE)


def test_the_index_has_a_line_a_record_in_the_order_of_the_page() -> None:
    assert render(page(SESSION, OBSERVATION, PROMPT), "index", DISPLAY) == (
        'Found 3 result(s) matching "auth":\n'
        "\n"
        "🎯 Session #1234 - Implemented JWT authentication (Nov 17, 5:30 PM)\n"
        "🟣 Observation #5678 - Added login endpoint (Nov 17, 5:45 PM)\n"
        '💬 User Prompt #42 - "How do we handle auth?" (Nov 17, 6:00 PM)\n'
        "\n"
        "Tip: open only what you need: mem-search get session_summary:1234"
        " (HTTP: /api/records/session_summary:1234)\n"
        "Tip: what happened around it: mem-search timeline session_summary:1234\n"
        "Tip: format=full prints every result whole; use it with a small limit"
    )


def test_dates_are_local_and_have_the_year_when_it_is_another() -> None:
    far_east = DisplayOptions(
        installed_kinds().get, timezone(timedelta(hours=9)), datetime(2026, 2, 1, tzinfo=UTC)
    )
    assert index_line(OBSERVATION, far_east) == (
        "🟣 Observation #5678 - Added login endpoint (Nov 18, 2025, 2:45 AM)"
    )


def test_a_page_among_many_says_where_it_is_and_how_to_go_on() -> None:
    query = SearchRequest("auth", limit=2, offset=4)
    text = render(page(SESSION, OBSERVATION, total=143, request=query), "index", DISPLAY)
    assert text.startswith('Found 143 result(s) matching "auth":\n')
    assert "\n\nShowing 5-6 of 143; next: offset=6\n\n" in text


def test_the_last_page_has_no_next_one() -> None:
    query = SearchRequest("auth", limit=2, offset=2)
    text = render(page(SESSION, total=3, request=query), "index", DISPLAY)
    assert "\nShowing 3-3 of 3\n" in text


def test_the_command_line_reads_its_own_options() -> None:
    display = DisplayOptions(
        installed_kinds().get, UTC, datetime(2025, 11, 20, tzinfo=UTC), command_line=True
    )
    query = SearchRequest("auth", limit=2, offset=4)
    found = replace(page(SESSION, OBSERVATION, total=143, request=query), folded=3)
    text = render(found, "index", display)
    assert "\nShowing 5-6 of 140; next: --offset 6; 3 near-duplicate(s) folded: --no-fold" in text
    assert "Tip:" not in text, "a pipe has no tips"
    text = fitted(found, "index", display, 60).text
    assert "1 of 143 shown to fit --max-tokens 60; next: --offset 5" in text
    assert "offset=" not in text


@pytest.mark.parametrize("listing", ["index", "full"])
def test_a_page_behind_the_last_one_says_where_that_is(listing: str) -> None:
    query = SearchRequest("auth", limit=20, offset=200)
    assert render(page(total=43, request=query), listing, DISPLAY) == (
        'Found 43 result(s) matching "auth":\n'
        "\n"
        "Nothing at offset=200; the last page starts at offset=40"
    )


def test_the_heading_lists_the_filters() -> None:
    filters = Filters(
        kinds=("note", "email"),
        types=("bugfix",),
        concepts=("gotcha",),
        files=("a.py",),
        tags=("t",),
        project="web",
        session="s1",
        source="git",
        created=DateRange(EVENING),
        updated=DateRange(EVENING, EVENING),
        importance=0.5,
        archived=False,
        facets=(("branch", "main"),),
    )
    text = render(page(OBSERVATION, request=SearchRequest(filters=filters)), "index", DISPLAY)
    assert text.splitlines()[0] == (
        "Found 1 result(s) with types=note|email, type=bugfix, concept=gotcha, file=a.py, tag=t,"
        " project=web, session=s1, source=git, created=Nov 17, 2025 to …,"
        " updated=Nov 17, 2025 to Nov 17, 2025, importance=0.5, archived=false, branch=main:"
    )


def test_the_newest_of_all_records_need_no_filter_in_the_heading() -> None:
    until_now = Filters(created=DateRange(None, to_ms(DISPLAY.now)))
    request = SearchRequest(filters=until_now, order="date_desc")
    text = render(page(OBSERVATION, request=request), "index", DISPLAY)
    assert text.splitlines()[0] == "The newest of 1 record(s):"
    of_web = replace(request, filters=replace(until_now, project="web"))
    text = render(page(OBSERVATION, request=of_web), "index", DISPLAY)
    assert "project=web" in text.splitlines()[0]


@pytest.mark.parametrize("listing", ["index", "full"])
def test_an_empty_result_suggests_what_to_try(listing: str) -> None:
    query = SearchRequest("auth", Filters(project="web"))
    report = SearchReport("hybrid", "keyword", coverage=0.2, notices=("vector search is starting",))
    assert render(page(request=query, report=report), listing, DISPLAY) == (
        'No results found matching "auth" with project=web\n'
        "\n"
        "Note: vector search is starting\n"
        "Note: 20% of the passages have vectors yet; the others are found by their words only\n"
        "\n"
        "Try: fewer words, or other words for the same thing\n"
        "Try: drop a filter (project=web)\n"
        "Try: mem-search stats, to see what is stored at all"
    )


@pytest.mark.parametrize(
    ("report", "notes"),
    [
        (SearchReport("hybrid", "hybrid"), []),
        (SearchReport("hybrid", "filter"), []),
        (
            SearchReport("hybrid", "keyword"),
            ["Note: asked for hybrid search, answered by keyword"],
        ),
        (
            SearchReport("hybrid", "keyword", (LegReport("vector", "failed", detail="down"),)),
            ["Note: vector search failed (down)"],
        ),
        (
            SearchReport(
                "hybrid",
                "keyword",
                (LegReport("vector", "failed", detail="down"),),
                notices=("the vector index is down",),
            ),
            ["Note: the vector index is down"],
        ),
        (
            SearchReport("hybrid", "hybrid", coverage=0.9999),
            [
                "Note: 99% of the passages have vectors yet;"
                " the others are found by their words only"
            ],
        ),
    ],
)
def test_every_deviation_from_the_request_is_noted_once(
    report: SearchReport, notes: list[str]
) -> None:
    text = render(page(OBSERVATION, report=report), "index", DISPLAY)
    assert [line for line in text.splitlines() if line.startswith("Note: ")] == notes


def test_a_listing_can_have_its_own_first_line() -> None:
    assert render(page(OBSERVATION), "index", DISPLAY, title="Decisions:").startswith(
        "Decisions:\n\n"
    )


NEW = record(
    "note",
    14,
    "Deploy by the pipeline",
    "Push, and wait.",
    supersedes=(Ref("note", 9), Ref("note", 7)),
)
OLD = record("note", 9, "Deploy by hand", "Copy the files.", superseded_by=Ref("note", 14))


def folded_page() -> SearchPage:
    found = page(NEW, OLD, OBSERVATION, total=6)
    new, old, other = found.results
    similar = (Ref("observation", 5679), Ref("observation", 5680))
    older = (Ref("note", 7),)
    return replace(
        found,
        results=(new, replace(old, similar=older), replace(other, similar=similar)),
        folded=3,
    )


def test_the_index_marks_superseded_and_folded_records() -> None:
    lines = render(folded_page(), "index", DISPLAY).splitlines()
    assert lines[:7] == [
        'Found 6 result(s) matching "auth":',
        "",
        "📝 Note #14 - Deploy by the pipeline (Nov 17, 5:45 PM) [supersedes 2: #9, …]",
        "📝 Note #9 - Deploy by hand (Nov 17, 5:45 PM) [superseded by #14; 1 similar: #7]",
        "🟣 Observation #5678 - Added login endpoint (Nov 17, 5:45 PM) [2 similar: #5679, …]",
        "",
        "3 near-duplicate(s) folded: fold=false lists them",
    ]


def test_the_full_listing_names_them_all() -> None:
    assert render(folded_page(), "full", DISPLAY) == (
        'Found 6 result(s) matching "auth":\n'
        "\n"
        "## 📝 Note #14 - Deploy by the pipeline\n"
        "\n"
        "Ref: note:14\n"
        "Date: Nov 17, 2025, 5:45 PM\n"
        "Source: jsonl\n"
        "Supersedes: note:9, note:7\n"
        "\n"
        "Push, and wait.\n"
        "\n"
        "Score: 0.831 (keyword 12.5)\n"
        "\n"
        "---\n"
        "\n"
        "## 📝 Note #9 - Deploy by hand\n"
        "\n"
        "Ref: note:9\n"
        "Date: Nov 17, 2025, 5:45 PM\n"
        "Source: jsonl\n"
        "Superseded by: note:14\n"
        "\n"
        "Copy the files.\n"
        "\n"
        "Similar: note:7\n"
        "Score: 0.831 (keyword 12.5)\n"
        "\n"
        "---\n"
        "\n"
        "## 🟣 Observation #5678 - Added login endpoint\n"
        "\n"
        "Ref: observation:5678\n"
        "Date: Nov 17, 2025, 5:45 PM\n"
        "Source: jsonl\n"
        "\n"
        "Text.\n"
        "\n"
        "Similar: observation:5679, observation:5680\n"
        "Score: 0.831 (keyword 12.5)\n"
        "\n"
        "3 near-duplicate(s) folded: fold=false lists them"
    )


def test_pages_count_places_and_what_is_folded_has_none() -> None:
    query = SearchRequest("auth", limit=2, offset=2)
    found = replace(page(SESSION, OBSERVATION, total=9, request=query), folded=3)
    text = render(found, "index", DISPLAY)
    assert (
        "\nShowing 3-4 of 6; next: offset=4; 3 near-duplicate(s) folded: fold=false lists them\n"
    ) in text
    last = replace(found, request=replace(query, offset=4))
    assert "\nShowing 5-6 of 6; 3 near-duplicate(s) folded" in render(last, "index", DISPLAY)
    behind = replace(found, request=replace(query, offset=8), results=())
    assert "Nothing at offset=8; the last page starts at offset=4" in render(
        behind, "index", DISPLAY
    )


@pytest.mark.parametrize(
    "title",
    [
        "word " * 60,
        "漢字のとても長い題名です" * 10,
        "🦊" * 60,
        "0123456789abcdef" * 10,
        "!?#%" * 50,
        "Über größere Änderungen " * 10,
    ],
)
@pytest.mark.parametrize("marked", [False, True])
def test_a_line_is_one_line_of_limited_cost(title: str, marked: bool) -> None:
    others = tuple(Ref("observation", 1_234_560 + n) for n in range(12)) if marked else ()
    marks = {"superseded_by": others[0], "supersedes": others} if marked else {}
    line = index_line(record("observation", 123456, title, **marks), DISPLAY, others)
    # Bytes per token hardly fall below these, whatever the tokenizer.
    letters = sum(character.isascii() and character.isalpha() for character in line)
    signs = sum(character.isascii() and not character.isalnum() for character in line)
    signs -= line.count(" ")  # a space is part of the word behind it
    digits = sum(character.isdigit() for character in line)
    others = sum(not character.isascii() for character in line)
    astral = sum(ord(character) > 0xFFFF for character in line)
    assert letters / 4 + signs / 2 + digits / 2 + others * 1.25 + astral < 60
    assert "…" in line


def test_a_cut_prompt_keeps_its_closing_quote() -> None:
    line = index_line(record("user_prompt", 1, "", "1234567890 " * 20), DISPLAY)
    assert '…" (Nov 17' in line


def test_a_title_cannot_act_on_a_terminal_or_break_the_line() -> None:
    line = index_line(record("note", 1, "a\x1b[31m red\u202e\nnext\x9b2J"), DISPLAY)
    assert line == "📝 Note #1 - a red next2J (Nov 17, 5:45 PM)"


def test_every_kind_has_its_icon_and_label() -> None:
    lines = [
        index_line(record(kind.name, 1, "T"), DISPLAY).partition(" #")[0]
        for kind in installed_kinds()
    ]
    assert lines == [
        "🟣 Observation",
        "🎯 Session",
        "💬 User Prompt",
        "📝 Note",
        "🌐 Website",
        "📄 File",
        "🗨️ Conversation",
        "🧠 Memory",
        "✉️ Email",
        "📊 Report",
    ], "add the icon and label of a new kind here"


FULL = record(
    "observation",
    7,
    "Token refresh",
    "The refresh ran\ntoo late.\x1b[0m",
    updated_at=EVENING + 24 * 60 * MINUTE,
    project="web",
    session="s1",
    tags=("auth", "jwt"),
    url="https://example.org/7",
    importance=0.5,
    archived=True,
    metadata={
        "type": "bugfix",
        "facts": ["It starts early, now", "It is silent"],
        "files_read": ["a.py"],
        "files_modified": ["b.py"],
        "branch": "main",
    },
)


def test_the_full_listing_has_every_field_and_the_reason() -> None:
    assert render(page(FULL, PROMPT), "full", DISPLAY) == (
        'Found 2 result(s) matching "auth":\n'
        "\n"
        "## 🔴 Observation #7 - Token refresh\n"
        "\n"
        "Ref: observation:7\n"
        "Date: Nov 17, 2025, 5:45 PM\n"
        "Updated: Nov 18, 2025, 5:45 PM\n"
        "Project: web\n"
        "Session: s1\n"
        "Source: jsonl\n"
        "Tags: auth, jwt\n"
        "URL: https://example.org/7\n"
        "Importance: 0.5\n"
        "Archived: yes\n"
        "Type: bugfix\n"
        "Facts:\n"
        "- It starts early, now\n"
        "- It is silent\n"
        "Files read: a.py\n"
        "Files modified: b.py\n"
        "Branch: main\n"
        "\n"
        "The refresh ran\n"
        "too late.\n"
        "\n"
        "Score: 0.831 (keyword 12.5)\n"
        "\n"
        "---\n"
        "\n"
        '## 💬 User Prompt #42 - "How do we handle auth?"\n'
        "\n"
        "Ref: user_prompt:42\n"
        "Date: Nov 17, 2025, 6:00 PM\n"
        "Source: jsonl\n"
        "\n"
        "How do we handle auth?\n"
        "\n"
        "Score: 0.831 (keyword 12.5)"
    )


def test_one_record_is_shown_with_its_links() -> None:
    text = render_record(
        OBSERVATION, DISPLAY, [Link("note:1"), Link("https://example.org", "cites")]
    )
    assert text == (
        "## 🟣 Observation #5678 - Added login endpoint\n"
        "\n"
        "Ref: observation:5678\n"
        "Date: Nov 17, 2025, 5:45 PM\n"
        "Source: jsonl\n"
        "Links: related note:1, cites https://example.org\n"
        "\n"
        "Text."
    )


def test_the_error_for_an_unknown_format_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match="choose one of index, full") as caught:
        render(page(), "xml", DISPLAY)
    assert caught.value.field == "format"
