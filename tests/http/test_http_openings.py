"""When a record was opened: set by opening it, never by a search; sorts, and counts on demand."""

from __future__ import annotations

from typing import Any

import pytest
from http_worker import AUTHORIZED, TOKEN, Client, lifecycle_of

MCP = {"Accept": "application/json, text/event-stream", **AUTHORIZED}


async def opened(client: Client) -> dict[str, str]:
    """Id → when it was opened, of the best results for a question."""
    await lifecycle_of(client).runtime.search.service.log.flush()
    reply = await client.post("/api/v1/search", json={"query": "auth"}, headers=AUTHORIZED)
    items = (await reply.json())["items"]
    for item in items:
        assert item["citation"]["last_accessed"] == item["last_opened_at"]
    return {item["id"]: item["last_opened_at"] for item in items if item["last_opened_at"]}


async def open_by(client: Client, way: str, token: dict[str, str]) -> None:
    tools = {"fetch": {"id": "note:6"}, "get_records": {"ids": ["note:6"]}}
    if way in tools:
        params = {"name": way, "arguments": tools[way]}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        reply = await client.post("/mcp", json=message, headers={**MCP, **token})
    elif way.startswith("POST "):
        bodies = {"batch": {"refs": ["note:6"]}, "fetch": {"id": "local:note:6"}}
        body = bodies[way.rpartition("/")[2]]
        reply = await client.post(way.removeprefix("POST "), json=body, headers=token)
    else:
        reply = await client.get(way, headers=token)
    assert reply.status == 200, await reply.text()


@pytest.mark.parametrize(
    "way",
    ["/api/records/note:6", "/v/note:6", "/documents/note:6/content", "POST /api/v1/mcp/fetch",
     "POST /api/records/batch", "fetch", "get_records"],
)  # fmt: skip
async def test_opening_a_record_sets_when_it_was_opened(client: Client, way: str) -> None:
    assert await opened(client) == {}
    await open_by(client, way, AUTHORIZED)
    found = await opened(client)
    assert list(found) == ["local:note:6"]


async def test_without_a_token_nothing_is_noted(client: Client) -> None:
    await open_by(client, "/api/records/note:6", {})
    assert await opened(client) == {}


async def test_what_was_opened_sorts_and_counts_and_is_forgotten_with_the_record(
    client: Client,
) -> None:
    async def asked(**more: Any) -> list[str]:
        sent = {"query": "auth", **more}
        reply = await client.post("/api/v1/search", json=sent, headers=AUTHORIZED)
        return [item["id"] for item in (await reply.json())["items"]]

    await open_by(client, "/api/records/note:6", AUTHORIZED)
    await open_by(client, "/api/records/observation:4", AUTHORIZED)
    await opened(client)
    order = await asked(sort=["-opened_at"])
    assert order[:2] == ["local:observation:4", "local:note:6"]
    assert set(await asked(boosts=["opened"])) == set(order)
    plain = (await asked(search_type="hybrid")).index("local:note:6")
    assert (await asked(search_type="hybrid", boosts=["opened"])).index("local:note:6") <= plain
    database = lifecycle_of(client).runtime.store.database

    async def kept() -> list[Any]:
        found: list[Any] = await database.read(
            lambda c: c.execute("select record_id, times from openings order by 1").fetchall()
        )
        return found

    assert await kept() == [(4, 1), (6, 1)]
    gone = await client.delete("/api/records/note:6", headers=AUTHORIZED)
    assert gone.status == 200
    assert await kept() == [(4, 1)]


async def test_the_log_that_is_off_notes_no_opening(client: Client) -> None:
    log = lifecycle_of(client).runtime.search.service.log
    log.on = False
    await open_by(client, "/api/records/note:6", AUTHORIZED)
    assert await opened(client) == {}
    assert TOKEN  # the caller could have changed something


SCRATCH = {"kind": "note", "text": "auth lantern", "metadata": {"folder": "scratchpad"}}


async def test_notes_in_the_scratchpad_are_hidden_on_every_surface_and_shown_on_demand(
    client: Client,
) -> None:
    ref = (await (await client.post("/api/records", json=SCRATCH, headers=AUTHORIZED)).json())[
        "ref"
    ]

    async def post(path: str, **body: Any) -> str:
        return await (await client.post(path, json=body, headers=AUTHORIZED)).text()

    async def tool(name: str, **arguments: Any) -> str:
        params = {"name": name, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return await (await client.post("/mcp", json=message, headers=MCP)).text()

    async def get(path: str, **params: str) -> str:
        return await (await client.get(path, params=params)).text()

    number = ref.partition(":")[2]
    for asked, given, shown, named in (
        (get, ("/api/search",), {"scratchpad": "true"}, {"folder": "scratchpad"}),
        (get, ("/api/search/unified",), {"scratchpad": "true"}, {"folder": "scratchpad"}),
        (get, ("/notes/search",), {"scratchpad": "true"}, {"folder": "scratchpad"}),
        (post, ("/api/v1/search",), {"scratchpad": True}, {"folder": "scratchpad"}),
        (post, ("/api/v2/search/hybrid",), {"scratchpad": True}, {"query": "folder:scratchpad"}),
        (post, ("/api/v2/search/vector",), {"scratchpad": True}, {"scratchpad": True}),
        (tool, ("search",), {"scratchpad": True}, {"query": "lantern folder:scratchpad"}),
        (tool, ("search_local_knowledge",), {"scratchpad": True}, {"folder": "scratchpad"}),
        (tool, ("search_unified",), {"scratchpad": True}, {"query": "folder:scratchpad"}),
    ):
        query = {"query": "lantern"}
        for extra, is_there in (({}, False), (shown, True), (named, True)):
            reply = await asked(*given, **{**query, **extra})
            found = ref in reply or f"Note #{number}" in reply
            assert found == is_there, (given, extra, reply)
