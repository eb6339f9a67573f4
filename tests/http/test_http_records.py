"""Records over HTTP: opened, listed, deleted; timelines and recent context."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from http_worker import AUTHORIZED, Client, Get, lifecycle_of
from people import OWNER, bring_in, join
from yarl import URL

import drafts
from mem_search.model import Location
from runtimes import fill

AS_JSON = {"Accept": "application/json"}


async def test_a_listing_number_opens_its_record_on_the_route_of_its_kind(
    get: Get, numbers: dict[str, int]
) -> None:
    assert (await get(f"/api/session/{numbers['s1']}"))["title"].startswith("Implemented JWT")
    assert (await get(f"/api/prompt/{numbers['p1']}"))["text"] == "How do we handle auth?"
    opened = await get(f"/api/observation/{numbers['o1']}")
    assert opened["links"] == [{"to": "https://example.org/jwt", "relation": "cites"}]
    assert await get(f"/api/records/local:observation:{numbers['o1']}") == opened


async def test_a_number_of_another_kind_says_where_it_is(
    client: Client, numbers: dict[str, int]
) -> None:
    reply = await client.get(f"/api/observation/{numbers['n1']}")
    assert reply.status == 404
    assert f"/api/records/note:{numbers['n1']}" in (await reply.json())["detail"]


@pytest.fixture
async def of_claude_mem(empty: Client) -> Client:
    """A worker with observation 2001 and session 12 of a claude-mem store, as records 1 and 2."""
    stored = [
        ("observation", "observation:2001"),
        ("session_summary", "0a1b2c3d:session_summary:12"),
    ]
    await fill(
        lifecycle_of(empty).runtime,
        *(drafts.draft(id_, "tides", kind=kind, source="claude-mem") for kind, id_ in stored),
    )
    return empty


@pytest.mark.parametrize(
    ("written", "ref"),
    [
        ("%231", "observation:1"), ("1", "observation:1"), ("S2", "session_summary:2"),
        ("cm:2001", "observation:1"), ("cm:S12", "session_summary:2"),
    ],
)  # fmt: skip
async def test_routes_take_every_form_of_an_id(
    of_claude_mem: Client, written: str, ref: str
) -> None:
    worker, plain = of_claude_mem, written.replace("%23", "#")
    for path in ("/api/records/", "/v/"):
        reply = await worker.get(URL(f"{path}{written}", encoded=True), headers=AS_JSON)
        assert (await reply.json())["ref"] == ref
    reply = await worker.get(URL(f"/api/graph/{written}", encoded=True))
    assert (await reply.json())["ref"] == ref
    reply = await worker.post("/api/records/batch", json={"refs": [plain, "note:9"]})
    opened = await reply.json()
    assert [each["ref"] for each in opened["records"]] == [ref]
    assert opened["missing"] == ["note:9"]
    reply = await worker.get("/api/timeline", params={"anchor": plain, "format": "json"})
    assert (await reply.json())["anchor"] == ref
    reply = await worker.get("/api/citations", params={"refs": plain, "style": "csl-json"})
    assert [each["id"] for each in json.loads(await reply.text())] == [ref]
    reply = await worker.post("/api/v1/mcp/fetch", json={"id": plain})
    assert (await reply.json())["id"] == f"local:{ref}"
    # A number alone is a number in a question.
    asked = f"#{plain}" if plain.isdecimal() else plain
    reply = await worker.get("/api/search/unified", params={"query": asked, "format": "json"})
    assert (await reply.json())["results"][0]["ref"] == ref


async def test_what_is_no_id_is_told_with_the_forms(client: Client) -> None:
    reply = await client.get("/api/records/nonsense")
    assert reply.status == 422
    assert "write kind:number" in (await reply.json())["detail"]


async def test_a_record_opens_as_text_on_request(client: Client, get: Get) -> None:
    text = (await get("/api/observation/2", format="full"))["content"][0]["text"]
    assert "Added login endpoint" in text
    assert "cites https://example.org/jwt" in text
    bare = await client.get("/api/observation/2", headers={"Accept": "text/plain"})
    assert (await bare.text()).strip() == text.strip()


@pytest.mark.parametrize("ids", [[5, 2, 999, 4, 2, 1], "5,2,999,4,2,1", "[5, 2, 999, 4, 2, 1]"])
async def test_observations_come_in_the_requested_order(client: Client, ids: object) -> None:
    reply = await client.post("/api/observations/batch", json={"ids": ids})
    assert [record["number"] for record in await reply.json()] == [
        5,
        2,
        4,
        1,
    ]  # whatever its kind, which claude-mem's clients do not know


async def test_observations_are_narrowed_and_ordered_on_request(client: Client) -> None:
    body = {"ids": [2, 5, 4], "orderBy": "date_desc", "limit": 2}
    reply = await client.post("/api/observations/batch", json=body)
    assert [record["number"] for record in await reply.json()] == [5, 4]
    body = {"ids": [2, 5, 4], "project": "api"}
    reply = await client.post("/api/observations/batch", json=body)
    assert [record["number"] for record in await reply.json()] == [5]


@pytest.mark.parametrize("spelled", ["platformSource", "platform_source"])
async def test_what_claude_mems_clients_list_is_of_the_platform_they_name(
    empty: Client, tmp_path: Path, spelled: str
) -> None:
    file = tmp_path / "two-platforms.jsonl"
    kinds = ("observation", "session_summary", "user_prompt")
    said = [
        {"kind": kind, "text": f"{kind} of {name}", "project": name, "metadata": {"platform": name}}
        for name in ("claude", "codex")
        for kind in kinds
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in said), "utf-8")
    await lifecycle_of(empty).runtime.ingest.reader.read(Location("jsonl", str(file)))

    async def get(path: str) -> Any:
        return await (await empty.get(path, params={spelled: "codex"})).json()

    for path in ("/api/observations", "/api/summaries", "/api/prompts"):
        assert [item["project"] for item in (await get(path))["items"]] == ["codex"]
    assert [each["name"] for each in (await get("/api/projects"))["projects"]] == ["codex"]
    assert "of claude" not in str(await get("/api/context/recent"))
    body = {"ids": [1, 4], spelled: "codex"}
    batch = await (await empty.post("/api/observations/batch", json=body)).json()
    assert [record["project"] for record in batch] == ["codex"]


async def test_an_error_about_an_unknown_field_names_the_known_ones(client: Client) -> None:
    reply = await client.post("/api/observations/batch", json={"ids": [2], "zzz": 1})
    known = "choose one of ids, orderBy, limit, project, platformSource"
    assert (await reply.json())["detail"] == f"zzz: unknown field; {known}"
    reply = await client.get("/api/stats", params={"zzz": "1"})
    assert (await reply.json())["detail"] == "zzz: unknown parameter; there are none here"


async def test_refs_that_are_not_there_are_named(client: Client) -> None:
    refs = ["observation:2", "local:user_prompt:3", "observation:3", "note:999"]
    reply = await client.post("/api/records/batch", json={"refs": refs})
    body = await reply.json()
    assert [record["ref"] for record in body["records"]] == ["observation:2", "user_prompt:3"]
    assert body["missing"] == ["observation:3", "note:999"]


async def test_lists_go_through_everything_in_pages(get: Get) -> None:
    first = await get("/api/observations", limit=20)
    rest = await get("/api/observations", limit=20, offset=20)
    assert (first["hasMore"], rest["hasMore"], first["total"]) == (True, False, 28)
    dates = [item["created_at"] for item in first["items"] + rest["items"]]
    assert len(dates) == 28
    assert dates == sorted(dates, reverse=True)
    assert (await get("/api/summaries"))["total"] == 1
    assert (await get("/api/prompts", project="nothing"))["items"] == []


async def test_a_forgotten_record_is_gone_everywhere(client: Client, get: Get) -> None:
    reply = await client.delete("/api/records/observation:2", headers=AUTHORIZED)
    answer = await reply.json()
    assert answer["deleted"] == "observation:2"
    assert answer["receipt"]["removed"]["records"] == 1
    assert "records" not in answer["receipt"]["pending"]
    assert (await client.get("/api/observation/2")).status == 404
    assert (await get("/api/search", query="login", types="observations"))["total"] == 0
    again = await client.delete("/api/observation/2", headers=AUTHORIZED)
    assert again.status == 404


async def test_records_are_forgotten_by_what_they_are(client: Client, get: Get) -> None:
    async def post(status: int = 200, **body: Any) -> Any:
        reply = await client.post("/api/forget", json=body, headers=AUTHORIZED)
        assert reply.status == status
        return await reply.json()

    everything = (await get("/api/stats"))["records"]["total"]
    assert (await post(422))["code"] == "VAL_FIELD_REQUIRED"
    await post(409, refs=["note:6"], project="web")
    await post(404, refs=["note:999"])
    assert (await post(before="1990-01-01", count_only=True))["count"] == 0
    selected = await post(query="login", count_only=True)
    assert selected["count"] == len(selected["records"]) > 1
    one = await post(query=f"login {selected['records'][0]['title']}", count_only=True)
    assert 1 <= one["count"] <= selected["count"]
    await post(409, query="login", expected=selected["count"] + 1)
    done = await post(query="login", expected=selected["count"])
    assert done["receipt"]["removed"]["records"] == selected["count"]
    assert (await get("/api/stats"))["records"]["total"] == everything - selected["count"]
    assert (await post(query="login", count_only=True))["count"] == 0
    listed = await get("/api/forget")
    assert [each["id"] for each in listed["receipts"]] == [done["receipt"]["id"]]
    assert (await client.post("/api/forget", json={"query": "x"})).status == 401
    assert (await client.get("/api/forget/none")).status == 404


@pytest.mark.parametrize(
    ("anchor", "ref"),
    [
        ("2", "observation:2"),
        ("#2", "observation:2"),
        ("observation:2", "observation:2"),
        ("local:note:6", "note:6"),
        ("S1", "session_summary:1"),
        ("#S1", "session_summary:1"),
        ("p3", "user_prompt:3"),
        ("2025-11-18", "2025-11-18T00:00:00.000Z"),
        ("2025-11-17T17:40:00Z", "2025-11-17T17:40:00.000Z"),
    ],
)
async def test_a_timeline_takes_any_kind_of_anchor(get: Get, anchor: str, ref: str) -> None:
    for path in ("/api/timeline", "/api/context/timeline"):
        reply = await get(path, anchor=anchor, depth_before=1, depth_after=1)
        assert reply["anchor"] == ref
        assert ("<- anchor" in reply["content"][0]["text"]) == (":" in ref and "T" not in ref)


async def test_a_timeline_is_in_order_of_time_and_of_the_requested_length(get: Get) -> None:
    reply = await get("/api/timeline", anchor=2, depth_before=1, depth_after=2, format="json")
    assert [record["number"] for record in reply["records"]] == [1, 2, 3, 4]
    of_kind = await get("/api/timeline", anchor=2, types="prompts", format="json")
    assert [record["number"] for record in of_kind["records"]] == [2, 3]
    alone = await get("/api/timeline", anchor=2, depth_before=0, depth_after=0, format="full")
    assert "Added login endpoint" in alone["content"][0]["text"]


async def test_a_question_finds_its_own_anchor(get: Get) -> None:
    reply = await get("/api/timeline/by-query", query="login endpoint")
    assert reply["anchor"] == "observation:2"
    assert (await get("/api/timeline", query="login endpoint"))["anchor"] == "observation:2"
    for shape in ("index", "json"):
        told = await get("/api/timeline", query='login "endpoint', format=shape)
        assert told["search"]["realised"] == "hybrid"
        assert "not closed" in told["search"]["analyzed"]["warnings"][0]
    assert "search" not in await get("/api/timeline", anchor=2)
    choice = await get("/api/timeline/by-query", query="auth", mode="interactive", limit=2)
    text = choice["content"][0]["text"]
    assert text.startswith("Choose an anchor among the best of 5")
    nothing = await get("/api/timeline/by-query", query="zzqqxx")
    assert nothing["content"][0]["text"].startswith("No results found")


async def test_recent_context_is_the_newest_sessions_with_their_observations(get: Get) -> None:
    reply = await get("/api/context/recent", project="web")
    assert reply["sessions"] == ["session_summary:1"]
    assert reply["observations"] == ["observation:4", "observation:2"]
    assert "Learned: Tokens expire early" in reply["content"][0]["text"]
    only = await get("/api/context/recent", project="ui", max_chars=1000)
    assert len(only["content"][0]["text"]) <= 1000
    assert only["observations"][0] == "observation:31"
    unknown = await get("/api/context/recent", project="nobody")
    assert 'Nothing is known of "nobody"' in unknown["content"][0]["text"]


async def test_a_user_forgets_only_records_of_their_own(empty: Client) -> None:
    ada = await join(empty, "ada")
    record = {"kind": "note", "source_id": "n", "text": "the harbour"}
    for person in (OWNER, ada):
        await bring_in(empty, person, record)
    theirs = {"json": {"query": "harbour"}, "headers": ada.headers}
    assert (await (await empty.post("/api/forget", **theirs)).json())["count"] == 1
    assert (await (await empty.post("/api/forget", **theirs)).json())["count"] == 0
    mine = {"json": {"query": "harbour", "count_only": True}, "headers": AUTHORIZED}
    assert (await (await empty.post("/api/forget", **mine)).json())["count"] == 1
    receipts = await empty.get("/api/forget", headers=AUTHORIZED)
    assert (await receipts.json())["receipts"] == []


@pytest.mark.parametrize(
    ("query", "count"),
    [("har*", 1), ("*arbour", 1), ("harbuor~", 1), ("gar* water", 1), ("harbour *ater", 0),
     ("xyz*", 0), ("*xyz", 0), ("NOT har*", 1), ("*", 2)],
)  # fmt: skip
async def test_words_with_signs_select_what_a_search_finds(
    empty: Client, query: str, count: int
) -> None:
    for name, text in (("a", "the harbour"), ("b", "the garden needs water")):
        await bring_in(empty, OWNER, {"kind": "note", "source_id": name, "text": text})
    asked = {"query": query, "count_only": True}
    reply = await empty.post("/api/forget", json=asked, headers=AUTHORIZED)
    assert (await reply.json())["count"] == count


@pytest.mark.parametrize("query", ["?!", "()", '"', "-", "\0", "\u200b"])
async def test_a_query_that_asks_nothing_forgets_nothing(empty: Client, query: str) -> None:
    await bring_in(empty, OWNER, {"kind": "note", "source_id": "n", "text": "the harbour"})
    for narrowed in ({}, {"source": "api"}):
        refused = await empty.post(
            "/api/forget", json={"query": query, **narrowed}, headers=AUTHORIZED
        )
        assert refused.status == 422
        assert (await refused.json())["field"] == "query"
    assert (await (await empty.get("/api/stats")).json())["records"]["total"] == 1
