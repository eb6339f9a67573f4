"""What waits while a record is forgotten does not bring it back: jobs, events, searches."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from claude_mem_client import HOOKS, INIT, SESSION, send
from http_worker import AUTHORIZED, Client, ended, lifecycle_of

from mem_search.model import Filters, Location
from mem_search.wiring import Runtime
from patience import PATIENCE, becomes
from source_samples import claude_mem

LINE = '{"kind": "note", "source_id": "z1", "text": "The zorblax gauge"}\n'
NDJSON = {**AUTHORIZED, "Content-Type": "application/x-ndjson"}


async def stored(runtime: Runtime) -> list[str]:
    return [each.text for each in await runtime.store.records.newest(Filters(), 50)]


async def forget_all(runtime: Runtime) -> None:
    records = await runtime.store.records.newest(Filters(), 50)
    await runtime.ingest.forgetting.forget([each.number for each in records])
    await runtime.ingest.forgetting.work()


async def upload(client: Client) -> str:
    reply = await client.post(
        "/api/import/upload", data=LINE, headers=NDJSON, params={"source": "jsonl"}
    )
    assert reply.status == 202, await reply.text()
    return str((await reply.json())["job"])


async def test_a_job_that_was_queued_before_stores_nothing_after(empty: Client) -> None:
    runtime = lifecycle_of(empty).runtime
    await ended(empty, await upload(empty))
    assert await stored(runtime) == ["The zorblax gauge"]
    async with runtime.ingest.writer.changing:
        again = asyncio.create_task(upload(empty))
        await forget_all(runtime)
    job = await again
    await becomes(runtime.store.jobs.unfinished, lambda left: not left)
    # The forgetting takes out ended jobs that name what it removes, perhaps before anybody looks.
    if (done := await runtime.store.jobs.get(job)) is not None:
        assert done.result["locations"][0]["forgotten"] == 1
    assert await stored(runtime) == []


async def test_rows_of_claude_mem_that_come_again_are_refused(
    empty: Client, tmp_path: Path
) -> None:
    runtime = lifecycle_of(empty).runtime
    location = Location("claude-mem", str(claude_mem(tmp_path)))
    assert (await runtime.ingest.reader.read(location)).new == 3
    exported: dict[str, Any] = {
        "observations": [
            {"id": 1, "memory_session_id": "m1", "project": "harbour", "type": "bugfix",
             "title": "Lamp", "narrative": "The lamp burns.", "created_at_epoch": 1000}
        ]
    }  # fmt: skip
    await send(empty, "/api/import", exported)
    assert await stored(runtime)
    await forget_all(runtime)
    await runtime.ingest.reader.read(location, again=True)
    reply = await send(empty, "/api/import", exported)
    assert reply.status == 200, await reply.text()
    assert await stored(runtime) == []


async def test_an_event_that_waits_with_its_words_is_taken_out(empty: Client) -> None:
    runtime = lifecycle_of(empty).runtime
    hooks = runtime.ingest.hooks
    told = {"contentSessionId": "told-1", "prompt": "Where is the zorblax gauge kept?"}
    await send(empty, "/api/sessions/init", told)
    (event,) = hooks.folder.glob("*.json")
    kept = event.read_bytes()
    await hooks.drain(9e12)
    assert await stored(runtime)
    event.write_bytes(kept)  # a worker was killed after it had stored it
    await forget_all(runtime)
    assert not event.exists()
    event.write_bytes(kept)  # a hook leaves it once more
    await hooks.drain(9e12)
    assert await stored(runtime) == []


async def test_a_search_in_the_background_that_ends_later_has_no_result_of_it(
    empty: Client,
) -> None:
    runtime = lifecycle_of(empty).runtime
    await ended(empty, await upload(empty))
    jobs = runtime.research.search_jobs
    answered, go_on = asyncio.Event(), asyncio.Event()
    answer = jobs._answer

    async def slowly(job: Any) -> Any:
        reply = await answer(job)
        answered.set()
        await go_on.wait()
        return reply

    jobs._answer = slowly  # type: ignore[method-assign]
    body = {"query": "gauge", "background": True, "full_content": True}
    reply = await empty.post("/api/v1/search", json=body, headers=AUTHORIZED)
    name = (await reply.json())["job_id"]
    await answered.wait()
    await forget_all(runtime)
    go_on.set()
    async with asyncio.timeout(PATIENCE):
        while (shown := await status(empty, name)) is not None and shown["status"] == "running":  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    assert "zorblax" not in json.dumps(shown)


async def status(client: Client, job: str) -> Any:
    """The job as it is shown; None once it is gone."""
    reply = await client.get(f"/api/v1/search/jobs/{job}", headers=AUTHORIZED)
    return await reply.json() if reply.status == 200 else None


def transcript(prompt: str = INIT["prompt"], year: int = 2026) -> str:
    """Lines as Claude Code writes them: a prompt, a call of a tool, the last words."""
    use = {"type": "tool_use", "id": f"t{year}", "name": "Edit",
           "input": {"file_path": "/gone/harbour/lamp.py"}}  # fmt: skip
    result = {"type": "tool_result", "tool_use_id": f"t{year}", "content": "ok"}
    messages = [
        {"role": "user", "content": prompt},
        {"role": "assistant", "id": f"m1{year}", "content": [use]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "id": f"m2{year}", "content": [{"type": "text", "text": "Done."}]},
    ]
    return "".join(
        json.dumps({
            "type": message["role"], "uuid": f"u{year}-{number}", "sessionId": SESSION,
            "timestamp": f"{year}-01-01T00:00:0{number}.000Z", "cwd": "/gone/harbour",
            "message": message,
        }) + "\n"
        for number, message in enumerate(messages)
    )  # fmt: skip


async def captured(client: Client) -> list[str]:
    """What is stored once every event was taken."""
    runtime = lifecycle_of(client).runtime
    await runtime.ingest.hooks.drain(9e12)
    return await stored(runtime)


async def tell(client: Client, hooks: Sequence[tuple[str, dict[str, Any]]]) -> None:
    for path, body in hooks:
        assert (await send(client, path, body)).status == 200


@pytest.fixture
def claude_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the transcripts of Claude Code."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    folder = tmp_path / "claude" / "projects" / "-gone-harbour"
    folder.mkdir(parents=True)
    return folder


@pytest.mark.usefixtures("claude_folder")
async def test_a_capture_that_is_told_again_is_left_out_and_the_ledger_says_why(
    empty: Client,
) -> None:
    runtime = lifecycle_of(empty).runtime
    await tell(empty, HOOKS)
    assert len(await captured(empty)) >= 3
    await forget_all(runtime)
    for again in (HOOKS, HOOKS[1:], HOOKS[:1], [*reversed(HOOKS)]):
        await tell(empty, again)
        assert await captured(empty) == []
    (said,) = await runtime.store.ingest.ledger("claude-code", SESSION, 5, 0)
    assert (said.outcome, said.item) == ("left", SESSION)
    assert "forgotten" in said.reason
    assert "--even-forgotten" in said.reason


async def test_a_session_that_was_forgotten_stays_away_by_every_door(
    empty: Client, claude_folder: Path, tmp_path: Path
) -> None:
    runtime = lifecycle_of(empty).runtime
    written = transcript()
    await tell(empty, HOOKS)
    assert await captured(empty)
    await forget_all(runtime)
    (claude_folder / f"{SESSION}.jsonl").write_text(written)
    transcripts = Location("claude-code", str(claude_folder.parent))
    rows = {"observations": [
        {"id": 7, "memory_session_id": SESSION, "content_session_id": SESSION, "type": "bugfix",
         "title": "Gauge", "narrative": "The gauge counts.", "created_at_epoch": 1_700_000_000_000}
    ]}  # fmt: skip
    await runtime.ingest.reader.read(transcripts, again=True)
    await send(empty, "/api/import", rows)
    await tell(empty, HOOKS)
    assert await captured(empty) == []
    counts = await runtime.ingest.reader.read(transcripts, again=True, even_forgotten=True)
    assert counts.new
    assert await captured(empty)


@pytest.mark.usefixtures("claude_folder")
async def test_a_prompt_that_was_forgotten_alone_is_not_taken_from_a_second_telling(
    empty: Client,
) -> None:
    runtime = lifecycle_of(empty).runtime
    await tell(empty, HOOKS)
    assert INIT["prompt"] in await captured(empty)
    prompts, _ = await runtime.store.records.page(Filters(kinds=("user_prompt",)), "date_asc", 9, 0)
    await runtime.ingest.forgetting.forget([record.number for record, _ in prompts])
    await runtime.ingest.forgetting.work()
    await tell(empty, HOOKS)
    assert INIT["prompt"] not in await captured(empty)


async def test_what_was_said_since_the_forgetting_in_a_transcript_is_stored(
    empty: Client, claude_folder: Path
) -> None:
    runtime = lifecycle_of(empty).runtime
    file = claude_folder / f"{SESSION}.jsonl"
    file.write_text(transcript())
    transcripts = Location("claude-code", str(claude_folder.parent))
    assert (await runtime.ingest.reader.read(transcripts)).new
    await forget_all(runtime)
    file.write_text(transcript() + transcript("Paint the pier", 2097))
    await runtime.ingest.reader.read(transcripts, again=True)
    assert "Paint the pier" in await stored(runtime)
    assert not [text for text in await stored(runtime) if "gauge" in text]


async def test_the_same_words_said_later_are_stored_and_elsewhere_too(
    empty: Client, claude_folder: Path
) -> None:
    runtime = lifecycle_of(empty).runtime
    file = claude_folder / f"{SESSION}.jsonl"
    file.write_text(transcript() + transcript("continue", 2026).replace("u2026", "v2026"))
    transcripts = Location("claude-code", str(claude_folder.parent))
    await runtime.ingest.reader.read(transcripts)
    prompts = await runtime.store.records.newest(Filters(kinds=("user_prompt",)), 9)
    (forgotten,) = [each.number for each in prompts if each.text == "continue"]
    await runtime.ingest.forgetting.forget([forgotten])
    await runtime.ingest.forgetting.work()
    await runtime.ingest.reader.read(transcripts, again=True)
    assert "continue" not in await stored(runtime)
    with file.open("a") as more:
        more.write(transcript("continue", 2097))
    await runtime.ingest.reader.read(transcripts)
    assert (await stored(runtime)).count("continue") == 1
    other = "22222222-2222-3333-4444-555555555555"
    (claude_folder / f"{other}.jsonl").write_text(transcript("continue").replace(SESSION, other))
    await runtime.ingest.reader.read(transcripts)
    assert (await stored(runtime)).count("continue") == 2


async def test_a_row_without_a_time_does_not_bring_a_forgotten_session_back(
    empty: Client,
) -> None:
    runtime = lifecycle_of(empty).runtime

    async def send_row(number: int, **more: Any) -> None:
        row = {"id": number, "memory_session_id": "m1", "project": "harbour", "type": "bugfix"}
        reply = await send(empty, "/api/import", {"observations": [{**row, **more}]})
        assert reply.status == 200, await reply.text()

    await send_row(1, narrative="The lamp burns.", created_at_epoch=1_700_000_000_000)
    await forget_all(runtime)
    for time in (None, 0, -5, "soon", [], 1e300, 10**20):
        await send_row(2, narrative="The lamp burnt all night.", created_at_epoch=time)
        assert await stored(runtime) == [], time
    await send_row(3, narrative="The pier is painted.", created_at_epoch=4_000_000_000_000)
    assert await stored(runtime) == ["The pier is painted."]
