"""``fields``: which fields a result has."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from http_worker import AUTHORIZED, Client, Get

ASKED = {"query": "auth", "format": "json", "limit": 5}


async def test_results_have_the_named_fields_and_their_ref(get: Get) -> None:
    whole = await get("/api/search", **ASKED)
    some = await get("/api/search", fields="created_at,highlights,importance", **ASKED)
    names = ("ref", "created_at", "highlights", "importance")
    assert some["results"] == [{name: each[name] for name in names} for each in whole["results"]]
    assert [*some["results"][0]] == [*names]
    assert {**some, "results": 0, "tokens_used": 0, "search": 0} == {
        **whole, "results": 0, "tokens_used": 0, "search": 0
    }  # fmt: skip
    assert some["tokens_used"] < whole["tokens_used"] / 3


async def test_fewer_fields_leave_room_for_more_results(get: Get) -> None:
    asked = {"query": "widget", "format": "json", "limit": 25, "max_tokens": 600}
    whole, some = (
        await get("/api/search", **asked),
        await get("/api/search", fields="title", **asked),
    )
    assert len(some["results"]) > 2 * len(whole["results"])
    assert some["tokens_used"] <= 600


async def test_a_table_has_the_named_columns_in_their_order(client: Client) -> None:
    reply = await client.get("/api/search/export?query=auth&as=csv&fields=title,ref&limit=2")
    rows = list(csv.reader(io.StringIO(await reply.text())))
    assert rows[0] == ["title", "ref"]
    assert {len(row) for row in rows} == {2}
    reply = await client.get("/api/search/export?query=auth&as=json&fields=title")
    assert {tuple(each) for each in (await reply.json())["results"]} == {("ref", "title")}


async def test_items_of_the_universal_search_have_the_named_fields_and_their_id(
    client: Client,
) -> None:
    async def items(**body: Any) -> list[dict[str, Any]]:
        reply = await client.post("/api/v1/search", json={"query": "auth", **body})
        assert reply.status == 200, await reply.text()
        return list((await reply.json())["items"])

    whole = await items()
    names = ("id", "title", "citation")
    assert await items(fields=["title", "citation"]) == [
        {name: each[name] for name in names} for each in whole
    ]
    assert await items(fields=[]) == await items(fields=None) == whole


@pytest.mark.parametrize(
    ("path", "detail"),
    [
        ("/api/search?query=a&format=json&fields=titel",
         "a result has no field 'titel'; did you mean title?"),
        ("/api/search?query=a&fields=title",
         "a result of format index has no fields to choose; JSON and CSV have"),
        ("/api/search/export?query=a&as=ris&fields=title",
         "a result of format ris has no fields to choose; JSON and CSV have"),
        ("/api/search/export?query=a&as=csv&fields=ref,scores",
         "a table has no column 'scores'; did you mean score?"),
    ],
)  # fmt: skip
async def test_fields_that_cannot_be_had_are_named(client: Client, path: str, detail: str) -> None:
    reply = await client.get(path)
    problem = await reply.json()
    assert reply.status == 422
    assert problem["errors"] == [{"parameter": "fields", "detail": detail}]


async def test_unknown_fields_of_a_body_are_named(client: Client) -> None:
    for body, pointer in (
        ({"fields": ["titel"]}, "/fields/0"),
        ({"fields": ["title"], "background": True}, "/fields"),
    ):
        reply = await client.post("/api/v1/search", json={"query": "a", **body}, headers=AUTHORIZED)
        assert reply.status == 422
        assert [each["pointer"] for each in (await reply.json())["errors"]] == [pointer]
    saved = {"name": "s", "search": {"query": "a", "fields": ["title"]}}
    reply = await client.post("/api/v1/saved-searches", json=saved, headers=AUTHORIZED)
    assert (reply.status, (await reply.json())["errors"][0]["pointer"]) == (422, "/search/fields")
