"""How soon, and how often, a child that keeps failing is started again. Pure: it keeps no clock."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

WAITS: Final = (0.2, 1.0, 3.0, 10.0, 30.0)
"""Seconds before the next start, by what the recent failures cost together."""


class Restarts:
    """A budget of ``limit`` failures in ``window`` seconds, and growing waits within it.

    A failure costs 1, or less when the child is hardly to blame.
    """

    def __init__(
        self, limit: float = 5.0, window: float = 300.0, waits: Sequence[float] = WAITS
    ) -> None:
        self.limit = limit
        self.window = window
        self._waits = waits
        self._failures: deque[tuple[float, float]] = deque()

    def failed(self, now: float, cost: float = 1.0) -> None:
        self._failures.append((now, cost))

    def exhausted(self, now: float) -> bool:
        return self._spent(now) >= self.limit

    def pause(self, now: float) -> float:
        """Seconds to wait before the next start; the rest of the window when it is spent."""
        spent = self._spent(now)
        if spent < self.limit:
            return self._waits[min(int(spent), len(self._waits) - 1)]
        costs = [cost for _, cost in self._failures]
        gone = next(n for n in range(1, len(costs) + 1) if sum(costs[n:]) < self.limit)
        return self._failures[gone - 1][0] + self.window - now

    def _spent(self, now: float) -> float:
        while self._failures and now - self._failures[0][0] >= self.window:
            self._failures.popleft()
        return sum(cost for _, cost in self._failures)
