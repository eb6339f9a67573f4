"""Where the nodes of a picture stand: a force-directed placement that is the same every time.

Nodes repel each other and edges draw their ends together while the steps get smaller (Fruchterman
and Reingold, "Graph drawing by force-directed placement", 1991). Parts that no edge connects are
placed apart and then packed in rows, the largest first, so that none drifts away.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

Positions = NDArray[np.float32]
"""A row (x, y) for each node, in pixels around the middle."""

APART: Final = 46.0
"""Pixels between the middles of two nodes, at least about."""

_STEPS: Final = 150
_SEPARATIONS: Final = 60
_BETWEEN: Final = 2 * APART
"""Pixels between two parts: titles need some room."""
_SHAPE: Final = 1.6
"""Width of a picture divided by its height, about that of a screen."""


def placed(count: int, edges: Sequence[tuple[int, int]]) -> Positions:
    """Positions of ``count`` nodes, of which ``edges`` name two each.

    Time grows with the square of the largest connected part.
    """
    near: dict[int, list[int]] = defaultdict(list)
    for one, other in edges:
        near[one].append(other)
        near[other].append(one)
    parts = []
    for nodes in _connected(count, near):
        row = {node: number for number, node in enumerate(nodes)}
        inner = [(row[node], row[other]) for node in nodes for other in near[node] if node < other]
        parts.append((nodes, _forced(len(nodes), np.array(inner, np.int64).reshape(-1, 2))))
    return _packed(count, parts)


def _connected(count: int, near: Mapping[int, Sequence[int]]) -> Iterator[list[int]]:
    """The connected parts, the nodes of each breadth first."""
    seen: set[int] = set()
    for root in range(count):
        nodes, waiting = [], deque([root])
        while waiting:
            node = waiting.popleft()
            if node not in seen:
                seen.add(node)
                nodes.append(node)
                waiting.extend(near[node])
        if nodes:
            yield nodes


def _forced(count: int, ends: NDArray[np.int64]) -> Positions:
    """Positions of the nodes of one part; those that are near in it begin near each other."""
    turn = np.arange(count) * (np.pi * (3 - np.sqrt(5)))  # a spiral without gaps (Vogel, 1979)
    spiral = np.sqrt(np.arange(count) + 0.5)[:, None] * np.stack([np.cos(turn), np.sin(turn)], 1)
    at: Positions = spiral.astype(np.float32)
    if count == 1:
        return at
    start, end = ends[:, 0], ends[:, 1]
    for step in np.linspace(0.1 * np.sqrt(count), 0.01, _STEPS, dtype=np.float32):
        away = _squares(at)
        np.reciprocal(away, out=away)
        along = at[start] - at[end]
        along *= np.sqrt(np.einsum("ij,ij->i", along, along))[:, None]
        force = _from_others(at, away)
        np.subtract.at(force, start, along)
        np.add.at(force, end, along)
        length = np.maximum(np.sqrt(np.einsum("ij,ij->i", force, force)), 1e-9)
        at += force * (np.minimum(length, step) / length)[:, None]
    return _separated(at * np.float32(APART))


def _squares(at: Positions) -> Positions:
    """The squared distance of each two nodes; a node is as far from itself as can be."""
    norms = np.einsum("ij,ij->i", at, at)
    squares = at @ at.T
    squares *= -2
    squares += norms[:, None]
    squares += norms
    np.maximum(squares, 1e-3, out=squares)
    np.fill_diagonal(squares, np.finfo(at.dtype).max)
    return squares


def _from_others(at: Positions, share: Positions) -> Positions:
    """For each node the sum of its ways from all others, each times its ``share``."""
    moved: Positions = at * share.sum(1)[:, None] - share @ at
    return moved


def _separated(at: Positions) -> Positions:
    """Push apart what is closer than ``APART``."""
    for _ in range(_SEPARATIONS):
        distance = np.sqrt(_squares(at))
        lacking = np.maximum(APART - distance, 0.0)
        if lacking.max() < 1.0:
            break
        at = at + _from_others(at, lacking / (2 * distance))
    return at


def _packed(count: int, parts: list[tuple[list[int], Positions]]) -> Positions:
    """All parts side by side, in rows."""
    boxes = [(nodes, at - at.min(0), np.ptp(at, axis=0) + _BETWEEN) for nodes, at in parts]
    boxes.sort(key=lambda box: (-box[2][1], box[0][0]))
    area = sum(size[0] * size[1] for *_, size in boxes)
    width = max([np.sqrt(_SHAPE * area), *(size[0] for *_, size in boxes), 0.0])
    found: Positions = np.zeros((count, 2), np.float32)
    x = y = height = 0.0
    for nodes, at, size in boxes:
        if x and x + size[0] > width:
            x, y, height = 0.0, y + height, 0.0
        height = height or size[1]  # the first of a row is its highest
        found[nodes] = at + np.array([x, y + (height - size[1]) / 2])
        x += size[0]
    found -= np.array([width, y + height], np.float32) / 2
    return found
