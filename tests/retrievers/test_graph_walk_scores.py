"""The scores of records from a walk over edges."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_search.retrievers.graph import RESTART, random_walk

TIES = st.dictionaries(
    st.tuples(st.integers(0, 12), st.integers(0, 12)).filter(lambda pair: pair[0] < pair[1]),
    st.floats(0.01, 1.0),
)


def test_nearer_and_stronger_is_more() -> None:
    found = random_walk({(1, 2): 1.0, (2, 3): 1.0, (1, 4): 0.5, (3, 5): 1.0}, {1: 1.0})
    assert found[2] > found[4] > found[5]
    assert found[3] > found[5]


def test_a_record_with_two_paths_ranks_above_one_with_one() -> None:
    found = random_walk({(1, 2): 1.0, (1, 3): 1.0, (2, 4): 1.0, (3, 4): 1.0, (3, 5): 1.0}, {1: 1.0})
    assert found[4] > found[5]


def test_a_hub_passes_on_little_to_each_of_many() -> None:
    many = {(2, other): 1.0 for other in range(10, 60)}
    found = random_walk({(1, 2): 1.0, (1, 3): 1.0, (3, 4): 1.0, **many}, {1: 1.0})
    assert found[4] > 10 * found[10]


def test_seeds_pull_by_their_weight_and_one_without_ties_is_not_scored() -> None:
    found = random_walk({(1, 2): 1.0, (3, 4): 1.0}, {1: 3.0, 3: 1.0, 9: 1.0})
    assert found[2] == pytest.approx(3 * found[4])
    assert 9 not in found


def test_nothing_comes_of_nothing() -> None:
    assert random_walk({}, {1: 1.0}) == {}
    assert random_walk({(1, 2): 1.0}, {}) == {}


@given(TIES, st.dictionaries(st.integers(0, 12), st.floats(0.01, 10.0)))
def test_shares_are_shares(ties: dict[tuple[int, int], float], seeds: dict[int, float]) -> None:
    found = random_walk(ties, seeds)
    assert all(share >= 0 for share in found.values())
    assert sum(found.values()) <= 1 - RESTART + 1e-9
