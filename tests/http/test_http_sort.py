"""``sort`` over HTTP: a list of fields instead of one order."""

from __future__ import annotations

import pytest
from http_worker import Client, Get


async def test_results_come_in_the_order_of_the_fields(client: Client, get: Get) -> None:
    asked = {"query": "auth", "format": "json"}
    reply = await get("/api/search", sort="kind,-created_at", **asked)
    found = [(each["kind"], each["created_at"]) for each in reply["results"]]
    assert found == sorted(
        sorted(found, key=lambda pair: pair[1], reverse=True), key=lambda p: p[0]
    )
    assert (reply["order"], reply["sort"]) == ("fields", ["kind", "-created_at"])
    newest = await get("/api/search/unified", sort="-created_at", **asked)
    by_order = await get("/api/search/unified", **asked)
    assert [each["ref"] for each in newest["results"]] == [e["ref"] for e in by_order["results"]]
    assert "sort" not in by_order
    body = {"query": "auth", "sort": ["kind", "-created_at"]}
    items = (await (await client.post("/api/v1/search", json=body)).json())["items"]
    assert [(item["content_type"], item["created_at"]) for item in items] == found
    reply = await client.get("/api/search/export?query=auth&as=csv&sort=-title&fields=title")
    titles = (await reply.text()).splitlines()[1:]
    assert titles == sorted(titles, key=str.lower, reverse=True)


@pytest.mark.parametrize(
    ("query", "detail"),
    [
        ("sort=create_at", "results have no order by 'create_at'; did you mean created_at?"),
        ("sort=kind,--score", "results have no order by '-score'; did you mean score?"),
        ("sort=kind&orderBy=relevance", "an order was given as well; give only one"),
    ],
)
async def test_what_cannot_be_sorted_by_is_named(client: Client, query: str, detail: str) -> None:
    reply = await client.get(f"/api/search?query=a&{query}")
    assert reply.status == 422
    assert (await reply.json())["errors"] == [{"parameter": "sort", "detail": detail}]
    body = {"query": "a", "sort": ["kind", "date"]}
    reply = await client.post("/api/v1/search", json=body)
    (fault,) = (await reply.json())["errors"]
    assert fault["pointer"] == "/sort/1"
