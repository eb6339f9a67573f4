"""What a search with the caller's own weights is asked, and what it answers. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from mem_search.model import Analyzed, Filters, LegReport, Result
from mem_search.model.graph import Relationship
from mem_search.model.passages import PassageContext
from mem_search.retrievers.graph import KnowledgeCloud
from mem_search.search import rrf


@dataclass(frozen=True, slots=True)
class Walk:
    """How far the graph is followed: from the best ``seeds`` of the other legs, ``depth`` steps."""

    depth: int = 2
    seeds: int = 10


@dataclass(frozen=True, slots=True)
class WeightedQuery:
    """``weights`` is leg → weight (keyword, vector, graph); 0, or not there, leaves a leg out.

    ``least`` is the lowest final score that is still returned. ``reach`` is how many passages
    on either side of the one that matched are given with it. ``asked_at`` is the moment of
    asking in the caller's time zone, from which words for dates count.
    """

    text: str
    filters: Filters
    weights: Mapping[str, float]
    limit: int = 20
    k: int = rrf.K
    least: float = 0.0
    walk: Walk | None = None
    reach: int = 0
    snippet: int = 200
    asked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Share:
    """What one leg says of a record: its score in 0..1 and its place, None where it has none."""

    score: float | None = None
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """A result, what each leg says of it, and where its passage stands."""

    result: Result
    shares: Mapping[str, Share]
    place: PassageContext


@dataclass(frozen=True, slots=True)
class Graph:
    """What is around the results: the picture of it, and the ties of each result by number."""

    cloud: KnowledgeCloud
    ties: Mapping[int, tuple[Relationship, ...]]


@dataclass(frozen=True, slots=True)
class WeightedPage:
    """The answer and how it came about; times in milliseconds, but ``index_age_s`` in seconds.

    ``words`` are those of the question that may be lit up in a text.
    """

    found: tuple[Found, ...]
    words: tuple[str, ...]
    analyzed: Analyzed
    legs: tuple[LegReport, ...]
    coverage: float
    took_ms: float
    fusion_ms: float
    index_age_s: float = 0.0
    notices: tuple[str, ...] = ()
    graph: Graph | None = None
