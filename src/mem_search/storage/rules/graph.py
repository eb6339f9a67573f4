"""The graph of records: how far a walk goes, and how edges count. Stores read the edges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Final

from mem_search.model.graph import Edge, GraphLabel, GraphWalk, Relationship

MAX_DEPTH: Final = 5
MAX_NODES: Final = 300
"""Most records of a walk; further ones add time and hardly any mass."""
MAX_EXPANDED: Final = 60
"""Most records of one distance from which the walk continues, those with the strongest edges."""
MAX_EDGES: Final = 5000
"""Stored edges read in one step."""

FOLLOWS: Final = 0.5
SAME_SESSION: Final = 0.4
SUMMARISED: Final = 50
"""Members of a session that have an edge to its summary, at most."""


def walk(
    neighbours: Callable[[Sequence[int]], list[Edge]],
    seeds: Collection[int],
    depth: int,
    most: int = MAX_NODES,
) -> GraphWalk:
    """The records within ``depth`` (1 to 5) steps of ``seeds``; ``neighbours`` has the edges of
    some records. Where more than ``most`` records are in reach, those with the strongest edges are
    kept.
    """
    depths = dict.fromkeys(seeds, 0)
    edges: list[Edge] = []
    frontier = list(depths)
    for step in range(1, min(depth, MAX_DEPTH) + 1):
        onward = frontier[: max(MAX_EXPANDED, len(seeds))]
        found = neighbours(onward)
        pull: dict[int, float] = defaultdict(float)
        for edge in found:
            for end in (edge.start, edge.end):
                if end not in depths:
                    pull[end] += edge.strength
        frontier = sorted(pull, key=lambda number: (-pull[number], number))
        frontier = frontier[: max(0, most - len(depths))]
        depths |= dict.fromkeys(frontier, step)
        edges += found
        if not frontier:
            break
    kept = (edge for edge in edges if edge.start in depths and edge.end in depths)
    return GraphWalk(depths, tuple(distinct(kept)))


def relationships(
    numbers: Sequence[int], edges: Sequence[Edge], labels: Mapping[int, GraphLabel]
) -> dict[int, tuple[Relationship, ...]]:
    """For each of ``numbers`` what ``edges`` relate it to, strongest first; ``labels`` of all."""
    sides: dict[int, list[Relationship]] = {number: [] for number in numbers}
    for edge in edges:
        for one, other in ((edge.start, edge.end), (edge.end, edge.start)):
            if one in sides:
                to = labels[other].ref
                sides[one].append(Relationship(to, edge.relation, edge.strength))
    return {
        number: tuple(sorted(found, key=lambda item: (-item.strength, item.to, item.relation)))
        for number, found in sides.items()
    }


def distinct(edges: Iterable[Edge]) -> list[Edge]:
    """One edge a relation and pair, the strongest."""
    best: dict[tuple[int, int, str], Edge] = {}
    for edge in edges:
        key = edge[:3]
        known = best.get(key)
        if known is None or known.strength < edge.strength:
            best[key] = edge
    return sorted(best.values(), key=itemgetter(0, 1, 2))
