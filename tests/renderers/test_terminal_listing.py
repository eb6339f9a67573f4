"""A person's terminal: two lines a result that identify it, at any width and for any text."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from mem_search.model import (
    Analyzed,
    Record,
    Ref,
    Result,
    SearchPage,
    SearchReport,
    SearchRequest,
    Snippet,
)
from mem_search.records.registry import installed_kinds
from mem_search.renderers import DisplayOptions
from mem_search.renderers.identity import alike, kind_of, says_nothing, table
from mem_search.renderers.terminal import Screen, cut, end_of, first_places, listing, opened
from mem_search.text.control_characters import HINT, KIND, MARKS, PLAIN, REF, WORD

NOW = datetime(2026, 11, 29, 15, 0, tzinfo=UTC)
DISPLAY = DisplayOptions(installed_kinds().get, UTC, NOW, command_line=True)
THIS_MORNING = 1_795_947_120_000  # 2026-11-29T10:12Z
MARCH = 1_772_532_720_000  # 2026-03-03T10:12Z
BEFORE = 1_741_000_320_000  # 2025-03-03T11:12Z
_MARKS = dict.fromkeys(map(ord, MARKS))


def record(number: int, kind: str, title: str, text: str, **values: Any) -> Record:
    at = values.pop("created_at", MARCH)
    source = values.pop("source", "jsonl")
    times = {"created_at": at, "updated_at": at}
    return Record(number, kind, source, f"id{number}", title, text, **times, **values)


RECORDS = (
    record(7510, "note", "Thursday",
           "# Thursday\n\nWe decided to keep redis for the **rate limiter** only; sessions move to"
           " postgres, because failover lost logins twice.",
           project="vault", metadata={"path": "/home/ann/vault/Daily/Thursday.md"},
           created_at=THIS_MORNING),
    record(1, "note", "2026-11-20", "Standup: the redis upgrade waits for a certificate.",
           project="vault", metadata={"path": "/home/ann/vault/Daily/2026-11-20.md"}),
    record(2, "observation", "Refresh tokens under a lock, so that two tabs do not lose each other",
           "Two tabs raced for the redis lock.", project="web", metadata={"type": "bugfix"}),
    record(3, "email", "Re: Redis outage on Monday: what we tell customers",
           "Redis was down from 10 to 11.", created_at=BEFORE,
           metadata={"from": ["Ilse Aichinger <ilse@example.org>"]}),
    record(4, "observation", "Drop support for Python 3.7", "The redis client needs 3.8.",
           project="black", source="git", metadata={"type": "change", "commit": "a" * 40}),
    record(5, "file", "認証の更新と保管についての長い題名がここにあります",
           "redis 認証の更新と保管。" * 9, project="文書",
           metadata={"path": "/home/ann/文書/認証.pdf"}),
    record(6, "website", "تخزين الجلسات في redis", "نقلنا الجلسات من redis إلى قاعدة البيانات.",
           url="https://www.example.org/a"),
    record(8, "user_prompt", "",
           "move sessions out of redis \x1b[31mnow\x1b]0;owned\x07 \ufdd3x\u202e",
           project="web", metadata={"instruction_like": ["ignore"]}),
)  # fmt: skip


def page(
    *records: Record, words: tuple[str, ...] = ("redis", "what", "did", "we"), **values: Any
) -> SearchPage:
    total = values.pop("total", len(records))
    asked = Analyzed(text="what did we decide about redis", words=words)
    return SearchPage(
        request=values.pop("request", SearchRequest("what did we decide about redis")),
        results=tuple(Result(each, 1.0, Snippet(each.text, 0, len(each.text))) for each in records),
        total=total,
        counts={},
        report=SearchReport("hybrid", "hybrid", analyzed=asked),
        **values,
    )


def shown(columns: int, *records: Record, **values: Any) -> str:
    return listing(page(*records, **values), DISPLAY, Screen(columns)).translate(_MARKS)


AT_80 = """\
📝 Note      Daily › Thursday  vault · 10:12 AM · note:7510
   We decided to keep redis for the rate limiter only; sessions move to postgre…
📝 Note      Daily › 2026-11-20  vault · note:1
   Standup: the redis upgrade waits for a certificate.
🔴 Fix       Refresh tokens under a lock, so that two tabs do not lose each oth…
   web · Mar 3 · observation:2  Two tabs raced for the redis lock.
✉️ Mail      Re: Redis outage on Monday: what we tell customers
   Ilse Aichinger · Mar 3, 2025 · email:3  Redis was down from 10 to 11.
✅ Commit    Drop support for Python 3.7  black · Mar 3 · observation:4
   The redis client needs 3.8.
📄 PDF       認証の更新と保管についての長い題名がここにあります
   文書 · Mar 3 · file:5  redis 認証の更新と保管。redis 認証の更新と保管。redis…
🌐 Web page  تخزين الجلسات في redis  example.org · Mar 3 · website:6
   نقلنا الجلسات من redis إلى قاعدة البيانات.
💬 Prompt    "move sessions out of redis now x"  web · Mar 3 · user_prompt:8
   reads like instructions
8 found"""

AT_60 = """\
📝 Note      Daily › Thursday  vault · 10:12 AM · note:7510
   We decided to keep redis for the rate limiter only; sess…
"""

AT_120 = """\
🔴 Fix       Refresh tokens under a lock, so that two tabs do not lose each other  web · Mar 3\
 · observation:2
   Two tabs raced for the redis lock.
"""


def test_a_page_at_80_columns() -> None:
    assert shown(80, *RECORDS) == AT_80


def test_the_same_page_is_narrower_or_wider() -> None:
    assert shown(60, *RECORDS).startswith(AT_60)
    assert AT_120 in shown(120, *RECORDS)
    for columns in (60, 80, 120):
        lines = shown(columns, *RECORDS).split("\n")
        assert len(lines) == 2 * len(RECORDS) + 1
        assert all(cell_len(line) <= columns for line in lines), columns


def test_ten_results_and_their_totals_fit_a_screen_of_24_lines_without_a_pager() -> None:
    ten = [replace(RECORDS[0], number=number) for number in range(10)]
    assert shown(80, *ten, total=30).count("\n") + 1 == 21


SIGNS = st.characters(codec="utf-8") | st.sampled_from(
    "\x1b\x9b\u202e\ufdd0\ufdd5\ufdd6👩‍💻é認\t\n"
)
TEXTS = st.text(SIGNS, max_size=200)


@given(title=TEXTS, text=TEXTS, place=TEXTS, columns=st.integers(60, 200))
def test_no_text_breaks_a_line_or_acts_on_the_terminal(
    title: str, text: str, place: str, columns: int
) -> None:
    stored = record(1, "note", title, text or "x", project=place.strip()[:100])
    body = listing(page(stored, words=("x",)), DISPLAY, Screen(columns))
    assert HINT not in body
    assert body.count(REF) == body.count(KIND) == 1
    lines = body.translate(_MARKS).split("\n")
    assert len(lines) <= 3
    assert all(cell_len(line) <= columns for line in lines)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ufdd0-\ufdd6]", "".join(lines))


@given(text=TEXTS, room=st.integers(1, 60))
def test_nothing_is_cut_inside_a_grapheme(text: str, room: int) -> None:
    whole = "👩‍💻" * 3 + "e\u0301" + text
    for part in (cut(whole, room), end_of(whole, room)):
        assert cell_len(part) <= max(room, 1)
    assert not cut("👩‍💻👩‍💻👩‍💻", 4).strip("…").replace("👩‍💻", "")


def test_words_of_the_question_are_marked_and_words_that_say_nothing_are_not() -> None:
    body = listing(page(RECORDS[0]), DISPLAY, Screen(120))
    assert re.findall(f"{WORD}([^{PLAIN}]*){PLAIN}", body) == ["redis"]
    assert f"{WORD}We{PLAIN}" not in body


@pytest.mark.parametrize(
    "title",
    ["Thursday", "index", "Untitled", "2026-11-20", "20.11.2026", "Nov 20", "Donnerstag", "Jueves",
     "README.md", "notes.txt", "IMG_2041", "Re:", "Untitled 3",
     "8463c716-a2ea-4c14-9efa-87158ebd9f20"],
)  # fmt: skip
def test_a_title_says_nothing_without_its_place(title: str) -> None:
    assert says_nothing(title)
    found = shown(80, record(1, "note", title, "text", project="garden"))
    assert found.split("  ")[1].startswith(f"garden › {title}"[:20]), found


@pytest.mark.parametrize(
    "title", ["Redis", "Auth outage", "Why we left redis", "May we?", "認証の更新"]
)
def test_a_title_that_says_something_stands_alone(title: str) -> None:
    assert not says_nothing(title)


def test_dates_are_of_the_locale_and_daily_notes_have_none() -> None:
    german = Screen(80, "de_DE")
    display = replace(DISPLAY, tz=ZoneInfo("Europe/Berlin"))
    said = listing(page(*RECORDS), display, german).translate(_MARKS)
    assert "vault · 11:12 · note:7510" in said
    assert "Ilse Aichinger · 3. März 2025 · email:3" in said
    assert "2026-11-20  vault · note:1" in said
    unknown = listing(page(*RECORDS), display, Screen(80, "xx_YY")).translate(_MARKS)
    assert "Mar 3, 2025" in unknown


BUMPS = [
    record(n, "observation", f"Bump lib{n} from 1.{n} to 1.{n + 1}", f"Files: f{n}", project="web",
           source="git", metadata={"commit": f"{n:040x}"})
    for n in range(10, 22)
]  # fmt: skip


def test_ten_bumps_of_a_dependency_are_one_line_and_other_results_take_their_places() -> None:
    body = shown(80, *BUMPS[:10], *RECORDS[:2], total=12)
    assert body.count("Bump") == 1
    assert "+9 like it" in body
    first = first_places(page(*BUMPS, *RECORDS), 3)
    assert [result.record.number for result in first.results] == [*range(10, 22), 7510, 1]
    opened_up = page(*BUMPS, request=SearchRequest("x", fold=False))
    assert listing(opened_up, DISPLAY, Screen(80)).count("Bump") == 12


def test_what_differs_does_not_fold() -> None:
    other = replace(BUMPS[0], project="api")
    assert alike(BUMPS[0]) == alike(BUMPS[1]) != alike(other)
    assert alike(record(1, "note", "Invoice 2026-01", "x")) is None
    assert alike(RECORDS[4]) is not None  # the very same again, not another version
    assert alike(RECORDS[4]) != alike(replace(RECORDS[4], project="ripgrep"))


def test_the_totals_are_one_sentence() -> None:
    some = page(*RECORDS[:6], total=253, folded=6, weaker=243)
    assert listing(some, DISPLAY, Screen(80)).translate(_MARKS).split("\n")[-1] == (
        "6 of 247 found; more: --offset 6; weaker matches: --all"
    )
    assert shown(80, RECORDS[0]).endswith("\n1 found")


def test_nothing_found_hints_beside_the_result() -> None:
    found, _, hint = listing(page(), DISPLAY, Screen(80)).partition(HINT)
    assert found.translate(_MARKS) == ('No results found matching "what did we decide about redis"')
    assert hint.startswith("Try: fewer words")


def test_what_must_be_known_first_stands_before_the_text() -> None:
    old = replace(RECORDS[0], superseded_by=Ref("note", 9))
    assert "   replaced by note:9  We decided" in shown(80, old)


def test_a_title_has_the_line_where_a_narrow_terminal_would_leave_it_a_few_words() -> None:
    old = replace(RECORDS[2], superseded_by=Ref("observation", 9))
    first, second, *_ = shown(60, old).split("\n")
    assert first == "🔴 Fix  Refresh tokens under a lock, so that two tabs do no…"
    assert second.startswith("   web · Mar 3 · observation:2  replaced by observation:9")


def test_words_of_the_question_at_the_end_of_a_title_that_is_cut_are_shown_below_it() -> None:
    title = "A rare word deep in a long record leads with the passage that has it; redis is kept"
    commit = replace(RECORDS[4], title=title, text="Files: docs/a.md")
    assert "redis is kept" in shown(80, commit).split("\n")[1]


def test_a_span_has_the_words_of_links_and_not_where_they_lead() -> None:
    text = (
        "![logo](a.png) See [the redis guide](https://example.org/guide_(2))"
        ' and [[notes/b|B]] [c](d "e").'
    )
    shown_text = shown(80, replace(RECORDS[0], text=text)).split("\n")[1].strip()
    assert shown_text == "logo See the redis guide and B c."


def test_kinds_are_called_as_people_say_them() -> None:
    assert [kind_of(each) for each in RECORDS] == [
        "Note", "Note", "Fix", "Mail", "Commit", "PDF", "Web page", "Prompt",
    ]  # fmt: skip


def test_an_opened_record_begins_with_its_text_and_has_details_where_they_are_wanted() -> None:
    said = opened(RECORDS[0], DISPLAY, Screen(60)).translate(_MARKS)
    assert said.split("\n")[:6] == [
        "📝 Daily › Thursday",
        "Note · vault/Daily · Nov 29, 2026, 10:12 AM · note:7510",
        "/home/ann/vault/Daily/Thursday.md",
        "",
        "We decided to keep redis for the **rate limiter** only;",
        "sessions move to postgres, because failover lost logins",
    ]
    assert "Source: jsonl" not in said
    whole = opened(RECORDS[0], DISPLAY, Screen(60, details=True)).translate(_MARKS)
    assert whole.startswith(said.partition("Details:")[0])
    assert "\nSource: jsonl\n" in whole


def test_a_mail_says_who_wrote_to_whom() -> None:
    said = opened(RECORDS[3], DISPLAY, Screen(80)).translate(_MARKS)
    assert "\nFrom: Ilse Aichinger <ilse@example.org>\n" in said


def test_a_table_for_pipes_has_a_line_a_result() -> None:
    rows = [line.split("\t") for line in table(page(*RECORDS), DISPLAY).splitlines()]
    assert [len(row) for row in rows] == [6] * len(RECORDS)
    assert rows[0][:5] == [
        "note:7510", "Note", "2026-11-29 10:12", "vault/Daily", "Daily › Thursday",
    ]  # fmt: skip
    assert "\x1b" not in "".join(map("".join, rows))


@pytest.mark.parametrize(
    ("header", "screen"),
    [
        ("80", Screen(80)),
        ("80; locale=de_DE; details", Screen(80, "de_DE", details=True)),
        ("1", Screen(40)),
        ("99999", Screen(240)),
        ("", None),
        ("wide", None),
        ("-5", None),
        ("²", None),
    ],
)
def test_a_header_tells_the_terminal(header: str, screen: Screen | None) -> None:
    assert Screen.read(header) == screen
