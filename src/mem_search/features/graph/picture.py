"""A graph as a picture: its nodes placed and coloured, as SVG and as one HTML file.

A node is larger the more edges it has. A title is shown where it covers no other and no
node of about that size; every title shows when the mouse rests on its node.

The HTML file needs nothing else: to zoom, to search, to follow. cytoscape draws it
(``data/NOTICE``). The nodes stand where ``layout`` put them, the same every time, so the page shows
at once. Titles are data for the script, never markup, and the policy of the page lets only its own
scripts run and nothing load.

The placement is force-directed: nodes repel each other and edges draw their ends together while the
steps get smaller (Fruchterman and Reingold, "Graph drawing by force-directed placement", 1991).
Parts that no edge connects are placed apart and then packed in rows, the largest first, so that
none drifts away.
"""

from __future__ import annotations

import base64
import hashlib
import unicodedata
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import hypot, sqrt
from pathlib import Path
from typing import IO, Final

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from mem_search.features.graph.formats import Drawing
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
    at = layout(len(nodes), sorted({(min(pair), max(pair)) for pair in pairs})).tolist()
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


def layout(count: int, edges: Sequence[tuple[int, int]]) -> Positions:
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
    positions: Positions = np.zeros((count, 2), np.float32)
    x = y = height = 0.0
    for nodes, at, size in boxes:
        if x and x + size[0] > width:
            x, y, height = 0.0, y + height, 0.0
        height = height or size[1]  # the first of a row is its highest
        positions[nodes] = at + np.array([x, y + (height - size[1]) / 2])
        x += size[0]
    positions -= np.array([width, y + height], np.float32) / 2
    return positions
