"""Over MCP every user has a separate store: tools, resources, limits."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from aiohttp.test_utils import TestClient, TestServer
from http_worker import Client, lifecycle_of
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from people import OWNER, Person, bring_in, join

from mcp import Client as McpClient
from mem_search.http.core.app import build_app
from mem_search.mcp.server import TOOLS
from mem_search.records.registry import installed_kinds
from mem_search.settings import Settings
from patience import PATIENCE

KINDS = installed_kinds().names

MARKS = {OWNER.name: "zebrafinch", "ada": "yellowhammer", "bob": "xenopsaurus"}
ELSEWHERE = {"X-Forwarded-For": "192.0.2.1"}


def records(mark: str) -> list[dict[str, Any]]:
    """One of each kind; numbers are the same for everybody."""
    return [
        {
            "kind": kind,
            "source_id": kind,
            "title": f"Harbour {mark}",
            "text": f"The harbour plan of {mark}.",
            "created_at": f"2026-01-{day:02}T10:00:00Z",
        }
        for day, kind in enumerate(KINDS, start=1)
    ]


@pytest.fixture
async def people(empty: Client) -> list[Person]:
    everybody = [OWNER, await join(empty, "ada"), await join(empty, "bob")]
    for person in everybody:
        await bring_in(empty, person, *records(MARKS[person.name]))
    return everybody


async def say(
    client: Client, headers: dict[str, str], method: str, **params: Any
) -> tuple[int, str]:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    reply = await client.post("/mcp", json=body, headers=headers)
    return reply.status, await reply.text()


def questions() -> list[tuple[str, dict[str, Any]]]:
    """Every tool with what makes it tell most, and every resource."""
    refs = [f"local:{kind}:{number}" for number, kind in enumerate(KINDS, start=1)]
    arguments: dict[str, list[dict[str, Any]]] = {
        "search": [{"query": "harbour plan"}, *({"query": mark} for mark in MARKS.values())],
        "fetch": [{"id": ref} for ref in refs],
        "get_records": [{"ids": refs}],
        "timeline": [{"anchor": refs[4], "depth_before": 50}, {"query": "harbour"}],
        "search_local_knowledge": [
            {"query": "harbour", "search_type": kind, "mode": mode, "session_id": "one"}
            for kind in ("keyword", "semantic", "hybrid")
            for mode in ("basic", "deep_research")
        ],
        "search_local_archives": [
            {"query": "harbour", "include_citations": True},
            *({"id": ref} for ref in refs),
        ],
        "remember": [{"text": "A harbour note."}],
    }
    assert set(arguments) == {tool.name for tool in TOOLS}
    uris = [f"mem://{kind}/{number}" for number, kind in enumerate(KINDS, start=1)]
    return [
        *(
            ("tools/call", {"name": name, "arguments": given})
            for name, several in arguments.items()
            for given in several
        ),
        ("resources/list", {}),
        *(("resources/read", {"uri": uri}) for uri in uris),
    ]


async def test_no_user_gets_text_of_another_user(empty: Client, people: list[Person]) -> None:
    for person in people:
        others = set(MARKS.values()) - {MARKS[person.name]}
        seen = 0
        for method, params in questions():
            status, text = await say(empty, person.headers, method, **params)
            assert status == 200, text
            asked = json.dumps(params)
            assert not [mark for mark in others if mark in text and mark not in asked], (
                person,
                params,
            )
            seen += MARKS[person.name] in text
        assert seen > len(KINDS) * 2  # and everybody their own


async def test_a_word_of_another_finds_nothing(empty: Client, people: list[Person]) -> None:
    _, ada, _ = people
    given = {"query": "xenopsaurus", "search_type": "keyword"}
    _, text = await say(
        empty, ada.headers, "tools/call", name="search_local_knowledge", arguments=given
    )
    assert json.loads(json.loads(text)["result"]["content"][0]["text"])["total_count"] == 0


@pytest.mark.parametrize("method", ["initialize", "tools/list", "tools/call", "resources/list"])
async def test_from_elsewhere_and_with_a_wrong_token_nothing_is_answered(
    empty: Client, method: str
) -> None:
    for headers in (ELSEWHERE, {"Authorization": "Bearer mst_wrong"}):
        status, text = await say(empty, headers, method)
        assert status == 401
        assert "token" in json.loads(text)["detail"]


async def test_a_token_that_may_only_read_does(empty: Client) -> None:
    reader = await join(empty, "", read_only=True, name="reader")
    headers = {**reader.headers, **ELSEWHERE}
    status, text = await say(
        empty, headers, "tools/call", name="search", arguments={"query": "harbour"}
    )
    assert (status, json.loads(text)["result"]["structuredContent"]) == (200, {"results": []})


async def test_a_note_is_remembered_by_whoever_may_write(empty: Client) -> None:
    ada, reader = await join(empty, "ada"), await join(empty, "", read_only=True, name="reader")
    note = {"text": "The lamp burns oil.", "title": "The lamp", "tags": ["harbour"]}
    ids = set()
    for _ in range(2):  # a model that repeats itself stores one note
        _, text = await say(empty, ada.headers, "tools/call", name="remember", arguments=note)
        ids.add(json.loads(json.loads(text)["result"]["content"][0]["text"])["id"])
    (ref,) = ids
    for headers, found in ((ada.headers, [ref]), (OWNER.headers, [])):
        query = {"query": "tag:harbour oil"}
        _, text = await say(empty, headers, "tools/call", name="search", arguments=query)
        hits = json.loads(text)["result"]["structuredContent"]["results"]
        assert [hit["id"] for hit in hits] == found
    for headers in (reader.headers, {}):
        _, text = await say(empty, headers, "tools/call", name="remember", arguments=note)
        result = json.loads(text)["result"]
        assert (result["isError"], "token" in result["content"][0]["text"]) == (True, True)
    _, text = await say(empty, ada.headers, "tools/call", name="remember", arguments={"text": " "})
    assert json.loads(text)["result"]["content"][0]["text"].startswith("text: ")


@pytest.mark.parametrize(("said", "scheme"), [("https", "https"), ("javascript", "http")])
async def test_links_lead_back_through_the_tunnel(
    empty: Client, people: list[Person], said: str, scheme: str
) -> None:
    headers = {**people[1].headers, **ELSEWHERE, "X-Forwarded-Proto": said}
    _, text = await say(empty, headers, "tools/call", name="fetch", arguments={"id": "note:4"})
    url = json.loads(text)["result"]["structuredContent"]["url"]
    assert url == f"{scheme}://{empty.host}:{empty.port}/v/note:4"


@pytest.fixture
async def limited(settings: Settings) -> AsyncIterator[Client]:
    app = build_app(replace(settings, limit_searches=2))
    async with TestClient(TestServer(app)) as client:
        await lifecycle_of(client).ready()
        yield client


async def test_questions_are_counted_and_opening_is_free(limited: Client) -> None:
    ada = (await join(limited, "ada")).headers

    async def call(name: str, **arguments: Any) -> int:
        return (await say(limited, ada, "tools/call", name=name, arguments=arguments))[0]

    assert [await call("search", query="harbour") for _ in range(3)] == [200, 200, 429]
    assert await call("timeline", query="harbour") == 429
    assert await call("fetch", id="note:1") == 200
    assert (await say(limited, ada, "tools/list"))[0] == 200
    assert (await say(limited, OWNER.headers, "tools/call", name="search",
                      arguments={"query": "harbour"}))[0] == 200  # fmt: skip


@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_an_mcp_client_learns_why_a_query_is_refused(limited: Client, era: str) -> None:
    ada = (await join(limited, "ada")).headers
    async with httpx2.AsyncClient(headers=ada, timeout=PATIENCE) as sender:
        transport = streamable_http_client(str(limited.make_url("/mcp")), http_client=sender)
        async with McpClient(transport, mode=era) as mcp:
            for _ in range(2):
                await mcp.call_tool("search", {"query": "harbour"})
            with pytest.raises(MCPError, match="the limit of 2 requests an hour") as caught:
                await mcp.call_tool("search", {"query": "harbour"})
            assert caught.value.error.data["violated-policies"] == ["search"]
            assert (await mcp.call_tool("fetch", {"id": "note:1"})).is_error  # it goes on
