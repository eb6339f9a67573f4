"""Parts of the graph as files: for programs that read graphs, and as pictures.

``FORMATS`` lists them. Each writes to a binary file, element by element, so that memory does not
grow with the graph; only a picture needs all of its few nodes at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import IO, Final

from mem_search.features.graph.drawing import Drawing
from mem_search.model.graph import ExportedGraph
from mem_search.patterns import pattern
from mem_search.renderers.safe_text import one_line

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
    from mem_search.features.graph import files, page, picture, xml_files

    writers = {
        "json": files.write_json,
        "graphml": xml_files.write_graphml,
        "gexf": xml_files.write_gexf,
        "dot": files.write_dot,
        "svg": picture.write_svg,
        "html": page.write_html,
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
