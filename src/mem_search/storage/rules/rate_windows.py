"""An exact sliding window over the requests of one caller.

It holds the time of each request that it granted, at most as many as the quota. So no period of an
hour, whenever it begins, has more than the quota.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from mem_search.model.access import Allowance, Policy
from mem_search.storage.rules.future_times import SKEW_MS


class Window:
    """The requests that still count. Times are milliseconds."""

    def __init__(self, taken: Iterable[int] = ()) -> None:
        self._taken = deque(sorted(taken))

    def take(self, policy: Policy, now: int, count: int = 1) -> Allowance:
        """Grant ``count`` more requests if the policy has room for all of them."""
        taken, lasting = self._taken, 1000 * policy.seconds
        while taken and taken[0] <= now - lasting:
            taken.popleft()
        while taken and taken[-1] > now + SKEW_MS:  # of a clock that was ahead
            taken.pop()
        if taken and taken[-1] > now:  # the clock was set back a little
            taken = self._taken = deque(min(at, now) for at in taken)
        missing = len(taken) + count - policy.quota
        granted = missing <= 0
        if granted:
            taken.extend([now] * count)
        # Room for several requests at once, or after the quota was lowered, is there when more
        # than one request has left the window.
        leaving = taken[min(max(1, missing), len(taken)) - 1] if taken else now
        return allowance(policy, granted, len(taken), leaving, now, count)


def allowance(
    policy: Policy, granted: bool, taken: int, leaving: int, now: int, count: int
) -> Allowance:
    """What is left when ``taken`` requests count, and enough room is free after ``leaving``."""
    return Allowance(
        policy,
        granted,
        remaining=max(0, policy.quota - taken),
        reset=-(-(leaving + 1000 * policy.seconds - now) // 1000),
        count=count,
    )
