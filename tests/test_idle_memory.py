"""Memory is given back once after work, and neither during it nor again while nothing happens."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mem_search.background import give_back, give_back_when_idle


class Ended(Exception):
    """The worker has lived long enough."""


def clock_of(*seconds: float) -> Callable[[], float]:
    left = iter(seconds)

    def clock() -> float:
        for each in left:
            return each
        raise Ended

    return clock


async def given_at(*seconds: float) -> int:
    """How often memory was given back by a worker that had spent so much at each look."""
    given: list[int] = []

    async def give() -> None:
        given.append(1)

    with pytest.raises(Ended):
        await give_back_when_idle(give, clock_of(*seconds), pause=0)
    return len(given)


async def test_memory_is_given_back_once_after_work() -> None:
    assert await given_at(0.0, 1.0, 1.01, 1.01, 1.02, 1.03) == 1


async def test_it_is_given_back_after_the_next_work_again() -> None:
    assert await given_at(0.0, 1.0, 1.01, 1.01, 2.0, 2.01, 2.01) == 2


async def test_it_is_not_given_back_during_work() -> None:
    assert await given_at(0.0, 1.0, 2.0, 3.0) == 0


async def test_it_is_not_given_back_where_nothing_was_done() -> None:
    assert await given_at(0.0, 0.01, 0.02, 0.03) == 0


async def test_giving_back_does_no_harm() -> None:
    kept = [bytes(100_000) for _ in range(20)]

    await give_back()

    assert all(len(each) == 100_000 for each in kept)
