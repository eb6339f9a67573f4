"""How much somebody may ask: a sliding window over what they asked, exact.

A window remembers the moment of each request that it let through, as many as its quota at most:
in no hour, whenever it begins, are there more than the quota. Kept in memory: a worker that is
started anew has forgotten.
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
"""Windows kept; the one that was used longest ago goes first."""


@dataclass(frozen=True, slots=True)
class Policy:
    """At most ``quota`` requests in any ``seconds``; 0 is no limit. ``name`` is for headers."""

    name: str
    quota: int
    seconds: int = HOUR


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a policy has left: ``remaining`` requests within the next ``reset`` seconds."""

    policy: Policy
    granted: bool
    remaining: int
    reset: int


class Window:
    """The requests that still count. Times are milliseconds of a clock that never goes back."""

    def __init__(self) -> None:
        self._taken: deque[int] = deque()

    def take(self, policy: Policy, now: int) -> Allowance:
        """Let one more through if the policy has room for it."""
        taken, lasting = self._taken, 1000 * policy.seconds
        while taken and taken[0] <= now - lasting:
            taken.popleft()
        granted = len(taken) < policy.quota
        if granted:
            taken.append(now)
        # Until then nothing comes back: the oldest that counts leaves the window. With a quota
        # that was lowered, it takes more than one of them to make room.
        leaving = taken[max(0, len(taken) - policy.quota)] if taken else now
        return Allowance(
            policy,
            granted,
            remaining=max(0, policy.quota - len(taken)),
            reset=-(-(leaving + lasting - now) // 1000),
        )


class Meters:
    """The windows of everybody, by user and policy. ``clock`` is in milliseconds."""

    def __init__(self, clock: Callable[[], int] = lambda: time.monotonic_ns() // 1_000_000) -> None:
        self._clock = clock
        self._windows: OrderedDict[tuple[str, str], Window] = OrderedDict()

    def count(self, user: str, policy: Policy) -> Allowance | None:
        """Count one request of ``user``, if there is room; None where there is no limit."""
        if not policy.quota:
            return None
        key = (user, policy.name)
        window = self._windows.setdefault(key, Window())
        self._windows.move_to_end(key)
        if len(self._windows) > MOST_WINDOWS:
            self._windows.popitem(last=False)
        return window.take(policy, self._clock())


def refused(allowance: Allowance) -> LimitReached:
    """What somebody is told who asked too much."""
    policy = allowance.policy
    return LimitReached(
        f"the limit of {policy.quota} requests an hour is reached ({policy.name});"
        f" ask again in {allowance.reset} s",
        policies=(policy.name,),
        retry_after=allowance.reset,
    )
