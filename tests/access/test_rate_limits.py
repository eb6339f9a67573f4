"""Rate limits at any time of the clock."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_search.access import callers
from mem_search.access.callers import RateLimits, limit_error
from mem_search.model.access import HOUR, Allowance, Policy
from mem_search.storage.sql.access import Window

PAUSES = st.lists(
    st.one_of(st.integers(0, 5000), st.integers(0, 200_000), st.sampled_from([0, 60_000])),
    max_size=120,
)
STEPS = st.lists(st.tuples(st.integers(0, 90_000), st.integers(1, 9)), max_size=60)
"""(pause, how many are asked for at once)"""


class Clock:
    """Moves when it is told to."""

    def __init__(self) -> None:
        self.now = 1_000_000

    def __call__(self) -> int:
        return self.now


@given(PAUSES, st.integers(1, 8), st.integers(1, 60))
def test_no_stretch_of_time_has_more_than_the_quota(
    pauses: list[int], quota: int, seconds: int
) -> None:
    policy, window, now = Policy("p", quota, seconds), Window(), 0
    granted: list[int] = []
    for pause in pauses:
        now += pause
        if window.take(policy, now).granted:
            granted.append(now)
    for start in granted:
        assert sum(start <= at < start + 1000 * seconds for at in granted) <= quota


@given(PAUSES, st.integers(1, 8), st.integers(1, 60))
def test_requests_within_the_quota_are_granted(pauses: list[int], quota: int, seconds: int) -> None:
    policy, window, now = Policy("p", quota, seconds), Window(), 0
    granted: list[int] = []
    for pause in pauses:
        now += pause
        counting = [at for at in granted if at > now - 1000 * seconds]
        allowance = window.take(policy, now)
        assert allowance.granted == (len(counting) < quota)
        if allowance.granted:
            granted.append(now)
            counting.append(now)
        assert allowance.remaining == quota - len(counting)


@given(PAUSES, st.integers(1, 8), st.integers(1, 60))
def test_a_request_after_the_stated_wait_is_granted_and_the_wait_is_exact(
    pauses: list[int], quota: int, seconds: int
) -> None:
    policy, window, now = Policy("p", quota, seconds), Window(), 0
    for pause in pauses:
        now += pause
        allowance = window.take(policy, now)
        assert 1 <= allowance.reset <= seconds
        if not allowance.granted:
            # Told in whole seconds: not one of them too many.
            assert not window.take(policy, max(now, now + 1000 * (allowance.reset - 1))).granted
            now += 1000 * allowance.reset
            assert window.take(policy, now).granted


@given(STEPS, st.integers(1, 8), st.integers(1, 60))
def test_several_at_once_are_let_through_together_or_not_at_all(
    steps: list[tuple[int, int]], quota: int, seconds: int
) -> None:
    policy, window, now = Policy("p", quota, seconds), Window(), 0
    granted: list[int] = []
    for pause, count in steps:
        now += pause
        counting = [at for at in granted if at > now - 1000 * seconds]
        allowance = window.take(policy, now, count)
        assert allowance.granted == (len(counting) + count <= quota)
        if allowance.granted:
            granted += [now] * count
        elif count <= quota:
            assert not window.take(policy, now + 1000 * (allowance.reset - 1), count).granted
            now += 1000 * allowance.reset
            assert window.take(policy, now, count).granted
            granted += [now] * count
        assert 1 <= allowance.reset <= seconds


@given(st.integers(1, 20), st.integers(1, 20))
def test_a_lowered_quota_counts_earlier_requests(high: int, low: int) -> None:
    window = Window()
    for moment in range(high):
        assert window.take(Policy("p", high, 60), 1000 * moment).granted
    allowance = window.take(Policy("p", low, 60), 1000 * high)
    assert allowance.granted == (high < low)
    if not allowance.granted:
        # Room is when no more than low - 1 of them are left.
        assert allowance.reset == (high - low) + 60 - high


class Store:
    """Decides by windows, and counts how often it is asked."""

    def __init__(self, clock: Clock) -> None:
        self.asked = 0
        self._clock = clock
        self._windows: defaultdict[tuple[str, str], Window] = defaultdict(Window)

    async def take(
        self, budget: str, policy: Policy, count: int = 1, *, now: int | None = None
    ) -> Allowance:
        self.asked += 1
        now = self._clock() if now is None else now
        return self._windows[budget, policy.name].take(policy, now, count)

    async def expire(self, before: int) -> None:
        raise AssertionError(before)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock: Clock) -> Store:
    return Store(clock)


@pytest.fixture
def limits(store: Store, clock: Clock) -> RateLimits:
    return RateLimits(store, lambda: clock() / 1000)


async def test_each_is_counted_alone_and_by_policy(limits: RateLimits, clock: Clock) -> None:
    once = Policy("search", 1)
    other = Policy("research", 1)
    said = [
        await limits.count(user, policy)
        for user, policy in (("ada", once), ("bob", once), ("ada", other), ("ada", once))
    ]
    assert [allowance.granted for allowance in said if allowance] == [True, True, True, False]
    clock.now += 1000 * HOUR
    again = await limits.count("ada", once)
    assert again is not None
    assert again.granted


async def test_without_a_quota_nothing_is_counted(limits: RateLimits, store: Store) -> None:
    assert await limits.count("ada", Policy("search", 0)) is None
    assert store.asked == 0


@given(STEPS, st.integers(1, 8), st.integers(2, 60))
async def test_a_flood_is_refused_without_the_store_and_as_the_store_would(
    steps: list[tuple[int, int]], quota: int, seconds: int
) -> None:
    clock, policy, alike = Clock(), Policy("p", quota, seconds), Window()
    store = Store(clock)
    limits = RateLimits(store, lambda: clock() / 1000)
    for pause, count in steps:
        clock.now += pause
        said, expected = (
            await limits.count("ada", policy, count),
            alike.take(policy, clock(), count),
        )
        assert said is not None
        assert said.granted == expected.granted
        if said.granted:
            assert said == expected
            continue
        asked = store.asked
        repeated = [await limits.count("ada", policy, count) for _ in range(5)]
        assert not any(each.granted for each in repeated if each)
        assert store.asked == asked or said.reset <= 1
        assert all(each.reset >= 1 for each in repeated if each)


async def test_refusals_are_not_remembered_without_end(limits: RateLimits) -> None:
    policy = Policy("search", 1)
    for number in range(callers.MAX_REFUSED + 1):
        for _ in range(2):
            await limits.count(f"user{number}", policy)
    assert len(limits._refused) == callers.MAX_REFUSED


def test_the_error_names_the_limit_and_the_wait() -> None:
    window, policy = Window(), Policy("search", 1)
    window.take(policy, 0)
    error = limit_error(window.take(policy, 600_000))
    assert (error.status, error.policies, error.retry_after) == (429, ("search",), 3000)
    assert "3000 s" in error.message


def test_more_requests_at_once_than_the_quota_are_refused_with_advice() -> None:
    error = limit_error(Window().take(Policy("research", 3), 0, 4))
    assert "this is 4 requests, and the limit is 3 an hour (research)" in error.message
