"""The graph of records: edges, the result of a walk, and the knowledge cloud."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from mem_search.model.records import Ref
from mem_search.model.requests import Filters


class Edge(NamedTuple):
    """``start`` says ``relation`` of ``end``; both are numbers. ``strength`` is in (0, 1].

    ``origin`` is given (a link the record came with), found (in its text), similar (words that both
    have) or derived. A tuple, because a walk makes thousands.
    """

    start: int
    end: int
    relation: str
    strength: float
    origin: str


CITES = "cites"
"""The relation of a report to a page that it cites."""

CiteForm = Literal["link", "entry", "marker", "url", "doi", "arxiv", "anchor", "phrase"]
"""``entry``: in a list of references; ``marker``: ``[3]``, which names an entry; ``phrase``: words
that stand in the page, too."""


@dataclass(frozen=True, slots=True)
class Cite:
    """A place that cites ``target``, an address: ``text[start:end]`` within its context.

    The context is ``text[context_start:context_end]``, the sentence or the entry around it.
    """

    target: str
    form: CiteForm
    start: int
    end: int
    context_start: int
    context_end: int


@dataclass(frozen=True, slots=True)
class CitePlace:
    """A place of a report that cites a page: its span and the words around it."""

    form: CiteForm
    start: int
    end: int
    context: str


@dataclass(frozen=True, slots=True)
class PageCitation:
    """``citing`` cites ``target``, an address; ``cited`` is the page, None while it is not stored.

    ``confidence`` is 1 for what the text says explicitly. Places are in the order of the text.
    """

    citing: Ref
    target: str
    cited: Ref | None
    confidence: float
    places: tuple[CitePlace, ...]


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
    """The fields of a record in a knowledge cloud."""

    ref: Ref
    title: str
    created_at: int


@dataclass(frozen=True, slots=True)
class CloudNode:
    """A record in a knowledge cloud; ``depth`` is its distance from the seeds."""

    ref: Ref
    title: str
    created_at: int
    depth: int
    score: float


@dataclass(frozen=True, slots=True)
class CloudEdge:
    """``start`` says ``relation`` of ``end``."""

    start: Ref
    end: Ref
    relation: str
    strength: float
    origin: str


@dataclass(frozen=True, slots=True)
class KnowledgeCloud:
    """Nodes best first, seeds before all; edges among them, strongest first.

    ``reached`` is how many records the walk saw, shown or not.
    """

    nodes: tuple[CloudNode, ...]
    edges: tuple[CloudEdge, ...]
    seed_count: int
    reached: int


@dataclass(frozen=True, slots=True)
class KnowledgeGraph:
    """The graph around the results of a search: the cloud, and the relationships of each result.

    ``relationships`` is record → its related records, strongest first.
    """

    cloud: KnowledgeCloud
    relationships: Mapping[int, tuple[Relationship, ...]]


@dataclass(frozen=True, slots=True)
class GraphPart:
    """Which part of the graph to export.

    The stored edges among the records within ``filters``, or among ``records`` where a walk chose
    them, and then ``derived`` edges too. Only edges of ``relations`` where any are given. With
    ``most``, only so many nodes: ``records`` first, then those with the most edges.
    """

    filters: Filters = Filters()  # noqa: RUF009 - frozen
    records: tuple[int, ...] | None = None
    derived: tuple[Edge, ...] = ()
    relations: tuple[str, ...] = ()
    most: int | None = None


class ExportedNode(NamedTuple):
    """A record, or a cited page that is not stored: its id is its name (``url:…``), its kind "".

    ``degree`` counts its edges in the part, ``created_at`` is in ms since 1970.
    """

    id: str
    title: str
    kind: str
    created_at: int | None
    url: str
    degree: int


class ExportedEdge(NamedTuple):
    """The node ``source`` has the relation to ``target``; both are ids."""

    source: str
    target: str
    relation: str
    strength: float
    origin: str


@dataclass(frozen=True, slots=True)
class ExportedGraph:
    """A part of the graph as of one moment. Read the nodes once, and then the edges once.

    ``left_out`` nodes had the fewest edges and are above the limit.
    """

    nodes: Iterable[ExportedNode]
    edges: Iterable[ExportedEdge]
    node_count: int
    edge_count: int
    left_out: int
