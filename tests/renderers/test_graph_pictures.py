"""A graph as a picture: where nodes stand, the SVG, and the page in a browser."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from base64 import b64encode
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from mem_search.features.graph.formats import write
from mem_search.features.graph.picture import APART, layout
from mem_search.model.graph import ExportedEdge, ExportedGraph, ExportedNode
from patience import PATIENCE

EVIL = (
    "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
)
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), "")


def stars(hubs: int, leaves: int) -> ExportedGraph:
    """Reports that cite pages of their own."""
    nodes = [
        ExportedNode(f"report:{hub}", f"Report {hub} {EVIL}", "report", 0, "", leaves)
        for hub in range(hubs)
    ]
    edges = [
        ExportedEdge(f"report:{hub}", f"url:example.org/{hub}-{leaf}", "cites", 1.0, "found")
        for hub in range(hubs)
        for leaf in range(leaves)
    ]
    nodes += [
        ExportedNode(
            e.target, f"https://www.example.org/{e.target}", "", None, "https://a.example", 1
        )
        for e in edges
    ]
    return ExportedGraph(nodes, edges, len(nodes), len(edges), 3)


def written(name: str, exported: ExportedGraph) -> str:
    file = BytesIO()
    write(exported, name, file)
    return file.getvalue().decode()


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    """A count of nodes, and pairs of them, the smaller number first."""
    count = draw(st.integers(0, 40))
    node = st.integers(0, max(0, count - 1))
    pairs = draw(st.sets(st.tuples(node, node), max_size=60 if count else 0))
    return count, sorted(pair for pair in pairs if pair[0] < pair[1])


@settings(max_examples=25, deadline=None)
@given(graphs())
def test_nodes_stand_apart_and_in_the_same_place_every_time(
    asked: tuple[int, list[tuple[int, int]]],
) -> None:
    count, pairs = asked
    at = layout(count, pairs)
    assert at.shape == (count, 2)
    assert np.isfinite(at).all()
    assert np.array_equal(at, layout(count, pairs))
    distance = np.sqrt(((at[:, None] - at[None]) ** 2).sum(-1)) + np.eye(count) * APART
    assert count < 2 or distance.min() > 0.5 * APART


def test_what_is_connected_is_near_and_parts_do_not_mix() -> None:
    at = layout(42, [(hub, hub + leaf) for hub in (0, 21) for leaf in range(1, 21)])
    one, other = at[:21], at[21:]
    near = np.sqrt(((one - one[0]) ** 2).sum(-1)).max()
    assert near < np.sqrt(((other - one[0]) ** 2).sum(-1)).min()


def test_an_svg_picture_has_every_node_and_edge_and_is_text_only() -> None:
    root = etree.fromstring(written("svg", stars(3, 4)).encode())
    names = {"s": "http://www.w3.org/2000/svg"}
    shown = root.findall("s:circle[s:title]", names)
    assert len(shown) == 15
    assert shown[0].findtext("s:title", namespaces=names) == f"Report 0 {EVIL}\nreport:0"
    assert len(root.findall("s:line", names)) == 12
    texts = [each.text for each in root.findall("s:text", names)]
    note = "the 15 nodes with the most edges; 3 more are left out"
    assert texts[:3] == ["report (3)", "page, not stored (12)", note]
    assert not root.findall(".//s:script", names)
    assert not [key for each in root.iter() for key in each.attrib if key.startswith("on")]
    left, top, width, height = map(float, root.get("viewBox").split())
    for circle in shown:
        assert left < float(circle.get("cx")) < left + width
        assert top < float(circle.get("cy")) < top + height


def test_titles_of_large_nodes_are_shown_and_none_covers_another() -> None:
    root = etree.fromstring(written("svg", stars(12, 20)).encode())
    names = {"s": "http://www.w3.org/2000/svg"}
    labels = [each.text for each in root.findall("s:text", names)]
    assert sum(label.startswith("Report ") for label in labels) == 12


def test_the_page_needs_nothing_else_and_lets_only_its_own_scripts_run() -> None:
    page = written("html", stars(2, 3))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; script-src 'sha256-")
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    style = re.findall(r"<style[^>]*>(.*?)</style>", page, re.DOTALL)
    assert len(scripts) == 3
    for part in (*scripts, *style):
        digest = b64encode(hashlib.sha256(part.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy[1]
    head = page[: page.index("<script")]
    assert not re.search(r"(src|href)=|@import|url\(", head)
    data = re.search(r'<script type="application/json" id="graph">(.*?)</script>', page, re.DOTALL)
    assert data is not None
    found = json.loads(data[1])
    assert found["nodes"][0]["title"] == f"Report 0 {EVIL}"
    assert len(found["edges"]) == 6


def test_the_library_of_the_page_is_the_one_that_its_notice_names() -> None:
    from mem_search.features.graph import picture

    folder = Path(picture.__file__).parent / "data"
    digest = hashlib.sha256((folder / "cytoscape.min.js").read_bytes()).hexdigest()
    assert digest in (folder / "NOTICE").read_text("utf-8")


@pytest.mark.skipif(not BROWSER, reason="no Chromium is installed here")
def test_a_browser_draws_500_nodes_finds_titles_and_runs_no_title(tmp_path: Path) -> None:
    file = tmp_path / "graph.html"
    file.write_text(written("html", stars(25, 19)), "utf-8")
    process = subprocess.run(
        [
            BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
            f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=3000", "--dump-dom",
            f"{file.as_uri()}#report%2024",
        ],
        capture_output=True, check=True, text=True, timeout=4 * PATIENCE,
    )  # fmt: skip
    page = process.stdout
    assert 'data-drawn="500"' in page
    assert "<title>mem-search: graph</title>" in page  # no title of a record ran
    assert "1 found; Enter goes to each" in page
    assert "page, not stored (475)" in page
    assert page.count("<canvas") >= 3
    assert "CONSOLE" not in process.stderr  # nothing was refused, nothing failed
