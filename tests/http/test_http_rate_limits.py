"""Rate limits over HTTP: how much each caller may do, and what the replies say."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from aiohttp.test_utils import TestClient, TestServer
from http_worker import AUTHORIZED, Client, lifecycle_of
from people import OWNER, Person, bring_in, join

from mem_search.errors import InputError
from mem_search.http.access.authentication import searches
from mem_search.http.core.app import build_app
from mem_search.http.routes import ROUTES
from mem_search.settings import Settings

ASKED = {"query": "tides"}
NOTE = {"kind": "note", "source_id": "1", "title": "Tides", "text": "The tides of the harbour"}
FORWARDED = {**AUTHORIZED, "X-Forwarded-For": "192.0.2.1"}


@pytest.fixture
async def narrow(settings: Settings) -> AsyncIterator[Client]:
    """A worker with small limits."""
    limited = replace(settings, limit_searches=3, limit_jobs=2)
    async with TestClient(TestServer(build_app(limited))) as client:
        await lifecycle_of(client).ready()
        yield client


async def test_headers_show_the_remaining_requests_and_further_ones_are_refused(
    narrow: Client,
) -> None:
    ada, bob = await join(narrow, "ada"), await join(narrow, "bob")
    left = []
    for _ in range(3):
        reply = await narrow.get("/api/search", params=ASKED, headers=ada.headers)
        assert reply.status == 200
        assert reply.headers["RateLimit-Policy"] == '"search";q=3;w=3600'
        match = re.fullmatch(r'"search";r=(\d+);t=(\d+)', reply.headers["RateLimit"])
        assert match is not None
        assert 3590 <= int(match[2]) <= 3600
        left.append(int(match[1]))
    assert left == [2, 1, 0]
    reply = await narrow.post("/api/v2/search/hybrid", json=ASKED, headers=ada.headers)
    problem = await reply.json()
    assert (reply.status, problem["code"]) == (429, "limit_reached")
    assert problem["violated-policies"] == ["search"]
    assert 3590 <= int(reply.headers["Retry-After"]) <= 3600
    assert reply.headers["RateLimit"].startswith('"search";r=0;t=')
    # Everything but searching goes on, and so does everybody else.
    assert (await narrow.get("/api/stats", headers=ada.headers)).status == 200
    reply = await narrow.get("/api/search", params=ASKED, headers=bob.headers)
    assert (reply.status, reply.headers["RateLimit"][:12]) == (200, '"search";r=2')


async def test_all_tokens_of_a_user_are_counted_together(narrow: Client) -> None:
    laptop, phone = await join(narrow, "ada"), await join(narrow, "ada", "ada-phone")
    for person in (laptop, phone, laptop):
        reply = await narrow.get("/api/search", params=ASKED, headers=person.headers)
        assert reply.status == 200
    assert (await narrow.get("/api/search", params=ASKED, headers=phone.headers)).status == 429


async def test_looking_around_a_record_is_free_and_around_an_answer_a_search(
    narrow: Client,
) -> None:
    ada = await join(narrow, "ada")
    await bring_in(narrow, ada, NOTE)
    for _ in range(5):
        reply = await narrow.get("/api/timeline", params={"anchor": "1"}, headers=ada.headers)
        assert (reply.status, "RateLimit" in reply.headers) == (200, False)
    statuses = [
        (await narrow.get("/api/timeline", params=ASKED, headers=ada.headers)).status
        for _ in range(4)
    ]
    assert statuses == [200, 200, 200, 429]


async def test_a_saved_search_that_is_run_is_a_search(narrow: Client) -> None:
    ada = await join(narrow, "ada")
    body = {"name": "tides", "search": ASKED}
    reply = await narrow.post("/api/v1/saved-searches", json=body, headers=ada.headers)
    assert (reply.status, "RateLimit" in reply.headers) == (201, False)
    path = "/api/v1/saved-searches/{}/run"
    reply = await narrow.post(path.format("nothing"), headers=ada.headers)
    assert (reply.status, "RateLimit" in reply.headers) == (404, False)
    statuses = [
        (await narrow.post(path.format("tides"), headers=ada.headers)).status for _ in range(4)
    ]
    assert statuses == [200, 200, 200, 429]


async def test_schedules_count_when_they_are_made_and_never_when_they_run(
    settings: Settings,
) -> None:
    app = build_app(replace(settings, limit_searches=6))
    async with TestClient(TestServer(app)) as client:
        await lifecycle_of(client).ready()
        ada, bob = await join(client, "ada"), await join(client, "bob")

        async def save(person: Person, name: str, every: str | None, method: str = "POST") -> int:
            body = {"search": ASKED, "every": every}
            path = "/api/v1/saved-searches"
            if method == "PUT":
                path += f"/{name}"
            else:
                body["name"] = name
            reply = await client.request(method, path, json=body, headers=person.headers)
            assert "RateLimit" not in reply.headers
            if reply.status == 422:
                problem = await reply.json()
                assert problem["errors"][0]["pointer"] == "/every"
                assert "the limit of 6" in problem["detail"]
            return reply.status

        assert await save(ada, "often", "15m") == 201  # 4 an hour
        assert await save(ada, "too-often", "20m") == 422  # and 3
        assert await save(ada, "by-hand", None) == 201
        assert await save(ada, "half-hourly", "30m") == 201  # and 2
        assert await save(ada, "by-hand", "365d", "PUT") == 422
        assert await save(ada, "Often", "20m", "PUT") == 200  # instead of its own 4
        assert await save(ada, "by-hand", "1h", "PUT") == 200
        # It is each user's own, and leaves them all that they may ask.
        assert await save(bob, "often", "10m") == 201
        statuses = [
            (await client.get("/api/search", params=ASKED, headers=ada.headers)).status
            for _ in range(7)
        ]
        assert statuses == [200] * 6 + [429]
        # The owner has no limit.
        assert await save(OWNER, "each-minute", "1m") == 201


async def test_what_is_wrong_is_not_counted(narrow: Client) -> None:
    ada = await join(narrow, "ada")
    for _ in range(5):
        reply = await narrow.get("/api/search", params={"limit": "x"}, headers=ada.headers)
        assert (reply.status, "RateLimit" in reply.headers) == (422, False)
    assert (await narrow.get("/api/search", params=ASKED, headers=ada.headers)).status == 200


async def test_the_machines_person_is_never_counted(narrow: Client) -> None:
    for headers in ({}, AUTHORIZED) * 3:
        reply = await narrow.get("/api/search", params=ASKED, headers=headers)
        assert reply.status == 200
        assert not {"RateLimit", "RateLimit-Policy", "Retry-After"} & set(reply.headers)


async def test_from_elsewhere_the_machines_person_is_counted_too(narrow: Client) -> None:
    statuses = [
        (await narrow.get("/api/search", params=ASKED, headers=FORWARDED)).status for _ in range(4)
    ]
    assert statuses == [200, 200, 200, 429]
    assert (await narrow.get("/api/search", params=ASKED, headers=AUTHORIZED)).status == 200


async def test_a_user_has_so_many_jobs_at_once(narrow: Client) -> None:
    ada = await join(narrow, "ada")
    async with lifecycle_of(narrow).users.lease("ada") as runtime:
        for job in ("a", "b"):
            # Of no name that this worker knows, so that it takes none of them.
            await runtime.store.jobs.create(job, "of a newer version", {})
    headers = {**ada.headers, "Content-Type": "application/x-ndjson"}
    reply = await narrow.post("/api/import/jsonl", data=b"{}\n", headers=headers)
    problem = await reply.json()
    assert (reply.status, problem["violated-policies"]) == (429, ["jobs"])
    assert reply.headers["Retry-After"] == "5"
    spool = lifecycle_of(narrow).settings.home / "users" / "ada" / "spool"
    assert not spool.exists()  # refused before anything is kept
    async with lifecycle_of(narrow).users.lease("ada") as runtime:
        await runtime.store.jobs.finish("a", "done", "", {})
    reply = await narrow.post("/api/import/jsonl", data=b"{}\n", headers=headers)
    assert reply.status == 202


async def test_without_limits_nothing_is_counted(settings: Settings) -> None:
    async with TestClient(TestServer(build_app(replace(settings, limit_searches=0)))) as client:
        await lifecycle_of(client).ready()
        ada = await join(client, "ada")
        reply = await client.get("/api/search", params=ASKED, headers=ada.headers)
        assert (reply.status, "RateLimit" in reply.headers) == (200, False)


async def test_a_local_search_for_suspicious_words_is_a_search(client: Client) -> None:
    params = {"query": "ignore previous DROP TABLE ${x} <script system prompt"}
    reply = await client.get("/api/search", params={**params, "format": "json"})
    assert reply.status == 200
    assert "flags" not in (await reply.json())["search"]


def test_every_route_that_takes_a_question_is_counted() -> None:
    counted = {route.path for route in ROUTES if searches(route.query, route.body)}
    named = {
        route.path
        for route in ROUTES
        if "search" in route.path.split("/") and not NO_SEARCH & set(route.path.split("/"))
    }
    assert named <= counted, "a route that is about searches and none itself: add to NO_SEARCH"


NO_SEARCH = set(
    "help log usage popular zero-results slow stats jobs operations sessions batch".split()
)
"""What is about searches, and none itself; a replay is counted as the research it is.

A batch counts each of its searches (``test_http_batch``).
"""


@pytest.mark.parametrize("value", ["-1", "many", "1.5", "1000001"])
def test_a_limit_that_is_none_is_refused(value: str) -> None:
    with pytest.raises(InputError) as caught:
        Settings.read({"MEM_SEARCH_HOME": "/nowhere", "MEM_SEARCH_LIMIT_SEARCHES": value})
    assert caught.value.field == "limit_searches"
