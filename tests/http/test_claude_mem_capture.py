"""claude-mem's hooks and plug-ins tell sessions to this worker: recorded requests, our records."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer
from claude_mem_client import BUN, HOOKS, INIT, NODE, SESSION, SUMMARY, TOOL, send
from http_worker import AUTHORIZED, Client, lifecycle_of

from mem_search.features.capture import service as hook_events
from mem_search.features.capture.service import GRACE_SECONDS
from mem_search.http.core.app import build_app
from mem_search.model import Filters, Record
from mem_search.settings import Settings


@pytest.fixture(autouse=True)
def claude_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Claude Code's folder is a temporary one."""
    folder = tmp_path / "claude"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(folder))
    return folder


async def stored(client: Client) -> list[Record]:
    """What was captured, after every event was taken; the oldest first."""
    runtime = lifecycle_of(client).runtime
    await runtime.ingest.hooks.drain(time.time() + GRACE_SECONDS + 1)
    page, _ = await runtime.store.records.page(Filters(), "date_asc", 100, 0)
    return [record for record, _ in page]


async def test_a_session_that_the_hooks_tell_becomes_its_records(empty: Client) -> None:
    replies = [await (await send(empty, path, body)).json() for path, body in HOOKS]
    begun = replies.pop(0)
    assert isinstance(begun.pop("sessionDbId"), int)
    assert begun == {
        "promptNumber": 1,
        "skipped": False,
        "contextInjected": False,
        "status": "initialized",
    }
    assert [each["status"] for each in replies] == ["queued", "queued", "queued", "accepted"]
    records = await stored(empty)
    assert {(each.project, each.session) for each in records} == {("harbour", SESSION)}
    assert {each.metadata["platform"] for each in records} == {"claude"}
    of_kind = {kind: [r for r in records if r.kind == kind] for kind in {r.kind for r in records}}
    (prompt,) = of_kind["user_prompt"]
    assert prompt.text == INIT["prompt"]
    (summary,) = of_kind["session_summary"]
    assert summary.metadata["request"] == INIT["prompt"]
    assert "every wave" in summary.metadata["completed"]
    said = " ".join(str(each.metadata) for each in of_kind["observation"])
    assert "pytest -k gauge" in said
    assert "gauge.py" in said
    found = await (await empty.get("/api/search?query=tide+gauge&format=json")).json()
    assert found["results"][0]["session"] == SESSION


async def test_a_session_with_a_transcript_is_read_from_it_and_stored_once(
    empty: Client, claude_folder: Path
) -> None:
    await send(empty, "/api/sessions/init", INIT)  # Claude Code has not written anything yet
    folder = claude_folder / "projects" / "-gone-harbour"
    folder.mkdir(parents=True)
    line = {
        "type": "user", "uuid": "u1", "sessionId": SESSION, "cwd": "/gone/harbour",
        "timestamp": "2026-11-23T09:00:00Z",
        "message": {"role": "user", "content": INIT["prompt"]},
    }  # fmt: skip
    (folder / f"{SESSION}.jsonl").write_text(json.dumps(line) + "\n")
    for path, body in HOOKS[1:]:
        assert (await send(empty, path, body)).status == 200
    records = await stored(empty)
    assert [(each.kind, each.source_id) for each in records if each.kind == "user_prompt"] == [
        ("user_prompt", f"{SESSION}/u1")
    ]
    assert not (lifecycle_of(empty).settings.home / "hooks" / "sessions").exists()


async def test_opencode_and_openclaw_tell_what_was_said_as_a_tool(empty: Client) -> None:
    session = {"contentSessionId": "openclaw-agent:main:main-1764"}
    replies = [
        await send(empty, "/api/sessions/init", {**session, "project": "openclaw-main"}),
        await send(
            empty,
            "/api/sessions/init",
            {**session, "project": "openclaw-main", "prompt": "Water the ferns"},
        ),
        await send(
            empty,
            "/api/sessions/observations",
            {**session, "tool_name": "assistant_message", "tool_response": "The ferns are wet."},
        ),
        await send(
            empty, "/api/sessions/summarize", {**session, "last_assistant_message": ""}
        ),
    ]  # fmt: skip
    assert [each.status for each in replies] == [200] * 4
    assert (await replies[-1].json())["status"] == "skipped"
    records = await stored(empty)
    assert {each.session for each in records} == {session["contentSessionId"]}
    assert {each.project for each in records} == {"openclaw-main"}
    assert any("ferns are wet" in each.text for each in records)


async def test_tools_of_opencode_and_openclaw_are_known_by_their_own_names(empty: Client) -> None:
    for session, tool, given in (
        ("opencode-s1-5", "edit", {"filePath": "/gone/harbour/gauge.py"}),
        ("openclaw-main-6", "write", {"path": "/gone/harbour/pier.py", "content": "x"}),
    ):
        call = {"tool_name": tool, "tool_input": given, "tool_response": "done"}
        body = {"contentSessionId": session, "cwd": "/gone/harbour", **call}
        await send(empty, "/api/sessions/observations", body)
    for prompt in ("session start", "after compaction", "agent run"):  # nobody wrote these
        begun = {"contentSessionId": "openclaw-main-6", "project": "openclaw", "prompt": prompt}
        reply = await (await send(empty, "/api/sessions/init", begun)).json()
        assert (reply["status"], reply["skipped"]) == ("initialized", False)
    records = await stored(empty)
    assert not [each for each in records if each.kind == "user_prompt"]
    changed = [each.metadata["files_modified"] for each in records if each.kind == "observation"]
    assert sorted(changed) == [["gauge.py"], ["pier.py"]]


async def test_a_private_prompt_is_not_kept_anywhere(empty: Client) -> None:
    body = {**INIT, "prompt": "<private>the safe is 1234</private>"}
    reply = await (await send(empty, "/api/sessions/init", body)).json()
    assert (reply["skipped"], reply["reason"]) == (True, "private")
    assert await stored(empty) == []


async def test_secrets_are_redacted_before_an_event_waits_on_the_disk(empty: Client) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    runtime = lifecycle_of(empty).runtime
    body = {**TOOL, "tool_input": {"command": f"curl -H 'Authorization: token {secret}' x"}}
    await send(empty, "/api/sessions/observations", body)
    written = b"".join(f.read_bytes() for f in runtime.ingest.hooks.folder.iterdir())
    assert b"curl" in written
    assert secret.encode() not in written


@pytest.mark.parametrize(
    "header",
    [
        {"Origin": "http://127.0.0.1:{port}"},
        {"Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "none"},
        {"Sec-Fetch-Dest": "empty"},
        {"Referer": "http://127.0.0.1/"},
        {"Cookie": "a=b"},
        {"X-Forwarded-For": "192.0.2.1"},
        {"Via": "1.1 proxy"},
    ],
    ids=lambda header: next(iter(header)),
)
async def test_a_browser_or_a_forwarded_request_needs_the_token(
    empty: Client, header: dict[str, str]
) -> None:
    sent = {name: value.format(port=empty.port) for name, value in header.items()}
    for path, body in (*HOOKS, ("/api/memory/save", {"text": "x"})):
        assert (await send(empty, path, body, **sent)).status == 401
    assert await stored(empty) == []


@pytest.mark.parametrize("setting", ["capture_token", "read_token"])
async def test_settings_demand_the_token(settings: Settings, setting: str) -> None:
    app = build_app(replace(settings, **{setting: True}))
    async with TestClient(TestServer(app)) as client:
        await lifecycle_of(client).ready()
        assert (await send(client, "/api/sessions/init", INIT)).status == 401
        assert (await send(client, "/api/sessions/init", INIT, **AUTHORIZED)).status == 200


async def test_capture_without_a_token_is_capture_alone(client: Client) -> None:
    """Nothing else is written for a program without a token: it cannot change or remove."""
    for method, path, body in (
        ("DELETE", "/api/observation/1", None),
        ("PATCH", "/api/records/observation:1", {"title": "x"}),
        ("POST", "/api/records", {"kind": "note", "text": "x"}),
        ("POST", "/api/forget", {"refs": ["observation:1"]}),
        ("POST", "/api/hooks", {"hook_event_name": "Stop"}),
    ):
        reply = await client.request(method, path, json=body, headers=BUN)
        assert reply.status == 401, path


async def test_bad_input_names_its_field(empty: Client) -> None:
    for path, body, pointer in (
        ("/api/sessions/init", {"project": "x"}, "/contentSessionId"),
        ("/api/sessions/observations", {"contentSessionId": "x"}, "/tool_name"),
        ("/api/memory/save", {"title": "x"}, "/text"),
        ("/api/memory/save", {"text": ""}, "/text"),
    ):
        problem = await (await send(empty, path, body)).json()
        assert [each["pointer"] for each in problem["errors"]] == [pointer]
    reply = await send(empty, "/api/sessions/init", {**INIT, "contentSessionId": "../../etc"})
    assert (reply.status, (await reply.json())["field"]) == (422, "contentSessionId")
    reply = await empty.post("/api/sessions/init", data=b"{", headers=BUN)
    assert reply.status in (400, 415)


async def test_a_flood_is_refused_and_what_waits_stays(
    empty: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook_events, "MAX_WAITING", 2)
    hooks = lifecycle_of(empty).runtime.ingest.hooks
    monkeypatch.setattr(hooks, "wake", lambda: None)
    statuses = [(await send(empty, "/api/sessions/summarize", SUMMARY)).status for _ in range(3)]
    assert statuses == [200, 200, 503]
    assert len(list(hooks.folder.iterdir())) == 2


async def test_a_saved_memory_is_found_and_saved_once(empty: Client) -> None:
    body = {"text": "Tag releases from the pier branch.\nNever from main.", "project": "harbour"}
    replies = [await (await send(empty, "/api/memory/save", body)).json() for _ in range(2)]
    assert replies[0] == replies[1]
    number = replies[0]["id"]
    assert replies[0] == {
        "success": True,
        "id": number,
        "title": "Tag releases from the pier branch.",
        "project": "harbour",
        "message": f"Memory saved as observation #{number}",
    }
    opened = await empty.post("/api/observations/batch", json={"ids": [number]}, headers=NODE)
    (record,) = await opened.json()
    assert (record["metadata"]["type"], record["source"]) == ("discovery", "claude-mem")


async def test_the_header_names_the_platform(empty: Client) -> None:
    body: dict[str, Any] = {"text": "Codex likes ferries.", "title": "Ferries"}
    reply = await send(empty, "/api/memory/save", body, **{"X-Platform-Source": "codex"})
    number = (await reply.json())["id"]
    found = await (await empty.get(f"/api/observation/{number}")).json()
    assert found["metadata"]["platform"] == "codex"
