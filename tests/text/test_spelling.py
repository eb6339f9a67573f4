"""Distances between spellings, and the chosen correction."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_search.text.spelling import distance, edits_allowed, nearest, other_beginnings
from mem_search.validation import nearest as nearest_name

WORDS = st.text("abcß漢", max_size=7)


def by_definition(one: str, other: str) -> int:
    """The recurrence as it stands in every textbook."""

    @cache
    def far(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        steps = [far(i - 1, j) + 1, far(i, j - 1) + 1]
        steps.append(far(i - 1, j - 1) + (one[i - 1] != other[j - 1]))
        if i > 1 and j > 1 and one[i - 1] == other[j - 2] and one[i - 2] == other[j - 1]:
            steps.append(far(i - 2, j - 2) + 1)
        return min(steps)

    return far(len(one), len(other))


@given(WORDS, WORDS, st.integers(0, 4))
def test_the_distance_is_that_of_the_definition_up_to_its_limit(
    one: str, other: str, most: int
) -> None:
    assert distance(one, other, most) == min(by_definition(one, other), most + 1)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("authentcation", "authentication"),
        ("authenitcation", "authentication"),
        ("authentikattion", "authentication"),
        ("mirgation", "migration"),
        ("tokn", "token"),
    ],
)
def test_a_misspelt_word_is_nearest_to_the_intended_word(typed: str, meant: str) -> None:
    known = [("authentication", 9), ("migration", 3), ("token", 5), ("mitigation", 2)]
    assert nearest(typed, known, 3)[0] == meant


def test_of_two_equally_near_words_the_frequent_one_is_first() -> None:
    assert nearest("cachr", [("cache", 2), ("cachs", 40)], 3) == ["cachs", "cache"]


def test_two_edits_are_worth_it_only_for_a_far_more_frequent_word() -> None:
    rare, frequent = ("redirekt", 1), ("redirect", 30)
    assert nearest("redirekkt", [rare, frequent], 1) == ["redirekt"]
    assert nearest("redirekkt", [rare, ("redirect", 300)], 1) == ["redirect"]


@pytest.mark.parametrize(("word", "edits"), [("ab", 0), ("abc", 1), ("abcde", 1), ("abcdef", 2)])
def test_short_words_stand_for_themselves(word: str, edits: int) -> None:
    assert edits_allowed(word) == edits
    assert nearest("ab", [("ac", 5)], 3) == []


@given(st.text("abcdef", min_size=2, max_size=6))
def test_other_beginnings_are_one_edit_away(word: str) -> None:
    assert all(distance(word, other, 2) == 1 for other in other_beginnings(word))


@pytest.mark.parametrize("word", ["colour", "color", "foo", "banana", "weather", "mood"])
def test_a_name_that_resembles_none_is_answered_with_all(word: str) -> None:
    names = ("source", "folder", "from", "after", "content")
    assert nearest_name(word, names) == f"choose one of {', '.join(names)}"


@pytest.mark.parametrize(
    ("word", "meant"),
    [("sourc", "source"), ("Foldre", "folder"), ("form", "from"), ("contnet", "content")],
)
def test_a_name_that_resembles_one_is_answered_with_it(word: str, meant: str) -> None:
    names = ("source", "folder", "from", "after", "content")
    assert nearest_name(word, names) == f"did you mean {meant}?"
