"""Over MCP, too, every user searches a separate store and is counted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from http_worker import Client
from people import OWNER, Person, bring_in, join

from mem_search.settings import Settings

MARKS = {OWNER.name: "zebrafinch", "ada": "yellowhammer"}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return replace(settings, limit_searches=8)


async def tool(client: Client, person: Person, name: str, **arguments: Any) -> tuple[int, str]:
    """(status, all that is said) of one call of a tool."""
    reply = await client.post(
        "/mcp",
        json={
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": name, "arguments": arguments},
        },
        headers={
            **person.headers,
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2025-06-18",
        },
    )
    return reply.status, (await reply.text()).lower()


async def test_a_tool_answers_out_of_the_store_of_who_asks(empty: Client) -> None:
    people = [OWNER, await join(empty, "ada")]
    for person in people:
        mark = MARKS[person.name]
        note = {"kind": "note", "source_id": "1", "title": f"Plan {mark}", "text": "The harbour"}
        await bring_in(empty, person, note)
    for person in people:
        own = MARKS[person.name]
        for name, arguments in (
            ("search", {"query": "harbour"}),
            ("fetch", {"id": "local:note:1"}),
            ("search_local_knowledge", {"query": "harbour"}),
            ("timeline", {"query": "harbour"}),
            ("get_records", {"ids": ["note:1"]}),
        ):
            status, said = await tool(empty, person, name, **arguments)
            assert status == 200, said
            assert not any(mark in said for mark in set(MARKS.values()) - {own}), name
            if name != "timeline":
                assert own in said, (name, said)


async def test_questions_over_mcp_are_counted_and_a_wrong_token_is_refused(empty: Client) -> None:
    ada = await join(empty, "ada")
    statuses = [(await tool(empty, ada, "search", query="harbour"))[0] for _ in range(9)]
    assert statuses == [200] * 8 + [429]
    assert (await tool(empty, OWNER, "search", query="harbour"))[0] == 200
    wrong = Person("nobody", {"Authorization": "Bearer mst_wrong"})
    assert (await tool(empty, wrong, "search", query="harbour"))[0] == 401
