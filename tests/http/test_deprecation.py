"""Routes that the universal search replaces say so in headers, and nowhere else."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from http_worker import Client

from mem_search.http.openapi import describe
from mem_search.http.routes import ROUTES
from mem_search.records.registry import installed_kinds

REPLACED = [kind.plural for kind in installed_kinds() if not kind.coding]
KEPT = (
    "/api/search", "/api/search/unified", "/api/search/observations", "/api/search/sessions",
    "/api/search/prompts", "/api/search/by-concept?concept=x", "/api/decisions", "/nowhere",
)  # fmt: skip


@pytest.mark.parametrize("plural", REPLACED)
async def test_a_replaced_route_names_its_successor(client: Client, plural: str) -> None:
    reply = await client.get(f"/api/search/{plural}?query=auth")
    assert reply.status == 200
    since = re.fullmatch(r"@(\d+)", reply.headers["Deprecation"])
    assert since is not None
    assert datetime.fromtimestamp(int(since[1]), UTC).year == 2026
    assert reply.headers["Link"] == '</api/v1/search>; rel="successor-version"'
    listing = (await reply.json())["content"][0]["text"]
    assert "eprecat" not in listing


async def test_it_says_so_when_it_refuses_too(client: Client) -> None:
    reply = await client.get("/api/search/notes?limt=3")
    assert (reply.status, "Deprecation" in reply.headers) == (422, True)


@pytest.mark.parametrize("path", KEPT)
async def test_other_routes_are_not_deprecated(client: Client, path: str) -> None:
    reply = await client.get(path, params={} if "?" in path else {"query": "auth"})
    assert "Deprecation" not in reply.headers
    assert "Link" not in reply.headers


def test_the_description_marks_the_same_routes() -> None:
    described = describe(ROUTES)["paths"]
    marked = {
        path
        for path, operations in described.items()
        if any(operation.get("deprecated") for operation in operations.values())
    }
    assert {*"notes websites files conversations memories emails reports".split()} <= {*REPLACED}
    aliases = {"/notes/search", "/websites/search", "/conversations/search"}
    assert marked == {f"/api/search/{plural}" for plural in REPLACED} | aliases
