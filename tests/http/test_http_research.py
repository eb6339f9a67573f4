"""Research chains over HTTP: what is stored, the limit of chains, replay and export."""

from __future__ import annotations

from typing import Any

import pytest
from http_worker import AUTHORIZED, Client, lifecycle_of

from chosen_store import statement
from mem_search.model import Draft
from runtimes import fill, settled

SEARCH, FETCH = "/api/v1/search", "/api/v1/mcp/fetch"
OPERATIONS, SESSIONS = "/api/v1/search/operations", "/api/v1/search/sessions"


@pytest.fixture
async def client(client: Client) -> Client:
    """A worker whose index has taken in everything: from here on it does not change by itself."""
    await settled(lifecycle_of(client).runtime)
    return client


async def ask(client: Client, status: int = 200, **body: Any) -> Any:
    body = {"query": "auth", "mode": "deep_research", **body}
    reply = await client.post(SEARCH, json=body, headers=AUTHORIZED)
    assert reply.status == status, await reply.text()
    return await reply.json()


async def get(client: Client, path: str, status: int = 200, **params: Any) -> Any:
    reply = await client.get(path, params=params)
    assert reply.status == status, await reply.text()
    return await reply.json()


async def post(client: Client, path: str, status: int = 200, **params: Any) -> Any:
    reply = await client.post(path, params=params, headers=AUTHORIZED)
    assert reply.status == status, await reply.text()
    return await reply.json()


async def replay(client: Client, operation: str, **params: Any) -> Any:
    return await post(client, f"{OPERATIONS}/{operation}/replay", **params)


async def test_a_basic_search_keeps_nothing(client: Client) -> None:
    reply = await ask(client, mode="basic", session_id="mine")
    assert (reply["operations"], reply["session_id"]) == (None, None)
    assert (await get(client, OPERATIONS))["total"] == 0


async def test_a_step_is_returned_and_stored_with_all_its_fields(client: Client) -> None:
    reply = await ask(
        client, content_types=["observation", "note"], created_after="2024-01-01T00:00:00Z"
    )
    (operation,) = reply["operations"]
    assert set(operation) == {
        "id", "operation_type", "query", "sources", "content_types", "result_count",
        "execution_time_ms", "created_at",
    }  # fmt: skip
    assert operation["operation_type"] == "search"
    assert operation["sources"] == ["local"]
    assert operation["content_types"] == ["observation", "note"]
    assert operation["result_count"] == len(reply["items"]) > 0
    assert operation["execution_time_ms"] == reply["execution_time_ms"]

    kept = await get(client, f"{OPERATIONS}/{operation['id']}")
    assert {name: kept[name] for name in operation} == operation
    assert kept["session_id"] == reply["session_id"]
    assert kept["parent_operation_id"] is None
    assert kept["result_ids"] == [item["id"] for item in reply["items"]]
    assert all(len(result["content_hash"]) == 32 for result in kept["results"])
    assert [result["rank"] for result in kept["results"]] == [*range(1, len(kept["results"]) + 1)]
    assert kept["total_count"] == reply["total_count"]
    assert kept["request"]["created_after"] == "2024-01-01T00:00:00.000Z"
    assert kept["request"]["search_type"] == "hybrid"
    assert {leg["name"] for leg in kept["search"]["legs"]} == {"keyword", "vector"}
    assert kept["index_state"]["revision"] > 0
    # What is kept can be sent again as it is.
    again = await client.post(SEARCH, json=kept["request"], headers=AUTHORIZED)
    assert (await again.json())["total_count"] == reply["total_count"]


async def test_steps_of_one_session_follow_each_other(client: Client) -> None:
    first = await ask(client, session_id="a session")
    root = first["operations"][0]["id"]
    second = await ask(client, query="jwt", session_id="a session", parent_operation_id=root)
    third = await ask(client, query="tokens", parent_operation_id=root)
    assert third["session_id"] == "a session"
    assert second["operations"][0]["operation_type"] == "refine"
    fetched = await client.post(
        FETCH,
        json={
            "id": first["items"][0]["id"],
            "parent_operation_id": second["operations"][0]["id"],
        },
        headers=AUTHORIZED,
    )
    step = (await fetched.json())["operations"][0]
    assert (step["operation_type"], step["result_count"]) == ("fetch", 1)
    await ask(client, query="another chain", session_id="a session")

    tree = await get(client, f"{SESSIONS}/a session")
    assert tree["operations"] == 5
    assert [root["query"] for root in tree["tree"]] == ["auth", "another chain"]
    children = tree["tree"][0]["children"]
    assert [child["query"] for child in children] == ["jwt", "tokens"]
    assert [child["operation_type"] for child in children[0]["children"]] == ["fetch"]

    other = await ask(client, query="elsewhere")
    listed = await get(client, OPERATIONS)
    assert listed["total"] == 6
    assert listed["operations"][0]["id"] == other["operations"][0]["id"]
    mine = await get(client, OPERATIONS, session_id="a session", operation_type="search")
    assert [each["query"] for each in mine["operations"]] == ["another chain", "auth"]
    page = await get(client, OPERATIONS, limit="2", offset="1")
    assert [each["query"] for each in page["operations"]] == ["another chain", step["query"]]
    sessions = (await get(client, SESSIONS))["sessions"]
    assert [(each["operations"], each["first_query"]) for each in sessions] == [
        (1, "elsewhere"),
        (5, "auth"),
    ]


async def test_a_fetch_without_a_session_is_only_a_fetch(client: Client) -> None:
    reply = await client.post(FETCH, json={"id": "observation:2"})
    said = await reply.json()
    assert (said["operations"], said["session_id"]) == (None, None)
    assert (await get(client, OPERATIONS))["total"] == 0


async def test_a_parent_has_to_be_there_and_of_the_same_session(client: Client) -> None:
    root = (await ask(client, session_id="one"))["operations"][0]["id"]
    missing = await ask(client, 404, parent_operation_id="nothing")
    assert missing["errors"][0]["pointer"] == "/parent_operation_id"
    foreign = await ask(client, 422, session_id="two", parent_operation_id=root)
    assert foreign["errors"][0]["pointer"] == "/parent_operation_id"
    assert "belongs to session one" in foreign["detail"]
    assert (await get(client, OPERATIONS))["total"] == 1


async def test_a_chain_over_its_limit_conflicts(client: Client) -> None:
    parent = (await ask(client, max_operations=1))["operations"][0]["id"]
    for _ in range(2):
        parent = (await ask(client, parent_operation_id=parent, max_operations=3))["operations"][0][
            "id"
        ]
    over = await ask(client, 409, parent_operation_id=parent, max_operations=3)
    assert over["errors"][0]["pointer"] == "/max_operations"
    assert "begin a new chain" in over["detail"]
    over = await client.post(
        FETCH,
        json={"id": "observation:2", "parent_operation_id": parent, "max_operations": 3},
        headers=AUTHORIZED,
    )
    assert over.status == 409
    assert (await get(client, OPERATIONS))["total"] == 3
    await ask(client, parent_operation_id=parent, max_operations=4)


async def test_the_same_index_gives_the_identical_result(client: Client) -> None:
    for body in (
        {},
        {"search_type": "keyword"},
        {"search_type": "semantic", "limit": 3},
        {"query": 'widget -"number 3" since:2025', "limit": 5, "offset": 5},
        {"query": "type:decision", "content_types": ["observation"]},
    ):
        first = await ask(client, **body)
        again = await replay(client, first["operations"][0]["id"])
        assert (again["identical"], again["index_unchanged"]) == (True, True)
        assert again["drift"] is None
        timing = ("execution_time_ms", "search")
        assert {k: v for k, v in again["result"].items() if k not in timing} == {
            k: v for k, v in first.items() if k not in timing
        }
    assert (await get(client, OPERATIONS))["total"] == 5


async def test_a_replay_is_as_of_the_time_of_the_first_search(client: Client) -> None:
    first = await ask(client, query='auth before:"1 hour ago"')
    operation = first["operations"][0]["id"]
    kept = await get(client, f"{OPERATIONS}/{operation}")
    # As if it had been asked before any of the records was written.
    database = lifecycle_of(client).runtime.store.database
    await database.write(
        lambda c: c.execute(
            statement(
                "update search_operations set request = json_set(request, '$.asked_at', ?)",
                "update search_operations"
                " set request = jsonb_set(request, '{asked_at}', to_jsonb(%s::text))",
            ),
            ("2020-01-01T00:00:00+00:00",),
        )
    )
    assert kept["asked_at"] > "2026"
    again = await replay(client, operation)
    assert again["result"]["total_count"] == 0
    assert {each["id"] for each in again["drift"]["gone"]} == {i["id"] for i in first["items"]}


async def test_a_changed_index_is_reported_as_drift(
    client: Client, numbers: dict[str, int]
) -> None:
    asked = {"query": "auth", "search_type": "keyword"}
    first = await ask(client, **asked)
    operation = first["operations"][0]["id"]
    before = [item["id"] for item in first["items"]]
    runtime = lifecycle_of(client).runtime
    await client.delete(f"/api/records/observation:{numbers['o2']}", headers=AUTHORIZED)
    await fill(
        runtime,
        Draft("note", "jsonl", "n1", "Papers about auth and passwords and keys.", "Reading list"),
        Draft("note", "jsonl", "new", "auth auth auth, the newest about auth.", "Auth"),
    )
    again = await replay(client, operation)
    assert (again["identical"], again["index_unchanged"]) == (False, False)
    assert again["index_now"]["revision"] > again["index_before"]["revision"]
    drift = again["drift"]
    (gone,) = drift["gone"]
    gone_id = f"local:observation:{numbers['o2']}"
    assert gone == {
        "id": gone_id,
        "rank_before": before.index(gone_id) + 1,
        "rank_now": None,
        "deleted": True,
    }
    (appeared,) = drift["appeared"]
    assert appeared["rank_before"] is None
    assert again["result"]["items"][appeared["rank_now"] - 1]["id"] == appeared["id"]
    assert [each["id"] for each in drift["changed"]] == [f"local:note:{numbers['n1']}"]
    now = [item["id"] for item in again["result"]["items"]]
    assert {each["id"] for each in drift["moved"]} == {
        ref for ref in before if ref in now and before.index(ref) != now.index(ref)
    }
    assert (drift["total_before"], drift["total_now"]) == (len(before), len(now))
    assert "result" not in await replay(client, operation, results="false")


async def test_a_fetch_is_replayed_as_what_the_record_is_now(
    client: Client, numbers: dict[str, int]
) -> None:
    ref = f"local:note:{numbers['n1']}"
    reply = await client.post(FETCH, json={"id": ref, "session_id": "s"}, headers=AUTHORIZED)
    operation = (await reply.json())["operations"][0]["id"]
    same = await replay(client, operation)
    assert same["identical"]
    assert same["result"]["id"] == ref
    draft = Draft("note", "jsonl", "n1", "Rewritten.", "Reading list")
    await fill(lifecycle_of(client).runtime, draft)
    changed = await replay(client, operation)
    assert [each["id"] for each in changed["drift"]["changed"]] == [ref]
    await client.delete(f"/api/records/note:{numbers['n1']}", headers=AUTHORIZED)
    gone = await replay(client, operation)
    assert gone["drift"]["gone"][0]["deleted"]
    assert gone["result"] is None


async def test_a_whole_session_is_replayed(client: Client) -> None:
    root = (await ask(client, session_id="s"))["operations"][0]["id"]
    await ask(client, query="widget", parent_operation_id=root)
    same = await post(client, f"{SESSIONS}/s/replay")
    assert (same["identical"], same["index_unchanged"]) == (True, True)
    assert [each["operation"]["query"] for each in same["operations"]] == ["auth", "widget"]
    assert "result" not in same["operations"][0]
    await fill(
        lifecycle_of(client).runtime, Draft("note", "jsonl", "w", "A widget more.", "Widget")
    )
    drifted = await post(client, f"{SESSIONS}/s/replay", results="true")
    assert not drifted["identical"]
    assert drifted["operations"][1]["drift"]["appeared"]
    assert drifted["operations"][1]["result"]["items"]


async def test_replays_and_their_searches_leave_no_trace(client: Client) -> None:
    operation = (await ask(client))["operations"][0]["id"]
    for _ in range(3):
        await replay(client, operation)
    (popular,) = (await get(client, "/api/search/popular"))["queries"]
    assert (popular["query"], popular["times"]) == ("auth", 1)


async def test_a_question_with_a_secret_is_kept_without_it(client: Client) -> None:
    secret = "AKIA" + "QYLPMN5HFIQR7XYZ"
    reply = await ask(client, query=f"auth {secret}")
    (operation,) = reply["operations"]
    kept = await get(client, f"{OPERATIONS}/{operation['id']}")
    assert kept["redacted"]
    assert secret not in str(kept)
    rows = await lifecycle_of(client).runtime.store.database.read(
        lambda c: c.execute("select * from search_operations").fetchall()
    )
    assert secret not in str(rows)
    refused = await post(client, f"{OPERATIONS}/{operation['id']}/replay", 409)
    assert "held a secret" in refused["detail"]
    whole = await post(client, f"{SESSIONS}/{reply['session_id']}/replay")
    assert whole["not_replayed"] == [operation["id"]]


async def test_a_session_is_exported_with_its_citations(
    client: Client, numbers: dict[str, int]
) -> None:
    first = await ask(client, session_id="s *1*", search_type="keyword")
    root = first["operations"][0]["id"]
    await ask(client, query="[tokens]", parent_operation_id=root, search_type="keyword")
    await client.delete(f"/api/records/note:{numbers['n1']}", headers=AUTHORIZED)
    await fill(
        lifecycle_of(client).runtime,
        Draft("user_prompt", "jsonl", "p1", "How do we handle auth now?", project="web"),
    )
    exported = await get(client, f"{SESSIONS}/s *1*/export")
    assert [each["query"] for each in exported["operations"]] == ["auth", "[tokens]"]
    found = [result["id"] for each in exported["operations"] for result in each["results"]]
    sources = {source["id"]: source for source in exported["sources"]}
    assert list(sources) == list(dict.fromkeys(found))
    assert [source["number"] for source in sources.values()] == [*range(1, len(sources) + 1)]
    states = {source["state"] for source in sources.values()}
    assert states == {"same", "changed", "gone"}
    gone = sources[f"local:note:{numbers['n1']}"]
    assert (gone["state"], gone["citation"], gone["title"]) == ("gone", None, None)
    assert sources[f"local:user_prompt:{numbers['p1']}"]["state"] == "changed"
    same = sources[f"local:observation:{numbers['o1']}"]
    assert same["citation"]["source_title"] == "Added login endpoint"
    assert same["found_by"][0] == root
    assert same["reference"].startswith("Added login endpoint. (2025, November 17).")
    chicago = await get(client, f"{SESSIONS}/s *1*/export", style="chicago")
    assert chicago["sources"][0]["reference"].startswith("“")

    reply = await client.get(f"{SESSIONS}/s *1*/export", params={"format": "markdown"})
    assert reply.content_type == "text/markdown"
    text = await reply.text()
    assert text.startswith("# Research session s \\*1\\*\n")
    assert "- search, keyword: **auth**" in text
    assert "  - refine, keyword: **\\[tokens\\]**" in text
    number = same["number"]
    assert f"{number}. Added login endpoint. (2025, November 17). \\[Observation\\]." in text
    assert "(changed since)" in text
    assert "(forgotten or deleted since)" in text
    plain = await client.get(f"{SESSIONS}/s *1*/export", headers={"Accept": "text/markdown"})
    assert plain.content_type == "application/json"


async def test_a_session_is_forgotten_with_the_token(client: Client) -> None:
    await ask(client, session_id="s")
    assert (await client.delete(f"{SESSIONS}/s")).status == 401
    reply = await client.delete(f"{SESSIONS}/s", headers=AUTHORIZED)
    assert await reply.json() == {"deleted": 1}
    assert (await client.delete(f"{SESSIONS}/s", headers=AUTHORIZED)).status == 404
    assert (await get(client, OPERATIONS))["total"] == 0


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", f"{OPERATIONS}/nothing"),
        ("POST", f"{OPERATIONS}/nothing/replay"),
        ("GET", f"{SESSIONS}/nothing"),
        ("POST", f"{SESSIONS}/nothing/replay"),
        ("GET", f"{SESSIONS}/nothing/export"),
    ],
)
async def test_what_there_is_not_is_not_found(client: Client, method: str, path: str) -> None:
    reply = await client.request(method, path)
    assert (reply.status, (await reply.json())["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    ("path", "parameter"),
    [
        (f"{OPERATIONS}?limit=0", "limit"),
        (f"{OPERATIONS}?operation_type=guess", "operation_type"),
        (f"{OPERATIONS}?session=x", "session"),
        (f"{SESSIONS}/s/export?format=pdf", "format"),
    ],
)
async def test_bad_parameters_are_named(client: Client, path: str, parameter: str) -> None:
    reply = await client.get(path)
    assert reply.status == 422
    assert (await reply.json())["errors"][0]["parameter"] == parameter
