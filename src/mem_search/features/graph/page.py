"""A graph as one HTML file that needs nothing else: to zoom, to search, to follow.

cytoscape draws it (``data/NOTICE``). The nodes stand where ``layout`` placed them, so the page is
the same every time and shows at once. Titles are data for the script, never markup, and the policy
of the page lets only its own scripts run and nothing load.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import IO, Final

from mem_search.features.graph.drawing import Drawing
from mem_search.features.graph.picture import drawn
from mem_search.model.graph import ExportedGraph
from mem_search.renderers.schema import to_json

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
