"""Odd input to research routes gets a reply or a problem, never a bug."""

from __future__ import annotations

from typing import Any

import pytest
from http_worker import AUTHORIZED, Client

HALF = "\ud800"
ODD = (HALF, "a\x00b", "é" * 50, "🟣", "../..", "'; drop table records; --", "%2F", " ")
SEARCH = {"query": "auth", "mode": "deep_research"}


async def send(client: Client, method: str, path: str, body: Any) -> int:
    reply = await client.request(method, path, json=body, headers=AUTHORIZED)
    assert reply.status < 500, (method, path, body, await reply.text())
    return reply.status


@pytest.mark.parametrize("odd", ODD)
async def test_odd_texts_are_answered_or_refused(client: Client, odd: str) -> None:
    for body in (
        {**SEARCH, "query": f"auth {odd}"},
        {**SEARCH, "session_id": odd},
        {**SEARCH, "parent_operation_id": odd},
        {**SEARCH, "scope": odd},
        {**SEARCH, "folder": odd, "background": True},
        {**SEARCH, "background": True, "webhook_url": odd},
        {**SEARCH, "background": True, "webhook_url": f"https://example.org/{odd}"},
        {**SEARCH, "query": odd + "x", "session_id": odd, "background": True},
    ):
        await send(client, "POST", "/api/v1/search", body)
    await send(client, "POST", "/api/v1/mcp/fetch", {"id": "note:6", "session_id": odd})
    saved = {"name": "x", "search": {"query": f"auth {odd}", "folder": odd}}
    if await send(client, "POST", "/api/v1/saved-searches", saved) == 201:
        await send(client, "POST", "/api/v1/saved-searches/x/run", None)
        await send(client, "GET", "/api/v1/saved-searches", None)
    await send(client, "PUT", "/api/v1/scopes/x", {"filter": f'project:"{odd}"'})
    await send(client, "POST", "/api/v1/search", {"query": "scope:x auth", "scope": "x"})
    for path in ("search/operations", "search/jobs", "search/sessions", "scopes", "notifications"):
        reply = await client.get(f"/api/v1/{path}")
        assert reply.status == 200
        assert await reply.json()


@pytest.mark.parametrize("odd", [odd for odd in ODD if odd != HALF])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/v1/search/operations/{}"),
        ("POST", "/api/v1/search/operations/{}/replay"),
        ("GET", "/api/v1/search/sessions/{}"),
        ("GET", "/api/v1/search/sessions/{}/export"),
        ("GET", "/api/v1/search/jobs/{}"),
        ("DELETE", "/api/v1/search/jobs/{}"),
        ("POST", "/api/v1/saved-searches/{}/run"),
        ("DELETE", "/api/v1/scopes/{}"),
    ],
)
async def test_odd_ids_are_not_found(client: Client, method: str, path: str, odd: str) -> None:
    assert await send(client, method, path.format(odd), None) in (404, 405)


@pytest.mark.parametrize("number", ["0", "9" * 18, "9" * 30, "-1", "x", "1e3"])
async def test_odd_numbers_are_no_notifications(client: Client, number: str) -> None:
    assert await send(client, "DELETE", f"/api/v1/notifications/{number}", None) in (404, 422)
