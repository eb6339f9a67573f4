"""A graph as one HTML file that needs nothing else: to zoom, to search, to follow.

cytoscape draws it (``data/NOTICE``). The nodes stand where ``layout`` placed them, so the page is
the same every time and shows at once. Titles are data for the script, never markup, and the policy
of the page lets only its own two scripts run and nothing load.
"""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from pathlib import Path
from typing import IO, Final

from mem_search.model.graph import ExportedGraph
from mem_search.renderers.graph.picture import drawn
from mem_search.text.dates import iso

_DATA: Final = Path(__file__).parent / "data"
_SCRIPTS: Final = ("cytoscape.min.js", "page.js")


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
    picture = drawn(graph)
    data = {
        "nodes": [
            {
                "id": each.node.id, "label": each.label, "title": each.node.title,
                "kind": each.node.kind or "page, not stored", "colour": each.colour,
                "date": "" if each.node.created_at is None else iso(each.node.created_at)[:10],
                "url": each.node.url, "degree": each.node.degree,
                "x": round(each.x, 1), "y": round(each.y, 1), "size": round(2 * each.radius, 1),
            }
            for each in picture.nodes
        ],
        "edges": [
            {"source": e.source, "target": e.target, "relation": e.relation,
             "width": round(0.5 + e.strength, 2)}
            for e in picture.edges
        ],
        "legend": picture.legend,
        "note": picture.note,
    }  # fmt: skip
    # Nothing in it can end the element, or begin a comment in it.
    text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    before, after = _part("page.html").split("<!--scripts-->")
    head = before.replace("{policy}", policy()).replace("{style}", _part("page.css"))
    file.write(head.encode())
    file.write(f'<script type="application/json" id="graph">{text}</script>\n'.encode())
    for name in _SCRIPTS:
        file.write(f"<script>{_part(name)}</script>\n".encode())
    file.write(after.encode())
