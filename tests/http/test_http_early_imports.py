"""Right after a start the rules of secrets are compiled, and nobody is held up by that."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer
from http_worker import AUTHORIZED as OWNER
from http_worker import Client, lifecycle_of

from chosen_store import in_a_file
from mem_search.http.core.app import build_app
from mem_search.jobs.sealed_params import WAITS_FOR_RULES
from mem_search.settings import Settings
from mem_search.text import secret_rules
from patience import PATIENCE
from secret_rules_gate import gate

NAME = "the-journal-of-the-harbour-master.jsonl"
TOKEN_SHAPE = "ghp_" + "aZ3kQ9xW1mN7vB5cD2fG8hJ4kL6pR0sT2uYe"
LINE = json.dumps({"kind": "note", "source_id": "1", "text": "The lamp of the harbour"}).encode()


@pytest.fixture
def may_compile() -> Iterator[threading.Event]:
    with gate() as event:
        yield event


@pytest.fixture
async def started(may_compile: threading.Event, settings: Settings) -> Any:
    async with TestClient(TestServer(build_app(settings))) as client:
        await lifecycle_of(client).ready()
        yield client


async def submitted(client: Client, name: str) -> str:
    reply = await client.post(f"/api/import/jsonl?name={name}", data=LINE, headers={
        **OWNER, "Content-Type": "application/x-ndjson"})  # fmt: skip
    assert reply.status == 202, await reply.text()
    return str((await reply.json())["job"])


async def state_of(client: Client, job: str) -> dict[str, Any]:
    return dict(await (await client.get(f"/api/jobs/{job}", headers=OWNER)).json())


async def ended(client: Client, job: str) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE):
        while not (state := await state_of(client, job))["ended_at"]:  # noqa: ASYNC110  asked by HTTP
            await asyncio.sleep(0.02)
    return state


async def test_an_import_is_taken_at_once_and_its_job_says_what_it_waits_for(
    started: Client, may_compile: threading.Event
) -> None:
    job = await submitted(started, NAME)
    state = await state_of(started, job)
    assert (state["state"], state["message"], state["params"]) == ("queued", WAITS_FOR_RULES, {})
    may_compile.set()
    state = await ended(started, job)
    assert (state["state"], state["params"]["path"]) == ("done", NAME)
    assert state["result"]["locations"][0]["new"] == 1


async def test_searches_are_answered_while_writes_wait_for_the_rules(
    started: Client, may_compile: threading.Event
) -> None:
    writing = [
        asyncio.create_task(
            started.put(
                f"/api/v1/scopes/the-scope-of-the-harbour-{n}",
                json={"filter": "tag:lamp"},
                headers=OWNER,
            )
        )
        for n in range(50)  # more than there are threads
    ]
    for n in range(5):
        found = await started.get(f"/api/search/unified?query=lamp{n}")
        counted = await started.get("/api/stats", headers=OWNER)
        assert (found.status, counted.status) == (200, 200)
    assert not secret_rules.are_loaded()
    assert not any(each.done() for each in writing)
    may_compile.set()
    assert {(await each).status for each in writing} == {200}


async def test_a_user_whose_name_waits_for_the_rules_holds_up_no_other(
    may_compile: threading.Event, settings: Settings
) -> None:
    behind = replace(settings, proxy_header="X-Remote-User")
    async with TestClient(TestServer(build_app(behind))) as client:
        await lifecycle_of(client).ready()

        async def asked(user: str) -> int:
            reply = await client.get("/api/stats", headers={"X-Remote-User": user})
            return reply.status

        waiting = asyncio.create_task(asked("the-keeper-of-the-harbour"))
        for user in ("ada", "bob"):
            assert await asked(user) == 200
        assert not waiting.done()
        assert not secret_rules.are_loaded()
        may_compile.set()
        assert await waiting == 200


@in_a_file("what is in the file is looked at")
async def test_a_secret_in_what_waits_is_never_stored_as_it_is(
    started: Client, may_compile: threading.Event, settings: Settings
) -> None:
    job = await submitted(started, f"{TOKEN_SHAPE}.jsonl")
    assert TOKEN_SHAPE not in stored(settings.home)
    may_compile.set()
    state = await ended(started, job)
    assert state["state"] == "done"
    assert TOKEN_SHAPE not in json.dumps(state)
    assert "[redacted:" in state["params"]["path"]
    assert TOKEN_SHAPE not in stored(settings.home)


async def test_a_job_that_waits_can_be_cancelled(
    started: Client, may_compile: threading.Event
) -> None:
    job = await submitted(started, NAME)
    await started.post(f"/api/jobs/{job}/cancel", headers=OWNER)
    assert (await state_of(started, job))["state"] == "queued"
    may_compile.set()
    assert (await ended(started, job))["state"] == "cancelled"


async def test_a_job_that_waits_survives_the_worker(
    may_compile: threading.Event, settings: Settings
) -> None:
    async with TestClient(TestServer(build_app(settings))) as client:
        await lifecycle_of(client).ready()
        job = await submitted(client, NAME)
    async with TestClient(TestServer(build_app(settings))) as client:
        runtime = await lifecycle_of(client).ready()
        assert len(await runtime.ingest.jobs.uploads()) == 1
        assert (await state_of(client, job))["message"] == WAITS_FOR_RULES
        may_compile.set()
        state = await ended(client, job)
        assert (state["state"], state["params"]["path"]) == ("done", NAME)


def stored(home: Path) -> str:
    files = [path for path in home.rglob("*") if path.is_file()]
    names = "\n".join(str(path) for path in files)
    return names + "".join(path.read_bytes().decode("latin-1") for path in files)
