"""A graph as a picture: its nodes placed and coloured, as SVG and as one HTML file.

A node is larger the more edges it has. A title is shown where it covers no other and no
node of about that size; every title shows when the mouse rests on its node.

The HTML file needs nothing else: to zoom, to search, to follow. cytoscape draws it
(``data/NOTICE``). The nodes stand where ``layout`` placed them, so the page is the same every time
and shows at once. Titles are data for the script, never markup, and the policy of the page lets
only its own scripts run and nothing load.
"""

from __future__ import annotations

import base64
import hashlib
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import hypot, sqrt
from pathlib import Path
from typing import IO, Final

from lxml import etree

from mem_search.features.graph.formats import Drawing
from mem_search.features.graph.layout import placed
from mem_search.model.graph import ExportedEdge, ExportedGraph, ExportedNode
from mem_search.patterns import pattern
from mem_search.renderers.safe_text import cut
from mem_search.renderers.schema import to_json

COLOURS: Final = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7b5ea7", "#8c6d31",
)  # fmt: skip
"""Told apart by readers who see fewer colours, too (Okabe and Ito, 2008; two more)."""
NOT_STORED: Final = "#9a9a9a"
LABEL: Final = 36
"""Characters of a title beside its node."""
FONT: Final = 11
MARGIN: Final = 40
_SCHEME: Final = pattern(r"^https?://(www\.)?")
_LEGEND: Final = 34
_NARROWEST: Final = 700
"""Room for the legend."""
_SPACE: Final = "http://www.w3.org/2000/svg"
Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A node with its middle, radius and colour; lengths in pixels."""

    node: ExportedNode
    x: float
    y: float
    radius: float
    colour: str

    @property
    def box(self) -> Box:
        return (
            self.x - self.radius, self.y - self.radius, self.x + self.radius, self.y + self.radius,
        )  # fmt: skip

    @property
    def label(self) -> str:
        return cut(_SCHEME.sub("", self.node.title) or self.node.id, LABEL)


@dataclass(frozen=True, slots=True)
class Picture:
    """Placed nodes, those with the most edges first, the edges, and (kind, colour, count)."""

    nodes: tuple[Drawn, ...]
    edges: tuple[ExportedEdge, ...]
    legend: tuple[tuple[str, str, int], ...]
    left_out: int

    @property
    def note(self) -> str:
        """What the picture leaves out; empty for nothing."""
        if not self.left_out:
            return ""
        return f"the {len(self.nodes)} nodes with the most edges; {self.left_out} more are left out"


def drawn(graph: ExportedGraph) -> Picture:
    """Place all nodes of ``graph``."""
    nodes = sorted(graph.nodes, key=lambda node: (-node.degree, node.id))
    row = {node.id: number for number, node in enumerate(nodes)}
    edges = tuple(graph.edges)
    pairs = {(row[edge.source], row[edge.target]) for edge in edges}
    at = placed(len(nodes), sorted({(min(pair), max(pair)) for pair in pairs})).tolist()
    counts = Counter(node.kind for node in nodes)
    kinds = sorted(filter(None, counts), key=lambda kind: (-counts[kind], kind))
    colours = {kind: COLOURS[number % len(COLOURS)] for number, kind in enumerate(kinds)}
    colours[""] = NOT_STORED
    return Picture(
        nodes=tuple(
            Drawn(node, x, y, min(4 + 2 * sqrt(node.degree), 18), colours[node.kind])
            for node, (x, y) in zip(nodes, at, strict=True)
        ),
        edges=edges,
        legend=tuple(
            (kind, colours[kind], counts[kind])
            for kind in (*kinds, *([""] if "" in counts else []))
        ),
        left_out=graph.left_out,
    )


def write_svg(graph: ExportedGraph, file: IO[bytes]) -> None:
    """An SVG picture without scripts."""
    picture = drawn(graph)
    labels = list(_labels(picture.nodes))
    boxes = [*(each.box for each in picture.nodes), *(box for _, box in labels)]
    left = min((box[0] for box in boxes), default=0) - MARGIN
    top = min((box[1] for box in boxes), default=0) - MARGIN - _LEGEND
    width = max([left + _NARROWEST, *(box[2] for box in boxes)]) + MARGIN - left
    height = max((box[3] for box in boxes), default=0) + MARGIN - top
    size = {"width": f"{width:.0f}", "height": f"{height:.0f}"}
    view = f"{left:.0f} {top:.0f} {width:.0f} {height:.0f}"
    root = etree.Element("svg", {"viewBox": view, **size, "xmlns": _SPACE})
    _sub(root, "style", text=_STYLE)
    marker = _sub(root, "marker", id="to", viewBox="0 0 6 6", refX="6", refY="3",
                  markerWidth="6", markerHeight="6", orient="auto")  # fmt: skip
    _sub(marker, "path", d="M0 0L6 3L0 6z", fill="#8a8a8a")
    frame = {"x": f"{left:.0f}", "y": f"{top:.0f}", **size}
    _sub(root, "rect", **frame, fill="#ffffff")
    _add_legend(root, picture, left + MARGIN, top + MARGIN / 2)
    _add_edges(root, picture)
    for each in picture.nodes:
        circle = _sub(root, "circle", cx=f"{each.x:.1f}", cy=f"{each.y:.1f}",
                      r=f"{each.radius:.1f}", fill=each.colour)  # fmt: skip
        _sub(circle, "title", text=f"{each.node.title}\n{each.node.id}")
    for each, box in labels:
        _sub(root, "text", x=f"{box[0]:.1f}", y=f"{box[1] + FONT:.1f}", text=each.label)
    file.write(etree.tostring(root, xml_declaration=True, encoding="utf-8"))


_STYLE: Final = (
    f"text{{font:{FONT}px system-ui,'DejaVu Sans',sans-serif;fill:#222;paint-order:stroke;"
    "stroke:#fff;stroke-width:3px}line{stroke:#8a8a8a;stroke-opacity:.55}"
    "circle{stroke:#fff;stroke-width:1px}"
)


def _sub(parent: etree._Element, tag: str, *, text: str = "", **attributes: str) -> etree._Element:
    element = etree.SubElement(parent, tag, attributes)
    element.text = text or None
    return element


def _add_legend(root: etree._Element, picture: Picture, x: float, y: float) -> None:
    for kind, colour, count in picture.legend:
        _sub(root, "circle", cx=f"{x:.0f}", cy=f"{y:.0f}", r="5", fill=colour)
        text = f"{kind or 'page, not stored'} ({count})"
        _sub(root, "text", x=f"{x + 9:.0f}", y=f"{y + 4:.0f}", text=text)
        x += 24 + _width(text)
    if picture.note:
        _sub(root, "text", x=f"{x:.0f}", y=f"{y + 4:.0f}", text=picture.note)


def _add_edges(root: etree._Element, picture: Picture) -> None:
    by_id = {each.node.id: each for each in picture.nodes}
    for edge in picture.edges:
        one, other = by_id[edge.source], by_id[edge.target]
        across, down = other.x - one.x, other.y - one.y
        share = (other.radius + 1) / max(hypot(across, down), 1.0)
        line = {
            "x1": f"{one.x:.1f}", "y1": f"{one.y:.1f}",
            "x2": f"{other.x - across * share:.1f}", "y2": f"{other.y - down * share:.1f}",
            "stroke-width": f"{0.5 + edge.strength:.2f}", "marker-end": "url(#to)",
        }  # fmt: skip
        _sub(_sub(root, "line", **line), "title", text=edge.relation)


def _labels(nodes: Sequence[Drawn]) -> Iterator[tuple[Drawn, Box]]:
    """The titles that cover no other title and no node of about the same size, with their boxes.

    A title stands right of its node, below it or above it.
    """
    taken: list[Box] = []
    for each in nodes:
        alike = [
            other.box
            for other in nodes
            if other is not each and 2 * other.node.degree >= each.node.degree
        ]
        width, (_, top, right, bottom) = _width(each.label), each.box
        for x, y in (
            (right + 3, each.y - FONT / 2),
            (each.x - width / 2, bottom + 1),
            (each.x - width / 2, top - FONT - 3),
        ):
            box = (x, y, x + width, y + FONT + 2)
            if not any(_meet(box, other) for other in (*taken, *alike)):
                taken.append(box)
                yield each, box
                break


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _width(text: str) -> float:
    """About how wide a text is; characters of East Asia take twice the place."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return (len(text) + 0.7 * wide) * FONT * 0.58


_DATA: Final = Path(__file__).parent / "data"
_SCRIPTS: Final = ("cytoscape.min.js", "drawing.js", "page.js")


@cache
def _part(name: str) -> str:
    return (_DATA / name).read_text("utf-8")


@cache
def policy() -> str:
    """The Content-Security-Policy of the page."""
    scripts = " ".join(map(_source, _SCRIPTS))
    return (
        f"default-src 'none'; script-src {scripts}; style-src {_source('page.css')};"
        " base-uri 'none'; form-action 'none'"
    )


def _source(name: str) -> str:
    digest = base64.b64encode(hashlib.sha256(_part(name).encode()).digest()).decode()
    return f"'sha256-{digest}'"


def write_html(graph: ExportedGraph, file: IO[bytes]) -> None:
    """The page with the graph in it."""
    # Nothing in it can end the element, or begin a comment in it.
    data = to_json(Drawing.of(drawn(graph))).replace(b"<", rb"\u003c")
    before, after = _part("page.html").split("<!--scripts-->")
    head = before.replace("{policy}", policy()).replace("{style}", _part("page.css"))
    file.write(head.encode())
    file.write(b'<script type="application/json" id="graph">%s</script>\n' % data)
    for name in _SCRIPTS:
        file.write(f"<script>{_part(name)}</script>\n".encode())
    file.write(after.encode())
