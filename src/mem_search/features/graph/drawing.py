"""A drawing: the nodes of a graph with their places and colours, for a script that draws them.

The exported page and the viewer draw it with the same script, ``data/drawing.js``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from mem_search.renderers.projection import projected
from mem_search.renderers.schema import Count, schema
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
