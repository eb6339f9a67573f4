"""A graph as a file: what programs that read graphs make of it."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from lxml import etree

from mem_search.features.graph.formats import FORMATS, write
from mem_search.model.graph import ExportedEdge, ExportedGraph, ExportedNode

HOSTILE = "a </script> <b> & \"q\" 'x' \\n \\ ]]> \x1b[31m\u202e \ufffe\nend\\"
SHOWN = "a </script> <b> & \"q\" 'x' \\n \\ ]]> � end\\"
NODES = (
    ExportedNode("report:1", HOSTILE, "report", 1_700_000_000_000, "", 2),
    ExportedNode("website:2", "A page", "website", 0, "https://example.org/a?b=1&c=2", 1),
    ExportedNode('url:example.org/"x"', "javascript:alert(1)", "", None, "javascript:alert(1)", 1),
)
EDGES = (
    ExportedEdge("report:1", "website:2", "cites", 1.0, "found"),
    ExportedEdge("report:1", 'url:example.org/"x"', "cites", 0.5, "found"),
    ExportedEdge("website:2", "report:1", "mentions <&>", 0.25, "derived"),
    ExportedEdge("report:1", "website:2", "same_page", 0.1, "derived"),
)


def graph(nodes: Any = NODES, edges: Any = EDGES, left_out: int = 0) -> ExportedGraph:
    return ExportedGraph(nodes, edges, len(nodes), len(edges), left_out)


def written(name: str, exported: ExportedGraph) -> bytes:
    file = BytesIO()
    write(exported, name, file)
    return file.getvalue()


def read(name: str, content: bytes) -> Any:
    """As networkx reads it."""
    if name == "json":
        return nx.node_link_graph(json.loads(content), edges="edges")
    if name == "graphml":
        return nx.read_graphml(BytesIO(content))
    return nx.read_gexf(BytesIO(content), version="1.3")


@pytest.mark.parametrize("name", ["json", "graphml", "gexf"])
def test_networkx_reads_every_node_and_edge_with_what_is_known_of_it(name: str) -> None:
    found = read(name, written(name, graph()))
    assert found.is_directed()
    assert found.is_multigraph()
    assert set(found) == {node.id for node in NODES}
    report, page = found.nodes["report:1"], found.nodes["website:2"]
    assert report["label"] == SHOWN
    assert (report["kind"], report["degree"]) == ("report", 2)
    assert report["created_at"] == "2023-11-14T22:13:20.000Z"
    assert page["url"] == "https://example.org/a?b=1&c=2"
    assert not found.nodes['url:example.org/"x"'].get("url")  # no address of the web
    assert sorted(
        (start, end, said["relation"], said["weight"], said["origin"])
        for start, end, said in found.edges(data=True)
    ) == sorted(EDGES)


def test_gephi_finds_no_second_label_or_weight_in_gexf() -> None:
    root = etree.fromstring(written("gexf", graph()))
    declared = [each.get("title") for each in root.iter("{http://gexf.net/1.3}attribute")]
    assert declared == ["kind", "created_at", "url", "degree", "relation", "origin"]
    kinds = [each.get("kind") for each in root.iter("{http://gexf.net/1.3}edge")]
    assert kinds == [edge.relation for edge in EDGES]  # parallel edges are told apart by it


@pytest.mark.skipif(not shutil.which("dot"), reason="graphviz is not installed here")
def test_graphviz_reads_what_is_written_for_it() -> None:
    process = subprocess.run(
        ["dot", "-Tjson0"], input=written("dot", graph()), capture_output=True, check=True
    )
    assert not process.stderr
    found = json.loads(process.stdout)
    objects = {each["name"]: each for each in found["objects"]}
    assert set(objects) == {node.id for node in NODES}
    assert objects["report:1"]["label"] == SHOWN.replace("\\", "\\\\")  # an escape of graphviz
    assert objects["website:2"]["URL"] == "https://example.org/a?b=1&c=2"
    assert sorted(e["relation"] for e in found["edges"]) == sorted(e.relation for e in EDGES)


def test_graphviz_gets_every_quotation_mark_and_backslash_escaped() -> None:
    lines = written("dot", graph()).decode().splitlines()
    assert lines[0] == "digraph {"
    assert lines[-1] == "}"
    label = lines[2].removeprefix('  "report:1" [label="').partition('", kind')[0]
    assert label == SHOWN.replace("\\", "\\\\").replace('"', '\\"')
    assert lines[6] == (
        r'  "report:1" -> "url:example.org/\"x\"" [relation="cites", strength="0.5",'
        ' origin="found"];'
    )


@pytest.mark.parametrize("name", [name for name, each in FORMATS.items() if not each.is_picture])
def test_a_file_for_programs_grows_while_the_graph_is_read(name: str) -> None:
    count, sizes, file = 2_000, [], BytesIO()

    def edges() -> Iterator[ExportedEdge]:
        for number in range(count):
            sizes.append(file.tell())
            yield ExportedEdge(f"note:{number}", f"note:{number + 1}", "follows", 0.5, "found")

    nodes = [ExportedNode(f"note:{number}", "", "note", 0, "", 1) for number in range(count + 1)]
    write(graph(nodes, ()), name, BytesIO())
    write(ExportedGraph(nodes, edges(), len(nodes), count, 0), name, file)
    assert sizes[-1] - sizes[0] > 0.95 * (file.tell() - sizes[0])


@pytest.mark.parametrize("name", FORMATS)
def test_a_graph_without_nodes_is_a_file_all_the_same(name: str) -> None:
    content = written(name, graph((), ()))
    assert content
    if name in ("json", "graphml", "gexf"):
        assert len(read(name, content)) == 0


def test_json_says_how_many_nodes_were_left_out(tmp_path: Path) -> None:
    assert json.loads(written("json", graph(left_out=7)))["graph"] == {"left_out": 7}
