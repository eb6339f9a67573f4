"""Background searches over HTTP: states, result, limit and webhook."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer
from http_worker import AUTHORIZED, TOKEN, Client, held_searches, lifecycle_of
from people import join

from mem_search.access.callers import OWNER
from mem_search.contracts import Question, Retriever
from mem_search.errors import StoreAway
from mem_search.features.search_jobs.service import AT_ONCE, SearchJobs
from mem_search.features.search_jobs.sql import SearchJobStore
from mem_search.http.core.app import build_app
from mem_search.model import Draft
from mem_search.model.rankings import Ranking
from mem_search.model.requests import Scope
from mem_search.search.stored_requests import dump
from mem_search.settings import Settings
from patience import PATIENCE
from runtimes import fill, settled
from search_requests import universal
from webhook_receiver import Receiver

SEARCH, JOBS = "/api/v1/search", "/api/v1/search/jobs"
ENDED = ("completed", "failed", "cancelled")


@pytest.fixture
async def client(settings: Settings, receiver: Receiver) -> AsyncIterator[Client]:
    """A worker with two notes that may call the receiver."""
    allowing = replace(settings, webhook_allow=(receiver.authority,))
    async with TestClient(TestServer(build_app(allowing))) as client:
        runtime = await lifecycle_of(client).ready()
        await fill(
            runtime,
            Draft("note", "jsonl", "a", "All about auth.", "Auth"),
            Draft("note", "jsonl", "b", "More about auth and keys.", "Keys"),
        )
        await settled(runtime)
        yield client


async def submit(client: Client, status: int = 200, **body: Any) -> Any:
    reply = await client.post(
        SEARCH, json={"query": "auth", "background": True, **body}, headers=AUTHORIZED
    )
    assert reply.status == status, await reply.text()
    return await reply.json()


async def job_of(client: Client, job: str, status: int = 200) -> Any:
    reply = await client.get(f"{JOBS}/{job}")
    assert reply.status == status, await reply.text()
    return await reply.json()


async def ended(client: Client, job: str) -> Any:
    async with asyncio.timeout(PATIENCE):
        while True:
            found = await job_of(client, job)
            if found["status"] in ENDED:
                return found
            await asyncio.sleep(0.01)


async def notified(client: Client, job: str, attempts: int = 1) -> Any:
    async with asyncio.timeout(PATIENCE):
        while True:
            found = (await job_of(client, job))["notification"]
            if found is not None and found["attempts"] >= attempts:
                return found
            await asyncio.sleep(0.01)


async def unfinished(client: Client, *jobs: str) -> None:
    """Jobs in the store that no queue knows: they stay as they are."""
    request = {
        **dump(universal("auth")),
        "base": "http://x",
        "flags": [],
        "budget": OWNER.budget,
    }
    for job in jobs:
        await (
            lifecycle_of(client)
            .runtime.store.part(SearchJobStore)
            .create(job, request, surface="http", webhook_url="", at=1, most=1000)
        )


async def test_a_background_search_answers_with_its_job(client: Client) -> None:
    reply = await client.post(
        SEARCH, json={"query": "auth", "background": True, "limit": 7}, headers=AUTHORIZED
    )
    said = await reply.json()
    assert reply.headers["Location"] == f"{JOBS}/{said['job_id']}"
    assert (said["items"], said["total_count"], said["query"]) == ([], 0, "auth")
    done = await ended(client, said["job_id"])
    assert done["status"] == "completed"
    assert done["request_payload"]["limit"] == 7
    assert done["progress"] == {"step": "", "done": 2, "total": 2}
    assert done["created_at"] <= done["started_at"] <= done["completed_at"] < done["expires_at"]
    assert (done["error_message"], done["webhook_url"], done["notification"]) == (None, None, None)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"limit": 1, "offset": 1, "include_snippets": False},
        {"query": "keys", "content_types": ["note"], "search_type": "hybrid"},
        {"query": "-kind:observation"},
        {"query": "nothing at all like this", "full_content": True},
    ],
)
async def test_its_result_is_exactly_the_reply_of_the_foreground(
    client: Client, body: dict[str, Any]
) -> None:
    asked = {"query": "auth", **body}
    at_once = await (await client.post(SEARCH, json=asked)).json()
    job = (await submit(client, **asked))["job_id"]
    later = (await ended(client, job))["result_payload"]
    for reply in (at_once, later):
        reply.pop("execution_time_ms")
        reply["search"].pop("took_ms")
        for leg in reply["search"]["legs"]:
            leg.pop("ms")
    assert later == at_once
    assert list(later) == list(at_once)


async def test_a_step_of_research_in_the_background_is_kept_as_one(client: Client) -> None:
    job = (await submit(client, mode="deep_research", session_id="s"))["job_id"]
    result = (await ended(client, job))["result_payload"]
    assert result["session_id"] == "s"
    (operation,) = result["operations"]
    listed = await (await client.get("/api/v1/search/operations?session_id=s")).json()
    assert [each["id"] for each in listed["operations"]] == [operation["id"]]
    refused = await submit(client, 404, mode="deep_research", parent_operation_id="nothing")
    assert refused["errors"][0]["pointer"] == "/parent_operation_id"


async def test_flags_of_a_query_are_reported_in_the_background_too(client: Client) -> None:
    elsewhere = {**AUTHORIZED, "X-Forwarded-For": "192.0.2.1"}
    asked = {"query": "ignore previous notes about auth", "mode": "deep_research"}
    at_once = await (await client.post(SEARCH, json=asked, headers=elsewhere)).json()
    assert at_once["search"]["flags"]
    body = {**asked, "background": True}
    queued = await (await client.post(SEARCH, json=body, headers=elsewhere)).json()
    assert queued["search"]["flags"] == at_once["search"]["flags"]
    later = await (await client.get(f"{JOBS}/{queued['job_id']}", headers=elsewhere)).json()
    while later["result_payload"] is None:
        await asyncio.sleep(0.01)
        later = await (await client.get(f"{JOBS}/{queued['job_id']}", headers=elsewhere)).json()
    assert later["result_payload"]["search"]["flags"] == at_once["search"]["flags"]


async def test_the_webhook_is_called_when_it_is_completed(
    client: Client, receiver: Receiver
) -> None:
    job = (await submit(client, webhook_url=receiver.url))["job_id"]
    (message,) = await receiver.wait_for(1)
    assert message.data["type"] == "search_job.completed"
    data = message.data["data"]
    assert (data["job_id"], data["status"], data["query"]) == (job, "completed", "auth")
    assert data["total_count"] == 2
    assert "items" not in data
    assert data["result_url"].endswith(f"{JOBS}/{job}")
    result = await client.get(data["result_url"][-len(f"{JOBS}/{job}") :])
    assert (await result.json())["result_payload"]["total_count"] == 2
    told = await notified(client, job)
    assert (told["state"], told["attempts"], told["id"]) == ("delivered", 1, message.id)
    done = await job_of(client, job)
    assert done["webhook_url"] == receiver.url
    assert done["webhook_called_at"] >= done["completed_at"]


async def test_a_failed_search_states_the_reason_and_calls_the_webhook(
    client: Client, receiver: Receiver
) -> None:
    runtime = lifecycle_of(client).runtime
    await runtime.store.scopes.put(Scope("work", "kind:note", 0))
    later = SearchJobs(
        runtime.store, runtime.research.operations, runtime.research.deliveries, most=10
    )
    request = universal("auth", scope="work")
    job = await later.submit(request, "http", base="", webhook_url=receiver.url)
    await runtime.store.scopes.remove("work")
    running = asyncio.create_task(later.run())
    failed = await ended(client, job)
    assert (failed["status"], failed["result_payload"]) == ("failed", None)
    assert "no scope is called 'work'" in failed["error_message"]
    (message,) = await receiver.wait_for(1)
    assert message.data["type"] == "search_job.failed"
    assert message.data["data"]["error_message"] == failed["error_message"]
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


class Interrupted:
    """A leg that the store's server leaves once, and that answers after that."""

    def __init__(self, leg: Retriever) -> None:
        self._leg, self.times = leg, 1

    def __getattr__(self, name: str) -> Any:
        return getattr(self._leg, name)

    async def rank(self, question: Question, depth: int) -> Ranking:
        if self.times:
            self.times -= 1
            raise StoreAway("the server has closed the connection")
        return await self._leg.rank(question, depth)

    async def reading(self, question: Question, depth: int) -> None:
        """Not by one read."""


async def test_a_server_that_leaves_in_the_middle_of_a_search_does_not_fail_it(
    client: Client,
) -> None:
    pipeline = lifecycle_of(client).runtime.search.pipeline
    legs = [Interrupted(leg) for leg in pipeline._legs]
    pipeline._legs = legs
    done = await ended(client, (await submit(client))["job_id"])
    assert (done["status"], done["error_message"]) == ("completed", None)
    assert done["result_payload"]["total_count"] == 2
    assert legs[0].times == 0


async def test_a_scope_that_there_is_not_is_refused_before_there_is_a_job(client: Client) -> None:
    refused = await submit(client, 422, scope="work")
    assert refused["errors"][0]["pointer"] == "/scope"
    assert (await (await client.get(JOBS)).json())["total"] == 0


async def test_an_unreachable_webhook_fails_its_notification_and_not_the_result(
    client: Client, receiver: Receiver
) -> None:
    receiver.statuses = [500]
    job = (await submit(client, webhook_url=receiver.url))["job_id"]
    told = await notified(client, job)
    assert (told["state"], told["status"], told["error"]) == ("pending", 500, "answered 500")
    assert told["next_attempt_at"] > (await job_of(client, job))["completed_at"]
    database = lifecycle_of(client).runtime.store.database
    await database.write(
        lambda c: c.execute("update webhook_deliveries set attempts = 7, next_at = 0")
    )
    lifecycle_of(client).runtime.research.deliveries.wake()
    told = await notified(client, job, attempts=8)
    assert told["state"] == "failed"
    assert told["error"] == "given up after 8: answered 500"
    done = await job_of(client, job)
    assert (done["status"], done["webhook_called_at"]) == ("completed", None)
    assert done["result_payload"]["total_count"] == 2


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org/",
        "http://127.0.0.1:1/",
        "http://localhost/hook",
        "http://169.254.169.254/latest/meta-data",
        "http://[::1]:80/",
        "http://user:password@example.org/",
        "nonsense",
        "",
    ],
)
async def test_a_webhook_that_can_never_be_called_is_refused_at_once(
    client: Client, url: str
) -> None:
    refused = await submit(client, 422, webhook_url=url)
    assert refused["errors"][0]["pointer"] == "/webhook_url"
    assert (await (await client.get(JOBS)).json())["total"] == 0


async def test_a_webhook_needs_the_token_and_a_background_search(client: Client) -> None:
    body = {"query": "auth", "background": True, "webhook_url": "https://example.org/hook"}
    assert (await client.post(SEARCH, json=body)).status == 401
    body["background"] = False
    refused = await client.post(SEARCH, json=body, headers=AUTHORIZED)
    assert (await refused.json())["errors"][0]["pointer"] == "/webhook_url"


async def test_more_unfinished_searches_than_ten_are_too_many(client: Client) -> None:
    with held_searches(client):  # a worker on a server finds and begins them
        await unfinished(client, *(f"j{n}" for n in range(10)))
        reply = await client.post(
            SEARCH, json={"query": "auth", "background": True}, headers=AUTHORIZED
        )
        assert (reply.status, (await reply.json())["code"]) == (429, "too_many_jobs")
        assert int(reply.headers["Retry-After"]) > 0
        reply = await client.post(f"{JOBS}/j3/cancel", headers=AUTHORIZED)
        assert (await reply.json())["status"] == "cancelled"
        job = (await submit(client))["job_id"]
    assert (await ended(client, job))["status"] == "completed"


async def test_a_cancelled_search_stays_cancelled_and_calls_no_webhook(
    client: Client, receiver: Receiver
) -> None:
    await unfinished(client, "waits")
    reply = await client.post(f"{JOBS}/waits/cancel", headers=AUTHORIZED)
    cancelled = await reply.json()
    assert (cancelled["status"], cancelled["result_payload"]) == ("cancelled", None)
    again = await client.post(f"{JOBS}/waits/cancel", headers=AUTHORIZED)
    assert again.status == 409
    job = (await submit(client, webhook_url=receiver.url))["job_id"]
    await client.post(f"{JOBS}/{job}/cancel", headers=AUTHORIZED)
    done = await ended(client, job)
    if done["status"] == "cancelled":
        assert done["notification"] is None
    assert (await client.post(f"{JOBS}/{job}/cancel")).status == 401


async def test_deleting_ends_a_search_and_then_forgets_it(client: Client) -> None:
    await unfinished(client, "waits")
    reply = await client.delete(f"{JOBS}/waits", headers=AUTHORIZED)
    assert (await reply.json())["status"] == "cancelled"
    reply = await client.delete(f"{JOBS}/waits", headers=AUTHORIZED)
    assert await reply.json() == {"deleted": "waits"}
    await job_of(client, "waits", 404)
    assert (await client.delete(f"{JOBS}/waits", headers=AUTHORIZED)).status == 404


async def test_an_ended_search_is_kept_for_a_day(client: Client) -> None:
    job = (await submit(client))["job_id"]
    done = await ended(client, job)
    database = lifecycle_of(client).runtime.store.database
    day = 24 * 3600 * 1000
    for age, status in ((day - 60_000, 200), (day + 1000, 404)):
        at = int(time.time() * 1000) - age
        await database.write(
            lambda c, at=at: c.execute(f"update search_jobs set completed_at = {at}")
        )
        await job_of(client, job, status)
    assert (await (await client.get(JOBS)).json())["total"] == 0
    assert done["expires_at"][:10] > done["completed_at"][:10]


async def test_searches_are_listed_without_their_results(client: Client) -> None:
    job = (await submit(client))["job_id"]
    await ended(client, job)
    with held_searches(client):
        others = [(await submit(client))["job_id"] for _ in range(AT_ONCE + 1)]
        async with asyncio.timeout(PATIENCE):
            while (await job_of(client, others[-2]))["status"] != "running":  # noqa: ASYNC110  it asks
                await asyncio.sleep(0.01)
        listed = await (await client.get(JOBS)).json()
        assert [each["id"] for each in listed["jobs"]] == [*reversed(others), job]
        assert "result_payload" not in listed["jobs"][-1]
        pending = await (await client.get(JOBS, params={"status": "pending"})).json()
        assert ([each["id"] for each in pending["jobs"]], pending["total"]) == (others[-1:], 1)
        page = await (await client.get(JOBS, params={"limit": 1, "offset": len(others)})).json()
        assert [each["id"] for each in page["jobs"]] == [job]
    assert (await client.get(JOBS, params={"status": "done"})).status == 422


async def test_what_a_former_worker_left_is_done_by_the_next(
    settings: Settings, receiver: Receiver
) -> None:
    allowing = replace(settings, webhook_allow=(receiver.authority,))
    with ExitStack() as until_it_has_ended:
        async with TestClient(TestServer(build_app(allowing))) as first:
            runtime = await lifecycle_of(first).ready()
            await fill(runtime, Draft("note", "jsonl", "a", "All about auth.", "Auth"))
            until_it_has_ended.enter_context(held_searches(first))
            await unfinished(first, "was running", "waits")
            claimed = await runtime.store.part(SearchJobStore).claim(5)
            # A worker on a server finds and begins them itself, within a second.
            assert claimed is None or claimed.id in ("was running", "waits")
            await runtime.store.database.write(
                lambda c: c.execute(
                    f"update search_jobs set webhook_url = '{receiver.url}' where id = 'waits'"
                )
            )
    async with TestClient(TestServer(build_app(allowing))) as second:
        await lifecycle_of(second).ready()
        for job in ("waits", "was running"):
            done = await ended(second, job)
            assert (done["status"], done["result_payload"]["total_count"]) == ("completed", 1)
        (message,) = await receiver.wait_for(1)
        assert message.data["data"]["job_id"] == "waits"


async def test_the_webhook_secret_needs_the_token(client: Client, receiver: Receiver) -> None:
    path = "/api/v1/webhooks/secret"
    assert (await client.get(path)).status == 401
    reply = await client.get(path, headers={"Authorization": f"Bearer {TOKEN}"})
    assert (await reply.json())["secret"] == receiver.secret
    for user in ("", "ada"):
        reader = await join(client, user, f"reader{user}", read_only=True)
        refused = await client.get(path, headers=reader.headers)
        assert (refused.status, "secret" in await refused.json()) == (403, False)
