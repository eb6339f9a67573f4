"""The graph of records as values: edges, what a walk found, what a picture of it shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from mem_search.model.records import Ref


class Edge(NamedTuple):
    """``start`` says ``relation`` of ``end``; both are numbers. ``strength`` is in (0, 1].

    ``origin`` is given (a link the record came with), found (in its text) or derived. A tuple,
    because a walk makes thousands.
    """

    start: int
    end: int
    relation: str
    strength: float
    origin: str


@dataclass(frozen=True, slots=True)
class GraphWalk:
    """Records by their distance from the seeds (which have 0), and the edges among them."""

    depths: Mapping[int, int]
    edges: tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class Relationship:
    """One end of an edge, seen from the other."""

    to: Ref
    relation: str
    strength: float


@dataclass(frozen=True, slots=True)
class GraphLabel:
    """What a picture of the graph shows of a record."""

    ref: Ref
    title: str
    created_at: int
