"""Times in questions: clear phrases are taken out, words that may mean something else stay."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_search.records.registry import installed_kinds
from mem_search.text.dates import parse_range
from mem_search.text.query import parse as query
from mem_search.text.question_times import MAX_TIMES, Times, find_times

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2025, 11, 17, 15, 30, tzinfo=BERLIN)  # a Monday


def found_in(question: str) -> Times | None:
    return find_times(question, NOW, BERLIN)


@pytest.mark.parametrize(
    ("question", "phrase", "rest"),
    [
        (
            "what did we decide about auth last October?",
            "last October",
            "what did we decide about auth?",
        ),
        ("commits since Tuesday about chroma", "since Tuesday", "commits about chroma"),
        ("In 2024, what broke?", "In 2024", "what broke?"),
        ("auth 3 days ago", "3 days ago", "auth"),
        ("yesterday's build broke", "yesterday's", "build broke"),
        ("notes over the past week on sqlite", "over the past week", "notes on sqlite"),
        ("in the last 3 days, chroma", "in the last 3 days", "chroma"),
        ("emails from Tuesday about rent", "from Tuesday", "emails about rent"),
        ("what broke on may 3, 2024?", "on may 3, 2024", "what broke?"),
        ("between March and May 2024 auth", "between March and May 2024", "auth"),
        ("(since last week) auth", "since last week", "() auth"),
        ("October 2025 release", "October 2025", "release"),
        ("tests passed by July 10, 2025", "by July 10, 2025", "tests passed"),
        ("shared on December 1,2024 in chat", "on December 1,2024", "shared in chat"),
        ("open bugs as of May 2025", "as of May 2025", "open bugs"),
        ("the week before March, and in 2024", "in 2024", "the week before March, and"),
        ('find "since Tuesday" yesterday', "yesterday", 'find "since Tuesday"'),
        ("on 31 February, or bugs since Friday", "since Friday", "on 31 February, or bugs"),
        ("release over the weekend", "over the weekend", "release"),
        ("rent mails from October", "from October", "rent mails"),
        ("release in the week of Nov 3", "in the week of Nov 3", "release"),
    ],
)
def test_a_clear_phrase_is_taken_out_of_the_question(question: str, phrase: str, rest: str) -> None:
    found = found_in(question)
    assert found is not None
    assert ([each.phrase for each in found.dates], found.rest) == ([phrase], rest)
    assert found.dates[0].range == parse_range(phrase.removesuffix("'s"), now=NOW, tz=BERLIN)
    assert found.dates[0].use == "lift"
    assert not found.alone


@pytest.mark.parametrize(
    "question",
    [
        "may we march on?",
        "it may fail in may",
        "the last may fail",
        "did march 3 fail",
        "emails from May about rent",
        "emails from April about rent",
        "from march to progress",
        "last minute change",
        "where was it the week before 16 November 2023?",
        "tuesday",
        "october",
        "2024",
        "memory in 2000 files",
        "after 2048 tokens",
        "between 2000 and 2048 tokens",
        "MCP 2025-06-18 support",
        "log-2025-06-18.txt",
        "release in 2024.1",
        "today-only switch in today.py",
        'what changed "last week" here',
        'what changed "last week',
        "run `git log since yesterday`",
        "3 days agony",
        "the last commit before the merge",
        "the last_seen column",
        "the label 'last week' is cut",
        "Friday the 13th on Friday the 13th",
        "today's special",
        "the film Last Night in Soho",
        "keep the last 30 days of logs",
        "entries older than 3 days ago",
        "the year 2038 problem in 2038",
        "what may we do",
        "what is Friday",
        "show 404",
        "show 1950",
        "what did we do now",
        "",
    ],
)
def test_a_word_that_may_mean_something_else_stays_in_the_question(question: str) -> None:
    assert found_in(question) is None


@pytest.mark.parametrize(
    ("question", "phrases"),
    [
        ("what did we do yesterday and today?", ["yesterday", "today"]),
        ("what changed since 2025-06-18", ["since 2025-06-18"]),
        ("in 2024", ["in 2024"]),
        ("show me Tuesday", ["Tuesday"]),
        ("what happened next week", ["next week"]),
    ],
)
def test_a_question_of_times_and_empty_words_asks_for_these_times(
    question: str, phrases: list[str]
) -> None:
    found = found_in(question)
    assert found is not None
    assert found.alone
    assert [(each.phrase, each.use) for each in found.dates] == [
        (phrase, "filter") for phrase in phrases
    ]


def reading(text: str, *, times: bool = True) -> query.Reading:
    return query.read(text, now=NOW, kinds=installed_kinds(), times=times)


def test_the_words_of_a_time_do_not_rank() -> None:
    found = reading("login bug last week")
    assert found.text == found.analyzed.text == "login bug"
    assert found.words.words == ("login", "bug")
    assert found.demand is None


def test_a_time_alone_is_a_filter_that_the_query_language_can_write() -> None:
    found = reading("what did we do last week?")
    assert (found.text, found.words.all) == ("", ())
    assert found.analyzed.demanded == 'in:"last week"'
    again = reading(found.analyzed.demanded)
    assert again.demand == found.demand


def test_a_time_narrows_beside_a_field() -> None:
    found = reading("project:web what did we do yesterday and today?")
    assert found.text == ""
    assert found.analyzed.demanded == "project:web AND (in:yesterday OR in:today)"


@pytest.mark.parametrize("text", ["+yesterday +login", "yesterday AND login", '"yesterday" -login'])
def test_the_words_of_an_expression_are_no_times(text: str) -> None:
    assert reading(text).analyzed.dates == ()


def test_a_pasted_text_names_no_time() -> None:
    assert reading("the build broke\nyesterday").analyzed.dates == ()


def test_a_text_that_selects_records_loses_no_word() -> None:
    found = reading("login last week", times=False)
    assert found.words.words == ("login", "last", "week")
    assert found.analyzed.dates == ()


WORDS = st.sampled_from(
    "since before after between and to from until in on the last next this past ago a two 3 12 "
    "2024 2025-10-03 2025-10 Oct may March Tuesday mon week weekend of days day d month years "
    "today yesterday what did we do show now 3d 29 feb T10:00 Z - .. , ? \" ` 's 99999".split()
)
TEXTS = st.text() | st.lists(WORDS, max_size=9).map(" ".join)
ZONES = st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Pacific/Apia"]).map(ZoneInfo)
NOWS = st.datetimes(datetime(1980, 1, 1), datetime(2090, 1, 1))  # noqa: DTZ001 - wall times


@given(TEXTS, NOWS, ZONES)
def test_any_question_keeps_every_word_but_the_phrases(
    text: str, now: datetime, zone: ZoneInfo
) -> None:
    found = find_times(text, now.replace(tzinfo=zone), zone)
    if found is None:
        return
    assert 1 <= len(found.dates) <= MAX_TIMES
    for each in found.dates:
        assert each.range
        assert each.phrase in text
    assert len(found.rest) < len(text)


@given(TEXTS, NOWS, ZONES)
def test_any_text_can_be_read_with_times(text: str, now: datetime, zone: ZoneInfo) -> None:
    query.read(text, now=now.replace(tzinfo=zone), kinds=installed_kinds(), times=True)
