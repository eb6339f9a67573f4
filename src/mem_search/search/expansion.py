"""Expansion: from a neighbourhood of the graph to scores, as a pure function of numbers.

Personalised PageRank (Haveliwala, WWW 2002) over the undirected local graph: a walker starts at
the seeds, goes on along edges by their strength, and starts again with probability
``RESTART``. A record's score is the share of arrivals over edges: what the graph says of it,
without what a seed brought itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

RESTART: Final = 0.5
STEPS: Final = 12


def arrivals(
    ties: Mapping[tuple[int, int], float],
    seeds: Mapping[int, float],
    *,
    restart: float = RESTART,
    steps: int = STEPS,
) -> dict[int, float]:
    """Record → share of the walk that arrives there over an edge, for all that is tied.

    ``ties`` are undirected with a strength in (0, 1], ``seeds`` weights above 0. Shares sum
    to at most ``1 - restart``; a walker where no edge leads on starts again.
    """
    numbers = sorted({number for pair in ties for number in pair})
    weight = sum(seeds.values())
    if not numbers or weight <= 0:
        return {}
    at = {number: place for place, number in enumerate(numbers)}
    one = np.array([at[pair[0]] for pair in ties])
    other = np.array([at[pair[1]] for pair in ties])
    start, end = np.concatenate([one, other]), np.concatenate([other, one])
    strength = np.tile(np.fromiter(ties.values(), np.float64, len(ties)), 2)
    degree = np.bincount(start, strength, len(numbers))
    prior = np.array([seeds.get(number, 0.0) / weight for number in numbers])
    mass: NDArray[np.float64] = prior
    arrived: NDArray[np.float64] = np.zeros(len(numbers))
    for _ in range(steps):
        flow: NDArray[np.float64] = mass[start] * strength / degree[start]
        arrived = (1.0 - restart) * np.bincount(end, flow, len(numbers)).astype(np.float64)
        mass = arrived + restart * prior
    return dict(zip(numbers, arrived.tolist(), strict=True))
