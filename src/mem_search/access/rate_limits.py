"""Rate limits: an exact sliding window over the requests of each user.

A window stores the time of each request that it granted, at most as many as the quota. So no
period of an hour, whenever it begins, has more than the quota. Windows are in memory only and
start empty with the worker.
"""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from mem_search.errors import LimitReached

HOUR: Final = 3600
MOST_WINDOWS: Final = 10_000
"""Windows in memory; the least recently used one is dropped first."""


@dataclass(frozen=True, slots=True)
class Policy:
    """At most ``quota`` requests in any ``seconds``; 0 means no limit. Headers show ``name``."""

    name: str
    quota: int
    seconds: int = HOUR


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a policy has left: ``remaining`` requests within the next ``reset`` seconds.

    ``count`` is the number of requests that were counted at once.
    """

    policy: Policy
    granted: bool
    remaining: int
    reset: int
    count: int = 1


class Window:
    """The requests that still count. Times are milliseconds of a monotonic clock."""

    def __init__(self) -> None:
        self._taken: deque[int] = deque()

    def take(self, policy: Policy, now: int, count: int = 1) -> Allowance:
        """Grant ``count`` more requests if the policy has room for all of them."""
        taken, lasting = self._taken, 1000 * policy.seconds
        while taken and taken[0] <= now - lasting:
            taken.popleft()
        missing = len(taken) + count - policy.quota
        granted = missing <= 0
        if granted:
            taken.extend([now] * count)
        # ``reset`` is when enough room is free again. For several requests at once, and after the
        # quota was lowered, more than one request has to leave the window first.
        leaving = taken[min(max(1, missing), len(taken)) - 1] if taken else now
        return Allowance(
            policy,
            granted,
            remaining=max(0, policy.quota - len(taken)),
            reset=-(-(leaving + lasting - now) // 1000),
            count=count,
        )


class RateLimiters:
    """The windows of all callers, by ``Caller.budget`` and policy.

    ``clock`` returns milliseconds.
    """

    def __init__(self, clock: Callable[[], int] = lambda: time.monotonic_ns() // 1_000_000) -> None:
        self._clock = clock
        self._windows: OrderedDict[tuple[str, str], Window] = OrderedDict()

    def count(self, budget: str, policy: Policy, count: int = 1) -> Allowance | None:
        """Count requests of ``budget`` if there is room. Returns None without a limit."""
        if not policy.quota:
            return None
        key = (budget, policy.name)
        window = self._windows.setdefault(key, Window())
        self._windows.move_to_end(key)
        if len(self._windows) > MOST_WINDOWS:
            self._windows.popitem(last=False)
        return window.take(policy, self._clock(), count)


def limit_error(allowance: Allowance) -> LimitReached:
    """The error for an allowance that was not granted."""
    policy, count, wait = allowance.policy, allowance.count, f"ask again in {allowance.reset} s"
    if count == 1:
        what = f"the limit of {policy.quota} requests an hour is reached ({policy.name}); {wait}"
    elif count > policy.quota:
        what = (
            f"this is {count} requests, and the limit is {policy.quota} an hour ({policy.name});"
            " ask for them one by one"
        )
    else:
        what = (
            f"this is {count} requests, and {allowance.remaining} are left of {policy.quota}"
            f" an hour ({policy.name}); {wait}, or for them one by one"
        )
    return LimitReached(what, policies=(policy.name,), retry_after=allowance.reset)
