"""Restarts: soon at first, then less often."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mem_search.storage.chroma.process import WAITS, Restarts


def test_waits_grow_with_each_failure_and_the_spent_budget_waits_for_the_window() -> None:
    restarts = Restarts(limit=5, window=300)
    waits = []
    for now in range(5):
        restarts.failed(now)
        waits.append(restarts.pause(now))
    assert waits == [*WAITS[1:5], 296.0]
    assert restarts.exhausted(4)


def test_failures_leave_the_window() -> None:
    restarts = Restarts(limit=2, window=10)
    restarts.failed(0)
    restarts.failed(5)
    assert restarts.exhausted(9.9)
    assert not restarts.exhausted(10)
    assert restarts.pause(20) == WAITS[0]


def test_failures_that_are_hardly_its_own_cost_less() -> None:
    restarts = Restarts()
    for now in range(20):
        restarts.failed(now, cost=0.2)
    assert not restarts.exhausted(20)


@given(st.lists(st.tuples(st.floats(0, 100), st.sampled_from([0.2, 1.0])), max_size=30))
def test_after_the_pause_another_start_is_allowed(failures: list[tuple[float, float]]) -> None:
    restarts = Restarts(limit=3, window=50)
    now = 0.0
    for gap, cost in failures:
        now += gap
        restarts.failed(now, cost)
    later = now + restarts.pause(now) + 1e-6
    assert not restarts.exhausted(later)
