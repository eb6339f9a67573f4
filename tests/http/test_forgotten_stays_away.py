"""What waits while a record is forgotten does not bring it back: jobs, events, searches."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from claude_mem_client import send
from http_worker import AUTHORIZED, Client, ended, lifecycle_of

from mem_search.model import Filters, Location
from mem_search.wiring import Runtime
from patience import PATIENCE
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
    done = await ended(empty, await again)
    assert done["result"]["locations"][0]["forgotten"] == 1
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
