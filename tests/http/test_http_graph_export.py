"""The graph as a file over HTTP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from http_worker import Client, Get, lifecycle_of

from mem_search.model import Location

PAGE = "https://example.org/page"
RECORDS: tuple[dict[str, Any], ...] = (
    {"kind": "report", "source_id": "r", "title": "A <b>report</b>", "text": f"See {PAGE}.",
     "project": "papers", "links": [{"to": "https://else.example/x", "relation": "cites"}]},
    {"kind": "website", "source_id": "w", "title": "The page", "text": "Words.", "url": PAGE,
     "project": "papers"},
    {"kind": "note", "source_id": "n", "title": "A note", "text": "About it.",
     "links": [{"to": "r", "relation": "leads_to"}]},
)  # fmt: skip


@pytest.fixture
async def refs(client: Client, tmp_path: Path) -> dict[str, str]:
    """Source id → ref of a report, the page that it cites, and a note that leads to both."""
    file = tmp_path / "graph.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in RECORDS), "utf-8")
    runtime = lifecycle_of(client).runtime
    await runtime.ingest.reader.read(Location("jsonl", str(file)))
    rows = await runtime.store.database.read(
        lambda c: c.execute(
            "select source_id, kind || ':' || id from records where source_id in ('r', 'w', 'n')"
        ).fetchall()
    )
    return dict(rows)


def edges(body: Any) -> set[tuple[str, str, str]]:
    return {(edge["source"], edge["target"], edge["relation"]) for edge in body["edges"]}


async def test_the_whole_graph_has_records_with_edges_and_cited_pages(
    get: Get, refs: dict[str, str]
) -> None:
    body = await get("/api/graph/export", kinds="report,website,note")
    nodes = {node["id"]: node for node in body["nodes"]}
    assert nodes.keys() >= {*refs.values(), "url:else.example/x"}
    assert nodes[refs["r"]]["label"] == "A <b>report</b>"
    assert nodes["url:else.example/x"]["kind"] == ""
    assert nodes["url:else.example/x"]["url"] == "https://else.example/x"
    assert edges(body) >= {
        (refs["r"], refs["w"], "cites"),
        (refs["r"], "url:else.example/x", "cites"),
        (refs["n"], refs["r"], "leads_to"),
    }
    assert (body["directed"], body["multigraph"]) == (True, True)


async def test_a_part_of_it_is_chosen_by_filter_relation_and_limit(
    get: Get, refs: dict[str, str]
) -> None:
    papers = await get("/api/graph/export", project="papers")
    assert {node["id"] for node in papers["nodes"]} == {refs["r"], refs["w"], "url:else.example/x"}
    leads = await get("/api/graph/export", relation="leads_to")
    assert edges(leads) == {(refs["n"], refs["r"], "leads_to")}
    best = await get("/api/graph/export", project="papers", limit=1)
    assert [node["id"] for node in best["nodes"]] == [refs["r"]]
    assert best["graph"] == {"left_out": 2}


async def test_around_a_record_there_is_what_is_related_to_it(
    get: Get, refs: dict[str, str], numbers: dict[str, int]
) -> None:
    near = await get("/api/graph/export", ref=refs["n"])
    assert {node["id"] for node in near["nodes"]} == {*refs.values(), "url:else.example/x"}
    step = await get("/api/graph/export", ref=refs["w"], depth=1)
    assert edges(step) >= {(refs["r"], refs["w"], "cites")}
    assert refs["n"] not in {node["id"] for node in step["nodes"]}
    derived = await get("/api/graph/export", ref=f"observation:{numbers['o1']}", depth=1)
    assert {edge["origin"] for edge in derived["edges"]} >= {"derived"}
    alone = await get("/api/graph/export", ref=f"note:{numbers['n1']}")
    assert [node["id"] for node in alone["nodes"]] == [f"note:{numbers['n1']}"]


@pytest.mark.parametrize(
    ("name", "content_type", "begins"),
    [
        ("graphml", "application/graphml+xml", "<?xml"),
        ("gexf", "application/gexf+xml", "<?xml"),
        ("dot", "text/vnd.graphviz", "digraph {"),
        ("svg", "image/svg+xml", "<?xml"),
        ("html", "text/html", "<!doctype html>"),
    ],
)
async def test_each_format_has_its_type_and_a_picture_is_shown_apart(
    client: Client, refs: dict[str, str], name: str, content_type: str, begins: str
) -> None:
    reply = await client.get("/api/graph/export", params={"format": name})
    assert reply.status == 200
    assert reply.headers["Content-Type"] == content_type
    text = await reply.text()
    assert text.startswith(begins)
    assert name == "dot" or "A <b>report" not in text  # escaped
    policy = reply.headers.get("Content-Security-Policy", "")
    if name in ("svg", "html"):
        assert policy.startswith("default-src 'none'")
        assert "sandbox" in policy
        assert "allow-same-origin" not in policy
    else:
        assert reply.headers["Content-Disposition"] == f'attachment; filename="mem-search.{name}"'


@pytest.mark.parametrize(
    ("asked", "status", "says"),
    [
        ({"format": "pdf"}, 422, "'json', 'graphml', 'gexf', 'dot', 'svg' or 'html'"),
        ({"ref": "note:1", "depth": "6"}, 422, "less than or equal to 5"),
        ({"ref": "note:424242"}, 404, "424242"),
        ({"ref": "no ref"}, 422, "ref"),
        ({"format": "svg", "limit": "1001"}, 422, "at most 1000 nodes"),
        ({"limit": "0"}, 422, "greater than or equal to 1"),
    ],
)
async def test_bad_input_is_told_with_its_parameter(
    client: Client, asked: dict[str, str], status: int, says: str
) -> None:
    reply = await client.get("/api/graph/export", params=asked)
    problem = await reply.json()
    assert reply.status == status
    assert says in problem["detail"]


async def test_nothing_is_left_on_the_disk(client: Client, refs: dict[str, str]) -> None:
    home = lifecycle_of(client).settings.home
    before = sorted(home.iterdir())
    assert (await client.get("/api/graph/export", params={"format": "gexf"})).status == 200
    assert sorted(home.iterdir()) == before
