"""claude-mem's clients read from this worker: what its worker tolerates, its export and import."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer
from claude_mem_client import BUN, NODE, send
from http_worker import AUTHORIZED, Client, lifecycle_of

from chosen_store import of_home
from mem_search.http.core.app import build_app
from mem_search.model import Filters
from mem_search.settings import Settings

EXPORT = "/api/search?format=json&limit=999999&query="
"""What claude-mem's export script asks, before the words."""


@pytest.fixture
async def bare(settings: Settings, tmp_path: Path) -> AsyncIterator[Client]:
    """A worker whose replies are not held against our OpenAPI document."""
    app = build_app(replace(settings, home=tmp_path / "bare", **of_home(tmp_path / "bare")))
    async with TestClient(TestServer(app)) as client:
        await lifecycle_of(client).ready()
        yield client


async def got(client: Client, path: str, **headers: str) -> Any:
    reply = await client.get(path, headers={**NODE, **headers})
    assert reply.status == 200, await reply.text()
    return await reply.json()


@pytest.mark.parametrize("client_headers", [NODE, BUN])
@pytest.mark.parametrize(
    "path",
    [
        "/api/search?query=auth&limit=200&nonsense=x",
        "/api/search?query=auth&limit=999999",
        "/api/search/observations?query=auth&limit=500&nonsense=x",
        "/api/search/by-file?filePath=src/auth.py&nonsense=x",
        "/api/timeline?query=auth&depth_before=100&depth_after=100&nonsense=x",
        "/api/timeline/by-query?query=auth&limit=50&nonsense=x",
        "/api/context/recent?limit=50&nonsense=x",
        "/api/context/inject?project=web&nonsense=x",
        "/api/observations?limit=500&nonsense=x",
        "/api/observations/by-file?path=src/auth.py&limit=500&nonsense=x",
        "/api/observation/1?nonsense=x",
        "/api/stats?nonsense=x",
        "/api/projects?nonsense=x",
        "/api/tool-uses?limit=999&nonsense=x",
        "/api/logs?lines=99999&nonsense=x",
        "/api/instructions?topic=examples&nonsense=x",
    ],
)
async def test_clients_may_send_what_claude_mems_worker_tolerates(
    client: Client, path: str, client_headers: dict[str, str], numbers: dict[str, int]
) -> None:
    path = path.replace("observation/1", f"observation/{numbers['o1']}")
    reply = await client.get(path, headers=client_headers)
    assert reply.status == 200, await reply.text()
    assert reply.headers.get("X-Mem-Search-Ignored") == ("nonsense" if "nonsense" in path else None)


@pytest.mark.parametrize("more", [AUTHORIZED, {"Accept": "application/json"}, {"User-Agent": "x"}])
async def test_programs_of_ours_are_told_what_is_wrong(
    client: Client, more: dict[str, str]
) -> None:
    reply = await client.get("/api/search?query=auth&limti=3", headers={**NODE, **more})
    problem = await reply.json()
    assert (reply.status, problem["field"]) == (422, "limti")
    assert "did you mean limit?" in problem["detail"]


async def test_a_value_that_means_nothing_is_still_an_error(client: Client) -> None:
    for path in ("/api/search?query=auth&limit=abc", "/api/search?query=auth&dateStart=sometime"):
        assert (await client.get(path, headers=NODE)).status == 422


async def test_the_header_narrows_reads_to_its_platform(bare: Client) -> None:
    for platform in ("codex", "cursor"):
        body = {"text": f"The {platform} ferry leaves at noon.", "project": "pier"}
        await send(bare, "/api/memory/save", body, **{"X-Platform-Source": platform})
    header = {"X-Platform-Source": "Codex"}
    listed = await got(bare, "/api/observations", **header)
    assert [each["metadata"]["platform"] for each in listed["items"]] == ["codex"]
    text = (await got(bare, "/api/search?query=ferry", **header))["content"][0]["text"]
    assert "codex ferry" in text
    assert "cursor ferry" not in text
    both = await got(bare, "/api/search?query=ferry&platformSource=cursor", **header)
    assert "cursor ferry" in both["content"][0]["text"]
    numbers = [each["number"] for each in (await got(bare, "/api/observations"))["items"]]
    opened = await send(bare, "/api/observations/batch", {"ids": numbers}, **header)
    assert [each["metadata"]["platform"] for each in await opened.json()] == ["codex"]
    rows = await got(bare, "/api/search?query=ferry&format=json&limit=1", **header)
    assert [each["platform_source"] for each in rows["observations"]] == ["codex"]


async def test_the_tag_of_a_search_is_not_that_of_a_narrower_one(client: Client) -> None:
    first = await client.get("/api/search?query=auth")
    tag = {"If-None-Match": first.headers["ETag"], "X-Platform-Source": "codex"}
    assert (await client.get("/api/search?query=auth", headers=tag)).status == 200


async def test_a_hook_asks_for_context_with_its_limit_as_text(client: Client) -> None:
    body = {
        "q": "how do we handle auth in the login?", "project": "web", "limit": "1",
        "platformSource": "claude", "observedBilling": "unknown",
    }  # fmt: skip
    reply = await send(client, "/api/context/semantic", body)
    assert (reply.status, (await reply.json())["count"]) == (200, 0)  # of no platform are stored
    del body["platformSource"]
    found = await (await send(client, "/api/context/semantic", body)).json()
    assert found["count"] == 1
    assert "<recalled-memory>" in found["context"]


async def test_numbers_of_every_kind_are_answered(client: Client, numbers: dict[str, int]) -> None:
    ids = [numbers["p1"], numbers["o1"], numbers["s1"]]
    reply = await send(client, "/api/observations/batch", {"ids": ids, "more": 1, "limit": 9999})
    assert [each["number"] for each in await reply.json()] == ids


async def test_the_export_has_every_row_that_its_query_finds(client: Client) -> None:
    everything = await got(client, EXPORT)
    assert [len(everything[name]) for name in ("observations", "sessions", "prompts")] == [28, 1, 1]
    assert (everything["totalResults"], everything["query"]) == (30, "")
    row = next(each for each in everything["observations"] if each["type"] == "feature")
    assert row["title"] == "Added login endpoint"
    assert row["files_modified"] == '["src/auth.py"]'
    assert row["created_at"] == "2025-11-17T17:45:00.000Z"
    widgets = await got(client, f"{EXPORT}widget&project=ui")
    assert [each["type"] for each in widgets["observations"]] == ["change"] * 25
    assert widgets["prompts"] == []
    prompts = await got(client, f"{EXPORT}*&type=prompts")
    assert (prompts["observations"], len(prompts["prompts"])) == ([], 1)


async def test_a_star_alone_is_everything(client: Client) -> None:
    for path, first in (
        ("/api/search?query=*&limit=1", "Backend keeps the rate limit"),
        ("/api/search?query=*&type=decision&limit=20", "Chose JWT over sessions"),
    ):
        text = (await got(client, path))["content"][0]["text"]
        assert first in text


async def test_an_export_is_imported_elsewhere_once(client: Client, bare: Client) -> None:
    exported = await got(client, EXPORT)
    ids = [each["memory_session_id"] for each in exported["observations"]]
    sessions = await send(client, "/api/sdk-sessions/batch", {"memorySessionIds": ids})
    body = {
        "sessions": await sessions.json(),
        "summaries": exported["sessions"],
        "observations": exported["observations"],
        "prompts": exported["prompts"],
    }
    replies = [await send(bare, "/api/import", body) for _ in range(2)]
    first, second = [await each.json() for each in replies]
    counts = {
        "sessionsImported": 1, "summariesImported": 1, "observationsImported": 28,
        "promptsImported": 1,
    }  # fmt: skip
    assert first["success"]
    assert {name: first["stats"][name] for name in counts} == counts
    assert {name: second["stats"][name] for name in counts} == dict.fromkeys(counts, 0)
    assert second["stats"]["observationsSkipped"] == 28
    again = await got(bare, EXPORT)
    for name in ("observations", "sessions", "prompts"):
        ours, theirs = (
            sorted((each["created_at"], each["project"], each.get("title")) for each in some[name])
            for some in (again, exported)
        )
        assert ours == theirs
    same = await send(client, "/api/import", body)
    assert (await same.json())["stats"]["observationsImported"] == 0


async def test_an_import_changes_nothing_and_stores_no_secret(bare: Client) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    row: dict[str, Any] = {
        "id": 1, "memory_session_id": "m1", "project": "pier", "type": "bugfix",
        "title": "Mended the gauge", "narrative": f"With the key {secret}.",
        "facts": ["one", "two"], "created_at_epoch": 1_764_000_000_000,
    }  # fmt: skip
    odd = [3, None, {"id": 5}, {"project": "observer-sessions", "title": "x"}]
    session = {
        "content_session_id": "c1", "memory_session_id": "m1", "platform_source": "codex",
    }  # fmt: skip
    body = {"sessions": [session, "x"], "observations": [row, *odd]}
    stats = (await (await send(bare, "/api/import", body)).json())["stats"]
    assert (stats["observationsImported"], stats["observationsSkipped"]) == (1, 4)
    assert (stats["sessionsImported"], stats["sessionsSkipped"]) == (1, 1)
    other = {**row, "narrative": "Something else."}
    await send(bare, "/api/import", {"sessions": [session], "observations": [other]})
    page, _ = await lifecycle_of(bare).runtime.store.records.page(Filters(), "date_asc", 9, 0)
    ((record, _),) = page
    assert "With the key" in record.text
    assert secret not in record.text
    assert record.metadata["facts"] == ["one", "two"]
    assert (record.metadata["platform"], record.session) == ("codex", "c1")


async def test_an_import_without_a_token_is_of_claude_mems_clients_alone(bare: Client) -> None:
    body = {"observations": [{"title": "x", "memory_session_id": "m"}]}
    for headers in ({"Origin": f"http://127.0.0.1:{bare.port}"}, {"X-Forwarded-For": "192.0.2.1"}):
        assert (await send(bare, "/api/import", body, **headers)).status == 401
    assert (await bare.post("/api/import", json=body)).status == 401
    ours = await send(bare, "/api/import", {"path": "/etc/hostname"}, **AUTHORIZED)
    assert ours.status in (202, 422)
    theirs = await (await send(bare, "/api/import", {"path": "/etc/hostname"})).json()
    assert theirs["stats"]["observationsImported"] == 0


async def test_a_corpus_is_built_asked_and_deleted(client: Client) -> None:
    body = {
        "name": "login", "description": "How one gets in", "project": "web",
        "types": "feature,decision", "limit": "20", "more": 1,
    }  # fmt: skip
    built = await (await send(client, "/api/corpus", body)).json()
    assert (built["name"], built["description"]) == ("login", "How one gets in")
    assert built["filter"] == {"project": "web", "types": ["feature", "decision"], "limit": 20}
    assert built["stats"]["observation_count"] == 2
    assert built["stats"]["type_breakdown"] == {"feature": 1, "decision": 1}
    assert built["stats"]["token_estimate"] > 0
    assert built["stats"]["date_range"]["latest"].startswith("2025-11-18")
    (text,) = (await got(client, "/api/corpus?more=1"))["content"]
    (listed,) = json.loads(text["text"])
    assert (listed["name"], listed["session_id"]) == ("login", "corpus.login")
    for step in ("prime", "reprime"):
        primed = await (await send(client, f"/api/corpus/login/{step}", {})).json()
        assert primed == {"session_id": "corpus.login", "name": "login"}
    question = {"question": "why tokens and not sessions?"}
    said = await (await send(client, "/api/corpus/login/query", question)).json()
    assert "Chose JWT over sessions" in said["answer"]
    assert "<recalled-memory>" in said["answer"]
    rebuilt = await (await send(client, "/api/corpus/login/rebuild", {})).json()
    assert rebuilt["stats"] == built["stats"]
    assert (await client.delete("/api/corpus/login", headers=NODE)).status == 401
    assert (await client.delete("/api/corpus/login", headers=AUTHORIZED)).status == 200
    gone = await client.get("/api/corpus/login", headers=NODE)
    assert (gone.status, (await gone.json())["field"]) == (404, "name")


async def test_a_corpus_of_words_has_what_they_find_and_grows(client: Client) -> None:
    body = {"name": "widgets", "query": "widget colour", "project": "ui"}
    first = await (await send(client, "/api/corpus", body)).json()
    assert first["stats"]["observation_count"] == 25
    again = await (await send(client, "/api/corpus", {**body, "name": "Widgets"})).json()
    assert again["stats"] == first["stats"]
    memory = {"text": "The widget lost its colour.", "project": "ui"}
    await send(client, "/api/memory/save", memory)
    grown = await (await send(client, "/api/corpus/widgets/rebuild", {})).json()
    assert grown["stats"]["observation_count"] == 26
    question = {"question": "how is auth handled in the login endpoint?"}
    said = await (await send(client, "/api/corpus/widgets/query", question)).json()
    assert "login" not in said["answer"].lower()  # which is of another project


async def test_bad_corpora_are_named(client: Client) -> None:
    for body, field in (
        ({"name": "../x"}, "name"),
        ({"project": "web"}, "name"),
        ({"name": "x", "date_start": "sometime"}, "dateStart"),
    ):
        reply = await send(client, "/api/corpus", body)
        problem = await reply.json()
        assert reply.status == 422
        named = [each.get("pointer", "") + each.get("parameter", "") for each in problem["errors"]]
        assert [each.strip("/") for each in named] == [field]
    assert (await send(client, "/api/corpus/none/query", {"question": "x"})).status == 404
    assert (await send(client, "/api/corpus/none/query", {})).status == 422
    origin = {"Origin": f"http://127.0.0.1:{client.port}"}
    assert (await send(client, "/api/corpus", {"name": "x"}, **origin)).status == 401


async def test_a_corpus_is_seen_among_the_saved_searches(client: Client) -> None:
    await send(client, "/api/corpus", {"name": "mine", "project": "web", "concepts": ["decision"]})
    reply = await client.get("/api/v1/saved-searches", headers=AUTHORIZED)
    (saved,) = (await reply.json())["saved_searches"]
    assert (saved["name"], saved["every"], saved["inbox"]) == ("corpus.mine", None, False)
