"""Supersession as a pure function: which record comes above which."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mem_search.model import Hit
from mem_search.search.stages.ordering import SUPERSESSION, lift


def hits(*numbers: int) -> list[Hit]:
    return [Hit(number, 10.0 - place) for place, number in enumerate(numbers)]


def order(lifted: list[Hit]) -> list[int]:
    return [hit.number for hit in lifted]


def test_a_successor_is_brought_up_to_directly_above_and_says_what_it_gained() -> None:
    lifted = lift(hits(1, 2, 3, 4), {2: (4,)})
    assert order(lifted) == [1, 4, 2, 3]
    assert lifted[1] == Hit(4, 9.0, {SUPERSESSION: 2.0})


def test_the_newest_of_a_chain_comes_first() -> None:
    assert order(lift(hits(5, 1, 2, 3), {1: (2, 3), 2: (3,)})) == [5, 3, 2, 1]
    assert order(lift(hits(1, 9, 3), {1: (2, 3)})) == [3, 1, 9]


def test_a_successor_that_is_above_already_stays_there() -> None:
    assert lift(hits(3, 2, 1), {1: (2, 3), 2: (3,)}) == hits(3, 2, 1)


def test_a_successor_that_is_no_hit_does_not_come_in() -> None:
    assert lift(hits(1, 2), {1: (7,)}) == hits(1, 2)


def test_a_circle_is_harmless() -> None:
    assert sorted(order(lift(hits(1, 2, 3), {1: (2, 3), 2: (3, 1), 3: (1, 2)}))) == [1, 2, 3]


@given(st.permutations(list(range(12))), st.lists(st.integers(0, 11), unique=True))
def test_successors_come_first_and_no_hit_is_lost(ranking: list[int], newer: list[int]) -> None:
    """``newer`` is a chain: each supersedes the one before it."""
    successors = {
        old: tuple(newer[place + 1 :]) for place, old in enumerate(newer) if newer[place + 1 :]
    }
    lifted = lift(hits(*ranking), successors)
    found = order(lifted)
    assert sorted(found) == sorted(ranking)
    assert [number for number in found if number in newer] == newer[::-1]
    assert [n for n in found if n not in newer] == [n for n in ranking if n not in newer]
    scores = [hit.score for hit in lifted]
    assert scores == sorted(scores, reverse=True)
