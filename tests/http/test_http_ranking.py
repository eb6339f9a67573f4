"""Supersession, folding, diversity and boosts over HTTP, from a file of records to a listing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from http_worker import Client, lifecycle_of

from mem_search.http.routes import UNIVERSAL_PATH
from mem_search.model import Location

LINES: tuple[dict[str, Any], ...] = (
    {"kind": "note", "source_id": "old", "title": "Deploy", "text": "Deploy by hand, by hand."},
    {
        "kind": "note",
        "source_id": "new",
        "title": "Pipeline",
        "text": "To deploy, push to the pipeline and wait.",
        "links": [{"to": "old", "relation": "supersedes"}],
    },
    {"kind": "memory", "source_id": "m1", "text": "Deploy only on Monday.", "session": "s"},
    {"kind": "memory", "source_id": "m2", "text": "deploy only on monday", "session": "s"},
    {"kind": "memory", "source_id": "m3", "text": "Never deploy at night", "session": "s"},
)


@pytest.fixture
async def worker(empty: Client, tmp_path: Path) -> Client:
    file = tmp_path / "records.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in LINES), "utf-8")
    await lifecycle_of(empty).runtime.ingest.reader.read(Location("jsonl", str(file)))
    return empty


async def results(worker: Client, **params: str) -> dict[str, Any]:
    reply = await worker.get("/api/search", params={"format": "json", **params})
    assert reply.status == 200, await reply.text()
    found: dict[str, Any] = await reply.json()
    return found


async def test_a_listing_says_what_is_superseded_and_what_is_similar(worker: Client) -> None:
    reply = await worker.get(
        "/api/search",
        params={"query": "deploy", "mode": "keyword"},
        headers={"Accept": "text/plain"},
    )
    lines = (await reply.text()).splitlines()
    assert lines[0] == 'Found 5 result(s) matching "deploy":'
    (place,) = [n for n, line in enumerate(lines) if "Note #1 - Deploy" in line]
    assert lines[place].endswith("[superseded by #2]")
    assert "Note #2 - Pipeline" in lines[place - 1]
    assert lines[place - 1].endswith("[supersedes #1]")
    assert any(line.endswith("[1 similar: #4]") for line in lines)
    assert "1 near-duplicate(s) folded: fold=false lists them" in lines


async def test_json_has_the_refs_and_folding_can_be_turned_off(worker: Client) -> None:
    found = await results(worker, query="deploy", mode="keyword")
    by = {result["ref"]: result for result in found["results"]}
    assert by["note:1"]["superseded_by"] == "note:2"
    assert by["note:2"]["supersedes"] == ["note:1"]
    assert by["memory:3"]["similar"] == ["memory:4"]
    assert (found["total"], found["folded"], len(found["results"])) == (5, 1, 4)
    unfolded = await results(worker, query="deploy", mode="keyword", fold="false")
    assert (unfolded["total"], unfolded["folded"], len(unfolded["results"])) == (5, 0, 5)


async def test_an_opened_record_says_it_too(worker: Client) -> None:
    opened = await (await worker.get("/api/records/note:1")).json()
    assert (opened["superseded_by"], opened["supersedes"]) == ("note:2", [])
    whole = await worker.get(
        "/api/records/note:2", params={"format": "full"}, headers={"Accept": "text/plain"}
    )
    assert "Supersedes: note:1" in await whole.text()
    timeline = await worker.get(
        "/api/timeline", params={"anchor": "note:2"}, headers={"Accept": "text/plain"}
    )
    assert "[superseded by #2]" in await timeline.text()


@pytest.mark.parametrize(
    ("query", "sources"),
    [
        ("deploy is:superseded", {"note:1"}),
        ("deploy kind:note -is:superseded", {"note:2"}),
        ("kind:note is:current", {"note:2"}),
        ("is:superseded", {"note:1"}),
    ],
)
async def test_is_superseded_filters(worker: Client, query: str, sources: set[str]) -> None:
    found = await results(worker, query=query)
    assert {result["ref"] for result in found["results"]} == sources
    assert found["total"] == len(sources)


async def test_a_link_that_goes_takes_the_mark_with_it(worker: Client, tmp_path: Path) -> None:
    file = tmp_path / "changed.jsonl"
    file.write_text(json.dumps({**LINES[1], "links": []}) + "\n", "utf-8")
    await lifecycle_of(worker).runtime.ingest.reader.read(Location("jsonl", str(file)))
    opened = await (await worker.get("/api/records/note:1")).json()
    assert opened["superseded_by"] is None
    assert (await results(worker, query="is:superseded"))["total"] == 0


async def test_session_limits_and_boosts_are_options(worker: Client) -> None:
    found = await results(worker, query="deploy", per_session="1", boost="recency,importance")
    kinds = [result["kind"] for result in found["results"]]
    assert kinds.index("memory") < len(kinds) - 1
    assert kinds[-1] == "memory"
    assert all("recency" in result["scores"] for result in found["results"])


@pytest.mark.parametrize(
    ("name", "value"), [("fold", "perhaps"), ("per_session", "0"), ("boosts", "luck")]
)
async def test_what_cannot_be_is_refused_by_name(worker: Client, name: str, value: str) -> None:
    reply = await worker.get("/api/search", params={"query": "deploy", name: value})
    assert reply.status == 422
    problem = await reply.json()
    assert [fault["parameter"] for fault in problem["errors"]] == [name]


async def test_the_weighted_search_marks_and_filters_as_well(worker: Client) -> None:
    async def items(route: str, **body: Any) -> dict[str, Any]:
        reply = await worker.post(f"/api/v2/search/{route}", json=body)
        assert reply.status == 200, await reply.text()
        return {item["id"]: item for item in (await reply.json())["data"]["items"]}

    found = await items("hybrid", query="deploy")
    assert found["note:1"]["superseded_by"] == "note:2"
    assert found["note:2"]["supersedes"] == ["note:1"]
    assert set(await items("hybrid", query="deploy is:superseded")) == {"note:1"}
    assert "note:1" not in await items("vector", query="deploy by hand -is:superseded")
    assert set(await items("vector", query="deploy by hand is:superseded")) == {"note:1"}


async def test_the_universal_search_lifts_and_marks_and_gives_every_match_a_place(
    worker: Client,
) -> None:
    reply = await worker.post(UNIVERSAL_PATH, json={"query": "deploy", "search_type": "keyword"})
    assert reply.status == 200, await reply.text()
    found = await reply.json()
    ids = [item["id"] for item in found["items"]]
    assert found["total_count"] == len(ids) == 5
    assert ids.index("local:note:2") < ids.index("local:note:1")
    by = {item["id"]: item["metadata"] for item in found["items"]}
    assert by["local:note:1"]["superseded_by"] == "local:note:2"
    assert by["local:note:2"]["supersedes"] == ["local:note:1"]
    assert "superseded_by" not in by["local:memory:3"]
