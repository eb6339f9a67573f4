"""The graph leg: records related to those that other legs found, or to one that was opened.

Unlike the other legs it needs seeds, so it is not a ``Retriever``: ``expand`` runs after the legs
and gives a ``Ranking`` like theirs. Filters hold at every step of the walk, before any limit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mem_search.model import Filters
from mem_search.model.graph import CloudEdge, CloudNode, Edge, GraphLabel, GraphWalk, KnowledgeCloud
from mem_search.model.rankings import Candidate, Candidates, Ranking, Scores
from mem_search.storage.sql.snapshot import SearchSnapshot

RESTART: Final = 0.5
STEPS: Final = 12


def random_walk(
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


def edge_strengths(edges: Iterable[Edge]) -> dict[tuple[int, int], float]:
    """(smaller, larger number) → strength of all their ties together, in (0, 1]."""
    left: dict[tuple[int, int], float] = {}
    for edge in edges:
        pair = (min(edge.start, edge.end), max(edge.start, edge.end))
        left[pair] = left.get(pair, 1.0) * (1.0 - edge.strength)
    return {pair: 1.0 - missing for pair, missing in left.items()}


NAME: Final = "graph"


@dataclass(frozen=True, slots=True)
class Expansion:
    """A walk with its scores, 0 to 1: the best record has 1. ``seeds`` that are tied count too."""

    seeds: Mapping[int, float]
    walk: GraphWalk
    scores: Mapping[int, float]
    ranking: Ranking = field(default=Ranking(NAME))


def expand(
    snapshot: SearchSnapshot,
    seeds: Mapping[int, float],
    *,
    depth: int = 2,
    limit: int = 200,
    filters: Filters = Filters(),  # noqa: B008 - frozen
    relations: Collection[str] = (),
) -> Expansion:
    """Rank what lies within ``depth`` (1 to 5) steps of ``seeds`` (record → weight above 0).

    Seeds are taken to pass the filters. The ranking has at most ``limit`` candidates, seeds among
    them where something leads to them, each with its first passage.
    """
    if not seeds:
        return Expansion({}, GraphWalk({}, ()), {})
    walk = snapshot.walk(list(seeds), depth, filters, relations)
    shares = random_walk(edge_strengths(walk.edges), seeds)
    # A step more than the walk is deep cannot be told from noise: leave out what got nothing.
    most = max(shares.values(), default=0.0)
    scores = {number: share / most for number, share in shares.items() if share > 0}
    best = sorted(scores, key=lambda number: (-scores[number], number))[:limit]
    passages = snapshot.first_passages(best)
    candidates = Candidates.of(
        Candidate(number, kind, name == "code", passage, scores[number])
        for number in best
        if number in passages
        for passage, kind, name in (passages[number],)
    )
    return Expansion(seeds, walk, scores, Ranking(NAME, candidates, Scores.by_record(scores)))


def related(
    snapshot: SearchSnapshot,
    number: int,
    *,
    depth: int = 2,
    limit: int = 20,
    filters: Filters = Filters(),  # noqa: B008 - frozen
    relations: Collection[str] = (),
) -> KnowledgeCloud:
    """The record ``number`` and the ``limit`` records most related to it within ``filters``."""
    walked = expand(snapshot, {number: 1.0}, depth=depth, filters=filters, relations=relations)
    return cloud(snapshot, walked, limit)


def cloud(snapshot: SearchSnapshot, expansion: Expansion, limit: int) -> KnowledgeCloud:
    """The seeds, the best ``limit`` other records, and the edges among all these."""
    depths, scores = expansion.walk.depths, expansion.scores

    def order(number: int) -> tuple[float, int, int]:
        return (-scores.get(number, 0.0), depths[number], number)

    others = [number for number in sorted(depths, key=order) if number not in expansion.seeds]
    shown = [*sorted(expansion.seeds, key=order), *others[:limit]]
    labels = snapshot.labels(shown)
    edges = [e for e in expansion.walk.edges if e.start in labels and e.end in labels]
    edges.sort(key=lambda edge: (-edge.strength, edge.start, edge.end, edge.relation))
    return KnowledgeCloud(
        nodes=tuple(
            _node(labels[number], depths[number], scores.get(number, 0.0))
            for number in shown
            if number in labels
        ),
        edges=tuple(_edge(edge, labels) for edge in edges),
        seed_count=len(expansion.seeds),
        reached=len(depths) - len(expansion.seeds),
    )


def _node(label: GraphLabel, depth: int, score: float) -> CloudNode:
    return CloudNode(label.ref, label.title, label.created_at, depth, score)


def _edge(edge: Edge, labels: Mapping[int, GraphLabel]) -> CloudEdge:
    return CloudEdge(
        labels[edge.start].ref, labels[edge.end].ref, edge.relation, edge.strength, edge.origin
    )
