"""Several searches in one request."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer
from http_worker import AUTHORIZED, Client, Get, lifecycle_of

from mem_search.features.batch.http import MAX_SEARCHES
from mem_search.http.core.app import build_app
from mem_search.settings import Settings
from runtimes import fill

PATH = "/api/search/batch"


async def replies(client: Client, *searches: Any) -> list[dict[str, Any]]:
    reply = await client.post(PATH, json={"searches": [*searches]}, headers=AUTHORIZED)
    assert reply.status == 200, await reply.text()
    return list((await reply.json())["replies"])


def timeless(reply: dict[str, Any]) -> Any:
    """The reply without what a clock says, and with nine digits of its numbers.

    The last digits of a score change while a store that was just filled settles (by 1e-10 within
    four seconds), and with them the tokens that they take.
    """
    search = {**reply["search"], "took_ms": 0, "legs": 0}
    return nine_digits({**reply, "search": search, "tokens_used": 0})


def nine_digits(value: Any) -> Any:
    match value:
        case float():
            return float(f"{value:.9g}")
        case dict():
            return {name: nine_digits(each) for name, each in value.items()}
        case list():
            return [*map(nine_digits, value)]
    return value


async def test_each_search_is_answered_as_it_would_be_alone(client: Client, get: Get) -> None:
    searches: tuple[dict[str, Any], ...] = (
        {"query": "auth", "limit": 3},
        {"query": "widget", "types": ["observations"], "facets": "kind,month", "fold": False},
        {"q": "auth", "sort": ["kind", "-created_at"], "fields": ["title"], "max_tokens": 90},
        {"type": "decision", "since": "2025-11-18", "until": None},
        {"query": "auth", "orderBy": "date_desc", "tz": "Europe/Berlin"},
    )
    found = await replies(client, *searches)
    for search, each in zip(searches, found, strict=True):
        assert (each["status"], "problem" in each) == (200, False)
        params = {
            name: ",".join(value) if isinstance(value, list) else str(value).lower()
            for name, value in search.items()
            if value is not None and name != "tz"
        }
        alone = await get("/api/search", format="json", **params)
        assert timeless(each["reply"]) == timeless(alone)
    assert [*found[2]["reply"]["results"][0]] == ["ref", "title"]


async def test_a_bad_search_has_its_problem_and_the_others_are_answered(client: Client) -> None:
    found = await replies(
        client,
        {"query": "auth"},
        {"query": "auth", "limt": 3, "offset": -1},
        {},
        {"query": {"a": 1}},
        {"query": "auth", "format": "index"},
        {"query": "auth", "limit": [1, 2]},
        {"query": "zzzz", "mode": "keyword"},
    )
    assert [each["status"] for each in found] == [200, 422, 422, 422, 422, 422, 200]
    assert [each["reply"]["total"] > 0 for each in found if "reply" in each] == [True, False]
    places = [
        [(fault["pointer"], fault["detail"]) for fault in each["problem"]["errors"]]
        for each in found
        if "problem" in each
    ]
    kinds = "has to be a text, a number, true or false, or a list of these"
    assert places == [
        [
            ("/searches/1/limt", "unknown parameter; did you mean limit?"),
            ("/searches/1/offset", "Input should be greater than or equal to 0"),
        ],
        [("/searches/2/query", "give a query, or at least one filter")],
        [("/searches/3/query", kinds)],
        [("/searches/4/format", "Input should be 'json'")],
        [("/searches/5/limit", "given more than once")],
    ]
    assert found[2]["problem"]["code"] == "VAL_FIELD_REQUIRED"


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/searches"),
        ({"searches": []}, "/searches"),
        ({"searches": [{"query": "a"}] * (MAX_SEARCHES + 1)}, "/searches"),
        ({"searches": {"query": "a"}}, "/searches"),
        ({"searches": [{"query": "a"}, "auth"]}, "/searches/1"),
        ({"searches": [{"query": "a"}], "limit": 2}, "/limit"),
    ],
)
async def test_a_body_that_is_no_batch_is_refused(client: Client, body: Any, pointer: str) -> None:
    reply = await client.post(PATH, json=body)
    assert reply.status == 422
    assert [each["pointer"] for each in (await reply.json())["errors"]] == [pointer]


async def test_every_search_of_a_batch_is_in_the_log(client: Client, get: Get) -> None:
    await replies(client, {"query": "one"}, {"query": "two"}, {"query": "two", "limit": 0})
    asked = (await get("/api/search/popular"))["queries"]
    assert sorted(each["query"] for each in asked) == ["one", "two"]


async def test_every_search_of_a_batch_counts_against_the_limit(settings: Settings) -> None:
    app = build_app(replace(settings, limit_searches=3))
    async with TestClient(TestServer(app)) as client:
        runtime = await lifecycle_of(client).ready()
        await fill(runtime)
        token = {"name": "ann", "user": "ann"}
        made = await client.post("/api/v1/tokens", json=token, headers=AUTHORIZED)
        theirs = {"Authorization": f"Bearer {(await made.json())['token']}"}
        body = {"searches": [{"query": f"q{n}"} for n in range(5)]}
        reply = await client.post(PATH, json=body, headers=theirs)
        found = (await reply.json())["replies"]
        assert sorted(each["status"] for each in found) == [200, 200, 200, 429, 429]
        assert "r=0" in reply.headers["RateLimit"]
        refused = next(each["problem"] for each in found if each["status"] == 429)
        assert refused["violated-policies"] == ["search"]
