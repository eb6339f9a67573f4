"""The token estimate never shrinks as text grows, and a cut always fits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_search.text import token_count
from mem_search.text.token_count import count, cut

TEXTS = st.text() | st.lists(
    st.sampled_from(
        [
            "word",
            "internationalisation",
            " ",
            "\n\n",
            "12345",
            "漢字",
            "привет",
            "!?",
            "_",
            "🎉",
            "…",
        ]
    ),
    max_size=30,
).map("".join)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        (" ", 0),
        ("word", 1),
        ("two words", 2),
        ("authentication", 4),
        ("naïve", 1),
        ("2025", 2),
        ("漢字かな한글", 6),
        ("привет", 3),
        ("a, b", 3),
        ("snake_case", 3),
        ("one\n\ntwo", 3),
        ("=" * 80, 40),
        (" " * 160, 11),
        ("🎉", 1),
    ],
)
def test_a_text_costs_what_the_rule_says(text: str, tokens: int) -> None:
    assert count(text) == tokens


@given(
    TEXTS
    | st.text(st.characters(min_codepoint=0x10000))
    | st.text("abcé 　\n\t12_.,—漢かабв🙂\u0301\u00a0", max_size=80)
)
def test_the_estimate_is_the_sum_of_what_each_run_costs(text: str) -> None:
    runs = [(kind, end - start) for kind, start, end in token_count._runs(text)]
    assert count(text) == sum(token_count._cost(kind, length) for kind, length in runs)


def test_prose_and_code_cost_about_a_token_for_every_three_or_four_letters() -> None:
    prose = "The worker keeps one writer and a small pool of readers, and nothing else. " * 20
    code = "def count(text: str) -> int:\n    return sum(cost(run) for run in runs(text))\n" * 20
    assert 3 <= len(prose) / count(prose) <= 4.8
    assert 2 <= len(code) / count(code) <= 4


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("one two three", 3, "one two three"),
        ("one two three", 2, "one…"),
        ("one two three", 1, "…"),
        ("one two three", 0, ""),
        ("one two three", -1, ""),
        ("one  \n two three", 3, "one…"),
        ("one/two three", 2, "one…"),
        ("internationalisation", 3, "internat…"),
        ("我们决定使用数据库", 5, "我们决定…"),
        ("see 我们决定使用数据库", 5, "see 我们决…"),
    ],
)
def test_a_cut_ends_at_a_word_and_shows_that_it_is_one(
    text: str, limit: int, expected: str
) -> None:
    assert cut(text, limit) == expected


@given(TEXTS, TEXTS)
def test_more_text_never_counts_less(one: str, two: str) -> None:
    assert count(one) <= count(one + two)
    assert count(two) <= count(one + two)


@given(TEXTS)
def test_no_text_costs_more_than_a_token_a_letter(text: str) -> None:
    assert 0 <= count(text) <= len(text)


@given(TEXTS, st.integers(-2, 60))
def test_a_cut_fits_and_is_the_beginning_of_the_text(text: str, limit: int) -> None:
    short = cut(text, limit)
    assert count(short) <= max(limit, 0)
    if short != text and limit > 0:
        assert short.endswith("…")
        assert text.startswith(short[:-1])


@given(TEXTS, st.integers(0, 60), st.integers(0, 60))
def test_a_larger_limit_never_leaves_less(text: str, one: int, two: int) -> None:
    small, large = sorted((one, two))
    assert len(cut(text, small).removesuffix("…")) <= len(cut(text, large))


@given(TEXTS)
def test_a_limit_of_the_whole_count_cuts_nothing(text: str) -> None:
    if text:
        assert cut(text, max(1, count(text))) == text
