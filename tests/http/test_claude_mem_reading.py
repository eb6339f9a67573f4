"""What claude-mem's clients read that no route of ours has in that form: files, sessions, tools."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from claude_mem_client import BUN, NODE, SESSION, send
from http_worker import Client, Get, lifecycle_of

from mem_search.errors import ModelUnavailable
from mem_search.model import Filters, Location
from patience import PATIENCE, comes_true

TOPICS = ("workflow", "search_params", "examples")


async def got(client: Client, path: str) -> Any:
    reply = await client.get(path, headers=BUN)
    assert reply.status == 200, await reply.text()
    return await reply.json()


async def test_observations_about_a_file_are_rows_newest_first(client: Client) -> None:
    paths = "path=/gone/web/src/auth.py&path=src/auth.py"
    found = await got(client, f"/api/observations/by-file?{paths}&projects=api,web&limit=15")
    assert found["count"] == 1
    (row,) = found["observations"]
    assert (row["title"], row["type"]) == ("Added login endpoint", "feature")
    assert json.loads(row["files_modified"]) == ["src/auth.py"]
    assert json.loads(row["files_read"]) == []
    assert row["memory_session_id"] == "one"
    assert row["created_at_epoch"] == 1_763_401_500_000
    assert (await got(client, f"/api/observations/by-file?{paths}&projects=ui"))["count"] == 0
    reply = await client.get("/api/observations/by-file", headers=BUN)
    assert (reply.status, (await reply.json())["field"]) == (422, "path")


async def test_sessions_are_put_together_from_their_records(client: Client) -> None:
    for ids in (["one", "none"], "one,none", '["one", "none"]'):
        reply = await send(client, "/api/sdk-sessions/batch", {"memorySessionIds": ids})
        (session,) = await reply.json()
        assert session["memory_session_id"] == session["content_session_id"] == "one"
        assert (session["project"], session["platform_source"]) == ("web", "claude")
        assert session["user_prompt"] == "How do we handle auth?"
        assert session["started_at"] == "2025-11-17T17:30:00.000Z"
        assert (session["status"], session["custom_title"]) == (
            "completed", "Implemented JWT authentication",
        )  # fmt: skip


async def test_what_a_tool_was_given_is_read_from_the_transcript_redacted(
    empty: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    asked = {"ids": ["toolu_1", 5, "toolu_9"], "contentSessionId": SESSION}
    assert await (await send(empty, "/api/tool-uses/batch", asked)).json() == []
    folder = tmp_path / "claude" / "projects" / "-gone-harbour"
    folder.mkdir(parents=True)
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}}
    answer = {"type": "tool_result", "tool_use_id": "toolu_1", "content": f"key {secret}"}
    lines = [
        {"type": kind, "uuid": kind, "sessionId": SESSION, "cwd": "/gone/harbour",
         "timestamp": "2026-11-23T09:00:00Z", "message": {"role": kind, "content": [block]}}
        for kind, block in (("assistant", call), ("user", answer))
    ]  # fmt: skip
    (folder / f"{SESSION}.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    assert await (await send(empty, "/api/tool-uses/batch", asked)).json() == []  # nothing stored
    memory = {"text": "The pier has a gauge."}
    await send(empty, "/api/memory/save", memory)
    tool = {"contentSessionId": SESSION, "tool_name": "Bash", "cwd": "/gone/harbour"}
    await send(empty, "/api/sessions/observations", tool)
    async with asyncio.timeout(PATIENCE):
        while not (found := await (await send(empty, "/api/tool-uses/batch", asked)).json()):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    (use,) = found
    assert (use["tool_use_id"], use["tool_name"], use["tool_input"]) == (
        "toolu_1", "Bash", {"command": "ls"},
    )  # fmt: skip
    assert secret not in json.dumps(use)
    assert use["tool_response"].startswith("key ")
    # Without a session the newest sessions of the project are looked through, and they are listed.
    for project, calls in (("harbour", 1), ("", 1), ("pier", 0)):
        anywhere = {"ids": ["toolu_1"], "project": project}
        assert len(await (await send(empty, "/api/tool-uses/batch", anywhere)).json()) == calls
        listed = await got(empty, f"/api/tool-uses?project={project}&limit=999&tool_name=Bash,Edit")
        assert listed["count"] == len(listed["toolUses"]) == calls
    (row,) = (await got(empty, f"/api/tool-uses?contentSessionId={SESSION}"))["toolUses"]
    assert (row["id"], row["project"], row["platform_source"]) == ("toolu_1", "harbour", "claude")
    assert row["created_at_epoch"] == 1_795_424_400_000
    assert row["tool_input_bytes"] == len('{"command": "ls"}')
    assert row["tool_response_bytes"] > len(secret)
    assert "ls" not in row.values()
    for nothing in ("tool_name=Edit", "dateStart=1795424400001", "dateEnd=2026-11-22", "offset=1"):
        assert (await got(empty, f"/api/tool-uses?{nothing}"))["count"] == 0, nothing


async def test_a_stream_greets_and_tells_what_is_stored(client: Client) -> None:
    def told(line: bytes) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(line.removeprefix(b"data: "))
        return value

    async with asyncio.timeout(PATIENCE), client.get("/stream", headers=NODE) as reply:
        assert reply.content_type == "text/event-stream"
        events = [told(line) for line in [await reply.content.readuntil(b"\n\n") for _ in "ab"]]
        assert [each["type"] for each in events] == ["connected", "initial_load"]
        assert set(events[1]["projects"]) == {"web", "api", "ui"}
        await send(client, "/api/memory/save", {"text": "The gauge was mended.", "project": "pier"})
        event = told(await reply.content.readuntil(b"\n\n"))
        assert event["type"] == "new_observation"
        assert event["observation"]["title"] == "The gauge was mended."
        assert event["observation"]["project"] == "pier"
        assert isinstance(event["timestamp"], int)


async def test_the_state_of_the_worker_has_no_key_and_no_path(client: Client, get: Get) -> None:
    assert set(await get("/api/processing-status")) >= {"isProcessing", "queueDepth"}
    settings = await get("/api/settings")
    assert all(name.startswith("CLAUDE_MEM_") for name in settings)
    assert not any("/" in value or "KEY" in name for name, value in settings.items())
    assert (await get("/api/chroma/status"))["status"] == "disabled"
    assert await get("/api/sync/status") == {"configured": False, "enabled": False}
    assert await get("/api/mcp/status") == {"enabled": True}
    assert await get("/api/settings/dependency-health") == {"degraded": False, "statuses": []}
    explained = await client.get("/api/onboarding/explainer", headers=NODE)
    assert "mem-search" in await explained.text()


async def test_what_does_not_work_is_named_with_the_next_step(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    indexer = lifecycle_of(client).runtime.ingest.indexer

    async def damaged() -> int:
        raise ModelUnavailable("the model file is damaged")

    monkeypatch.setattr(indexer, "embed_some", damaged)
    indexer.wake()
    await comes_true(lambda: indexer.error)
    health = await got(client, "/api/settings/dependency-health")
    assert health["degraded"] is True
    (lacking,) = health["statuses"]
    assert (lacking["dependency"], lacking["message"]) == ("embedder", "the model file is damaged")
    assert lacking["kind"] == "vector_search_unavailable"
    assert "mem-search doctor" in lacking["remediation"]


async def test_the_end_of_the_log_is_for_the_owner(client: Client) -> None:
    assert (await got(client, "/api/logs?lines=2"))["exists"] is False
    folder = lifecycle_of(client).settings.logs_dir
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "worker.log").write_text("one\ntwo\nthree\n")
    assert await got(client, "/api/logs?lines=2") == {
        "logs": "two\nthree", "path": "worker.log", "exists": True,
        "totalLines": 3, "returnedLines": 2,
    }  # fmt: skip


async def test_instructions_say_how_to_search_here(client: Client) -> None:
    async def told(query: str) -> str:
        (part,) = (await got(client, f"/api/instructions{query}"))["content"]
        text: str = part["text"]
        return text

    whole = await told("")
    topics = {topic: await told(f"?topic={topic}") for topic in TOPICS}
    assert all(text in whole for text in topics.values())
    assert "/api/search/unified" in topics["workflow"]
    assert "dateStart" in topics["search_params"]
    assert "/api/records/" in topics["examples"]
    for operation in ("search", "context", "summarize", "import", "export"):
        assert len(await told(f"?operation={operation}")) < 200
    reply = await client.get("/api/instructions?topic=cooking", headers=BUN)
    assert (reply.status, (await reply.json())["field"]) == (422, "topic")


def transcript(folder: Path, *turns: tuple[str, str]) -> None:
    """A transcript of ``SESSION``: each turn is a prompt and the file that is then edited."""
    folder.mkdir(parents=True)
    lines: list[dict[str, Any]] = []
    for number, (prompt, file) in enumerate(turns):
        use = f"toolu_{number}"
        edit = {"type": "tool_use", "id": use, "name": "Edit", "input": {"file_path": file}}
        done = {"type": "tool_result", "tool_use_id": use, "content": f"edited {file}"}
        for kind, content in (
            ("user", prompt), ("assistant", [edit]), ("user", [done]),
            ("assistant", [{"type": "text", "text": f"The file {file} is as you wanted it now."}]),
        ):  # fmt: skip
            place = len(lines)
            lines.append(
                {"type": kind, "uuid": f"u{place}", "sessionId": SESSION, "cwd": "/gone/harbour",
                 "timestamp": f"2026-11-23T09:00:{place:02}Z",
                 "message": {"role": kind, "id": f"m{place}", "content": content}}
            )  # fmt: skip
    (folder / f"{SESSION}.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in lines))


async def test_calls_of_a_forgotten_step_are_not_there_though_the_transcript_is(
    empty: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    folder = tmp_path / "claude" / "projects" / "-gone-harbour"
    transcript(folder, ("Mend the lamp", "lamp.py"), ("Mend the zorblax", "zorblax.py"))
    runtime = lifecycle_of(empty).runtime
    location = Location("claude-code", str(folder.parent))
    await runtime.ingest.reader.read(location)
    asked = {"ids": ["toolu_0", "toolu_1"], "contentSessionId": SESSION}

    async def uses() -> tuple[list[str], list[str], list[str]]:
        of_session = await (await send(empty, "/api/tool-uses/batch", asked)).json()
        anywhere = await (await send(empty, "/api/tool-uses/batch", {"ids": asked["ids"]})).json()
        listed = (await got(empty, "/api/tool-uses?project=harbour"))["toolUses"]
        return tuple([each["id"] for each in some] for some in (of_session, anywhere, listed))  # type: ignore[return-value]

    assert [sorted(each) for each in await uses()] == [["toolu_0", "toolu_1"]] * 3
    records = await runtime.store.records.newest(Filters(session=SESSION), 20)
    work = [each for each in records if each.kind == "observation" and "zorblax" in each.text]
    await runtime.ingest.forgetting.forget([each.number for each in work])
    assert await uses() == (["toolu_0"],) * 3
    for again in (True, False):  # what the source offers again is refused, and stays hidden
        await runtime.ingest.reader.read(location, again=again)
        assert await uses() == (["toolu_0"],) * 3

    # Forgetting all of the session, which then goes on, hides what was before.
    records = await runtime.store.records.newest(Filters(session=SESSION), 20)
    await runtime.ingest.forgetting.forget([each.number for each in records])
    assert await uses() == ([], [], [])
    file = folder / f"{SESSION}.jsonl"
    more = {"type": "user", "uuid": "u9", "sessionId": SESSION, "cwd": "/gone/harbour",
            "timestamp": "2099-11-23T09:00:00Z",
            "message": {"role": "user", "content": "And now?"}}  # fmt: skip
    with file.open("a") as opened:
        opened.write(f"{json.dumps(more)}\n")
    await runtime.ingest.reader.read(location)
    assert await runtime.store.records.newest(Filters(session=SESSION), 20)
    assert await uses() == ([], [], [])
