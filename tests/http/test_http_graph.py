"""Related records over HTTP."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from http_worker import Client, Get, lifecycle_of

from mem_search.model import Location

LINKED = (
    {
        "kind": "note",
        "source_id": "plan",
        "title": "The plan",
        "text": "Go slowly.",
        "project": "web",
    },
    {
        "kind": "note",
        "source_id": "step",
        "title": "First step",
        "text": "See [[The plan]].",
        "links": [{"to": "far", "relation": "leads_to"}],
    },
    {"kind": "email", "source_id": "far", "title": "Far away", "text": "Nothing more."},
)


@pytest.fixture
async def plan(client: Client, tmp_path: Path) -> str:
    """The ref of a note with a way to two others."""
    file = tmp_path / "linked.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in LINKED), "utf-8")
    runtime = lifecycle_of(client).runtime
    await runtime.ingest.reader.read(Location("jsonl", str(file)))
    rows = await runtime.store.database.read(
        lambda connection: connection.execute(
            "select id from records where source_id = 'plan'"
        ).fetchall()
    )
    return f"note:{rows[0][0]}"


async def test_the_surroundings_of_a_record_are_a_graph(get: Get, plan: str) -> None:
    step, far = (f"{kind}:{int(plan[5:]) + n}" for n, kind in ((1, "note"), (2, "email")))
    body = await get(f"/api/graph/{plan}")
    assert body["ref"] == plan
    assert [(node["id"], node["depth"], node["kind"]) for node in body["nodes"]] == [
        (plan, 0, "note"), (step, 1, "note"), (far, 2, "email"),
    ]  # fmt: skip
    assert body["nodes"][1]["title"] == "First step"
    assert body["nodes"][1]["score"] == 1.0
    said = {"from": step, "created_at": body["nodes"][1]["created_at"]}
    assert body["edges"] == [
        {**said, "to": far, "type": "leads_to", "strength": 1.0, "origin": "given"},
        {**said, "to": plan, "type": "mentions", "strength": 0.9, "origin": "found"},
    ]
    assert body["stats"] == {"seed_count": 1, "cloud_count": 2, "edge_count": 2, "reached": 2}
    assert [n["id"] for n in (await get(f"/api/graph/{plan}", depth=1))["nodes"]] == [plan, step]
    assert len((await get(f"/api/graph/{plan}", limit=1))["nodes"]) == 2
    assert len((await get(f"/api/graph/{plan}", relation="leads_to"))["nodes"]) == 1
    assert await get(f"/api/graph/local:{plan}") == body


async def test_records_of_one_session_are_related(get: Get, numbers: dict[str, int]) -> None:
    body = await get(f"/api/graph/observation:{numbers['o1']}", depth=1)
    assert {edge["type"] for edge in body["edges"]} == {"follows", "same_session"}
    created = {node["id"]: node["created_at"] for node in body["nodes"]}
    for edge in body["edges"]:
        # Nobody said what is derived: it holds since the newer of both ends is there.
        assert edge["created_at"] == max(created[edge["from"]], created[edge["to"]])
    assert {node["id"] for node in body["nodes"][1:]} == {
        f"session_summary:{numbers['s1']}", f"observation:{numbers['o2']}",
    }  # fmt: skip


async def test_a_listing_says_how_each_record_is_related(
    client: Client, get: Get, plan: str
) -> None:
    number = int(plan[5:])
    body = await get(f"/api/graph/{plan}", format="text")
    text = body["content"][0]["text"]
    assert text.startswith(f"Found 2 record(s) related to 📝 Note #{number} - The plan\n")
    assert f"### 1 step away\n📝 Note #{number + 1} - First step (" in text
    assert f"<- mentions #{number}\n" in text
    assert text.endswith(f"<- #{number + 1} leads_to it")
    assert (body["ref"], body["total"]) == (plan, 2)
    bare = await client.get(f"/api/graph/{plan}", headers={"Accept": "text/plain"})
    assert (await bare.text()).strip() == text


async def test_a_record_without_ties_is_said_to_have_none(
    get: Get, numbers: dict[str, int]
) -> None:
    lonely = f"note:{numbers['n1']}"
    body = await get(f"/api/graph/{lonely}")
    assert ([node["id"] for node in body["nodes"]], body["edges"]) == ([lonely], [])
    text = (await get(f"/api/graph/{lonely}", format="text"))["content"][0]["text"]
    assert text.startswith("No results found related to ")


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/graph/note:99999", 404),
        ("/api/graph/observation:1", 404),
        ("/api/graph/nonsense", 422),
        ("/api/graph/observation:2?depth=0", 422),
        ("/api/graph/observation:2?depth=6", 422),
        ("/api/graph/observation:2?limit=0", 422),
        ("/api/graph/observation:2?format=full", 422),
        ("/api/graph/observation:2?relations=", 200),
        ("/api/graph/observation:2?deep=2", 422),
    ],
)
async def test_bad_input_is_named(client: Client, path: str, status: int) -> None:
    reply = await client.get(path)
    assert reply.status == status, await reply.text()


async def test_the_surroundings_are_placed_and_coloured_to_be_drawn(get: Get, plan: str) -> None:
    step, far = (f"{kind}:{int(plan[5:]) + n}" for n, kind in ((1, "note"), (2, "email")))
    body = await get(f"/api/graph/{plan}/drawing")
    assert {node["id"]: node["degree"] for node in body["nodes"]} == {step: 2, plan: 1, far: 1}
    assert body["nodes"][0]["id"] == step  # most edges first
    assert body["nodes"][0]["label"] == body["nodes"][0]["title"] == "First step"
    assert {(edge["source"], edge["target"], edge["relation"]) for edge in body["edges"]} == {
        (step, far, "leads_to"), (step, plan, "mentions"),
    }  # fmt: skip
    assert [(each["kind"], each["count"]) for each in body["legend"]] == [("note", 2), ("email", 1)]
    colours = {each["kind"]: each["colour"] for each in body["legend"]}
    for one in body["nodes"]:
        assert one["colour"] == colours[one["kind"]]
        for other in body["nodes"]:
            apart = (one["x"] - other["x"]) ** 2 + (one["y"] - other["y"]) ** 2
            assert one is other or apart > one["size"] ** 2
    assert await get(f"/api/graph/{plan}/drawing") == body
    near = await get(f"/api/graph/{plan}/drawing", depth=1)
    assert {node["id"] for node in near["nodes"]} == {plan, step}


async def test_a_drawing_of_what_is_not_there_is_refused(client: Client, plan: str) -> None:
    for path, status in ((f"{plan}/drawing?limit=0", 422), ("note:999999/drawing", 404)):
        reply = await client.get(f"/api/graph/{path}")
        assert reply.status == status
