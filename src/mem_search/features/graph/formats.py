"""Parts of the graph as files: for programs that read graphs, and as pictures.

``FORMATS`` lists them. Each writes to a binary file, element by element, so that memory does not
grow with the graph; only a picture needs all of its few nodes at once. A node has ``label``,
``kind``, ``created_at``, ``url`` and ``degree``; an edge ``relation``, ``weight`` (its strength:
readers know the word) and ``origin``.

A ``Drawing`` has the nodes with their places and colours, for a script: the exported page and the
viewer draw it with the same one, ``data/drawing.js``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import IO, TYPE_CHECKING, Annotated, Final, Self

from mem_search.model.graph import ExportedEdge, ExportedGraph, ExportedNode
from mem_search.patterns import pattern
from mem_search.renderers.safe_text import one_line
from mem_search.renderers.schema import (
    Count,
    From,
    Projection,
    Share,
    Time,
    projected,
    schema,
    to_json,
)
from mem_search.text.dates import iso

if TYPE_CHECKING:
    from mem_search.features.graph.picture import Drawn, Picture


@schema
class DrawnNode:
    """A record, or a cited page that is not stored: its `kind` is empty.

    `x` and `y` are its middle, `size` its diameter, in pixels. `date` is a day (YYYY-MM-DD) or
    empty. `degree` counts its edges, drawn or not.
    """

    id: str
    label: str
    title: str
    kind: str
    colour: str
    date: str
    url: str
    degree: Count
    x: float
    y: float
    size: float

    @classmethod
    def of(cls, drawn: Drawn) -> Self:
        node = drawn.node
        return projected(
            cls,
            node,
            label=drawn.label,
            colour=drawn.colour,
            date="" if node.created_at is None else iso(node.created_at)[:10],
            x=round(drawn.x, 1),
            y=round(drawn.y, 1),
            size=round(2 * drawn.radius, 1),
        )


@schema
class DrawnEdge:
    """`source` has the `relation` to `target`; `width` is in pixels."""

    source: str
    target: str
    relation: str
    width: float


@schema
class LegendEntry:
    """How many nodes of a kind there are, and their colour."""

    kind: str
    colour: str
    count: Count


@schema
class Drawing:
    """Nodes with the most edges first. `note` says what is left out; it is empty for nothing."""

    nodes: list[DrawnNode]
    edges: list[DrawnEdge]
    legend: list[LegendEntry]
    note: str

    @classmethod
    def of(cls, picture: Picture) -> Self:
        return cls(
            nodes=[DrawnNode.of(each) for each in picture.nodes],
            edges=[
                DrawnEdge(
                    source=each.source,
                    target=each.target,
                    relation=each.relation,
                    width=round(0.5 + each.strength, 2),
                )
                for each in picture.edges
            ],
            legend=[
                LegendEntry(kind=kind, colour=colour, count=count)
                for kind, colour, count in picture.legend
            ],
            note=picture.note,
        )


@schema
class GraphFileNode(Projection[ExportedNode]):
    """A record, or a cited page that is not stored: its `kind` is empty, its `id` its name.

    `degree` counts its edges in the whole part that was asked for.
    """

    id: str
    label: Annotated[str, From("title")]
    kind: str
    created_at: Time | None
    url: str
    degree: Count


@schema
class GraphFileEdge(Projection[ExportedEdge]):
    """`source` has the `relation` to `target`; `weight` is the strength of the edge."""

    source: str
    target: str
    relation: str
    weight: Annotated[Share, From("strength", partial(round, ndigits=4))]
    origin: str


@schema
class AboutGraph:
    """`left_out` nodes with the fewest edges are above the limit."""

    left_out: Count


@schema
class GraphFile:
    """A graph as networkx's `node_link_graph` and d3 read it."""

    directed: bool
    multigraph: bool
    graph: AboutGraph
    nodes: list[GraphFileNode]
    edges: list[GraphFileEdge]


def write_json(graph: ExportedGraph, file: IO[bytes]) -> None:
    """A ``GraphFile``, one node or edge a line."""
    about = to_json(AboutGraph(left_out=graph.left_out))
    file.write(b'{"directed":true,"multigraph":true,"graph":%s,"nodes":[' % about)
    _listed(file, map(GraphFileNode.of, graph.nodes))
    file.write(b'],"edges":[')
    _listed(file, map(GraphFileEdge.of, graph.edges))
    file.write(b"]}\n")


def _listed(file: IO[bytes], items: Iterable[object]) -> None:
    between = b"\n"
    for item in items:
        file.write(between + to_json(item))
        between = b",\n"


OF_NODE: Final = (
    ("label", "string"), ("kind", "string"), ("created_at", "string"), ("url", "string"),
    ("degree", "int"),
)  # fmt: skip
OF_EDGE: Final = (("relation", "string"), ("weight", "double"), ("origin", "string"))


def values_of(item: ExportedNode | ExportedEdge) -> Iterator[tuple[str, str]]:
    """(name, value) of what is known."""
    if isinstance(item, ExportedNode):
        created = "" if item.created_at is None else iso(item.created_at)
        known = [item.title, item.kind, created, item.url, str(item.degree)]
    else:
        known = [item.relation, f"{item.strength:.4g}", item.origin]
    fields = OF_NODE if isinstance(item, ExportedNode) else OF_EDGE
    return ((name, value) for (name, _), value in zip(fields, known, strict=True) if value)


def write_dot(graph: ExportedGraph, file: IO[bytes]) -> None:
    """The language of graphviz (https://graphviz.org/doc/info/lang.html)."""
    file.write(b"digraph {\n  node [shape=box, style=rounded];\n")
    for node in graph.nodes:
        file.write(f"  {_quoted(node.id)} [{_listed_values(node)}];\n".encode())
    for edge in graph.edges:
        ends = f"{_quoted(edge.source)} -> {_quoted(edge.target)}"
        file.write(f"  {ends} [{_listed_values(edge)}];\n".encode())
    file.write(b"}\n")


def _listed_values(item: ExportedNode | ExportedEdge) -> str:
    # graphviz knows "URL", and takes only whole numbers as the weight of an edge.
    names = {"url": "URL", "weight": "strength"}
    return ", ".join(f"{names.get(name, name)}={_quoted(value)}" for name, value in values_of(item))


def _quoted(text: str) -> str:
    # A backslash begins an escape in the labels of graphviz.
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


_UNWRITABLE: Final = pattern("[\ud800-\udfff\ufffe\uffff]")
"""What neither UTF-8 nor XML can say, beside control characters (XML 1.0, section 2.2)."""


@dataclass(frozen=True, slots=True)
class GraphFormat:
    """How a graph becomes a file; ``is_picture`` for those that place every node."""

    content_type: str
    is_picture: bool = False


FORMATS: Final = {
    "json": GraphFormat("application/json"),
    "graphml": GraphFormat("application/graphml+xml"),
    "gexf": GraphFormat("application/gexf+xml"),
    "dot": GraphFormat("text/vnd.graphviz"),
    "svg": GraphFormat("image/svg+xml", is_picture=True),
    "html": GraphFormat("text/html", is_picture=True),
}


def write(graph: ExportedGraph, format: str, file: IO[bytes]) -> None:  # noqa: A002
    """Write ``graph`` in one of ``FORMATS``, each text on one line and without control characters.

    Only addresses of the web stay addresses. Raises OSError where the file cannot be written.
    """
    # lxml takes as long to import as the rest of the worker's routes.
    from mem_search.features.graph import picture, xml_files

    writers = {
        "json": write_json,
        "graphml": xml_files.write_graphml,
        "gexf": xml_files.write_gexf,
        "dot": write_dot,
        "svg": picture.write_svg,
        "html": picture.write_html,
    }
    writers[format](_writable(graph), file)


def draw(graph: ExportedGraph) -> Drawing:
    """``graph`` placed and coloured, for a script that draws it."""
    from mem_search.features.graph import picture

    return Drawing.of(picture.drawn(_writable(graph)))


def _writable(graph: ExportedGraph) -> ExportedGraph:
    nodes = (
        node._replace(
            id=_line(node.id),
            title=_line(node.title),
            url=url if (url := _line(node.url)).startswith(("http://", "https://")) else "",
        )
        for node in graph.nodes
    )
    edges = (
        edge._replace(target=_line(edge.target), relation=_line(edge.relation))
        for edge in graph.edges
    )
    return replace(graph, nodes=nodes, edges=edges)


def _line(text: str) -> str:
    return _UNWRITABLE.sub("\N{REPLACEMENT CHARACTER}", one_line(text))
