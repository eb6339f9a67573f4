"""Diversity as a pure function: rounds of results."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mem_search.model import Hit
from mem_search.search.stages.ordering import spread


def numbered(sessions: str) -> dict[int, int]:
    return {number: ".abc".index(name) for number, name in enumerate(sessions)}


def spread_out(sessions: str, per_session: int) -> str:
    """Hits in the sessions ``sessions``, a letter each; ``.`` is none."""
    hits = [Hit(number, 0.0) for number in range(len(sessions))]
    return "".join(sessions[hit.number] for hit in spread(hits, numbered(sessions), per_session))


def test_a_session_waits_until_others_have_had_their_turn() -> None:
    assert spread_out("aaaabbc", 2) == "aabbcaa"
    assert spread_out("aaab.b.", 1) == "ab..aba"


def test_within_the_bound_nothing_moves() -> None:
    assert spread_out("aaaabbc", 4) == "aaaabbc"


@given(st.text("abc.", max_size=30), st.integers(1, 5))
def test_the_order_within_a_session_stays_and_no_hit_is_lost(sessions: str, bound: int) -> None:
    hits = [Hit(number, 0.0) for number in range(len(sessions))]
    found = [hit.number for hit in spread(hits, numbered(sessions), bound)]
    assert sorted(found) == list(range(len(sessions)))
    for name in "abc.":
        of_session = [number for number in found if sessions[number] == name]
        assert of_session == sorted(of_session)
