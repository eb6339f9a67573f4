"""Rate limits: an exact sliding window over the requests of each caller, kept in the store.

The workers of one store count together, and a worker that starts again goes on counting.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from mem_search.errors import LimitReached
from mem_search.model.access import Allowance, Policy
from mem_search.storage.sql.access import Limits

MAX_REFUSED: Final = 10_000
"""Refusals that are remembered; the oldest is forgotten first."""


class RateLimits:
    """The limits of all callers, by ``Caller.budget`` and policy. ``clock`` returns seconds.

    A refusal stays right until room is free, so it is remembered: a flood of requests beyond a
    limit costs the store nothing.
    """

    def __init__(self, store: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._refused: OrderedDict[tuple[str, str], tuple[float, Allowance]] = OrderedDict()

    async def count(self, budget: str, policy: Policy, count: int = 1) -> Allowance | None:
        """Count requests of ``budget`` if there is room. Returns None without a limit.

        Raises StorageError.
        """
        if not policy.quota:
            return None
        key, now = (budget, policy.name), self._clock()
        until, refusal = self._refused.get(key, (now, None))
        if refusal is not None and count >= refusal.count and until > now:
            return replace(refusal, reset=int(until - now) + 1, count=count)
        allowance = await self._store.take(budget, policy, count)
        if allowance.granted:
            self._refused.pop(key, None)
        else:
            # Told in whole seconds, rounded up: within the last one the store is asked.
            self._refused[key] = (now + allowance.reset - 1, allowance)
            self._refused.move_to_end(key)
            if len(self._refused) > MAX_REFUSED:
                self._refused.popitem(last=False)
        return allowance


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
