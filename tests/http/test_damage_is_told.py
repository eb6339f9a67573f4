"""Flipped bytes in the store: every surface says so and names what mends it."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

from aiohttp import ClientPayloadError
from aiohttp.test_utils import TestClient, TestServer
from http_worker import AUTHORIZED, Client, lifecycle_of

from chosen_store import in_a_file
from mem_search.errors import StoreDamaged
from mem_search.http.core.app import build_app
from mem_search.settings import Settings

PAGE = 4096
MCP = {
    "jsonrpc": "2.0", "id": 1, "method": "tools/call",
    "params": {"name": "search", "arguments": {"query": "auth"}},
}  # fmt: skip
ASKED: tuple[tuple[str, str, Any], ...] = (
    *(
        ("GET", path, None)
        for path in """
        /api/search?query=auth&format=json /api/search/unified?query=tokens /api/observations
        /api/search?query=widget&mode=keyword /api/stats /api/suggest?prefix=wid
        /api/timeline?query=auth /api/records/observation:2 /api/graph/observation:2 /api/export
        /api/projects /api/ledger /api/jobs /api/v1/scopes /api/v1/saved-searches
        /api/context/recent /api/v2/search/stats /api/search/related?query=auth
        """.split()
    ),
    ("POST", "/api/v2/search/hybrid", {"query": "auth", "enable_graph_expansion": True}),
    ("POST", "/api/v2/search/vector", {"query": "auth"}),
    ("POST", "/api/v1/search", {"query": "auth"}),
    ("POST", "/api/v1/mcp/fetch", {"id": "observation:2"}),
    ("POST", "/mcp", MCP),
    ("DELETE", "/api/records/observation:2", None),
    ("PUT", "/api/v1/scopes/x", {"project": "web"}),
)


def flip(file: Path, chance: random.Random) -> None:
    content = bytearray(file.read_bytes())
    for _ in range(chance.choice((1, 10, 200))):
        content[chance.randrange(100, len(content))] = chance.randrange(256)
    file.write_bytes(content)


async def answers(settings: Settings) -> Counter[tuple[int, str]]:
    """(status, code) of every request to a worker of this home."""
    found: Counter[tuple[int, str]] = Counter()
    async with TestClient(TestServer(build_app(settings))) as client:
        await lifecycle_of(client).settled()
        for method, path, body in ASKED:
            async with client.request(method, path, json=body, headers=AUTHORIZED) as reply:
                try:
                    said = await reply.text()
                except ClientPayloadError:  # an export that met the damage on its way
                    continue
                code = (await reply.json(content_type=None)) if reply.status >= 400 else {}
                found[reply.status, code.get("code", "")] += 1
                if "storage_damaged" in code.get("code", ""):
                    assert "mem-search doctor" in said
                    assert "mem-search restore" in said
    return found


@in_a_file("bytes of it are changed")
async def test_flipped_bytes_are_reported_as_damage_and_never_as_a_bug(
    client: Client, settings: Settings, tmp_path: Path
) -> None:
    await client.close()
    whole, file = tmp_path / "whole", settings.home / "mem-search.db"
    shutil.copytree(settings.home, whole)
    seen: Counter[tuple[int, str]] = Counter()
    for seed in range(25):
        shutil.rmtree(settings.home)
        shutil.copytree(whole, settings.home)
        flip(file, random.Random(seed))
        seen += await answers(settings)
    assert seen[503, "storage_damaged"] > 10
    assert {status for status, _ in seen} <= {200, 404, 422, 503}, seen


@in_a_file("a column of JSON on a server holds nothing else")
async def test_a_value_that_is_damaged_while_the_store_is_open_is_put_right_and_told(
    client: Client, settings: Settings
) -> None:
    """The graph walk of the v2 search runs in the same read as the rest."""
    store = lifecycle_of(client).runtime.store
    for method, path, body in (
        ("GET", "/api/search/unified?query=auth", None),
        ("POST", "/api/v2/search/hybrid", {"query": "auth", "enable_graph_expansion": True}),
        ("POST", "/api/v1/search", {"query": "auth"}),
        ("GET", "/api/records/observation:2", None),
    ):
        await store.database.write(
            lambda c: c.execute("update records set data = '{', title = 'x'")
        )
        async with client.request(method, path, json=body, headers=AUTHORIZED) as reply:
            assert reply.status == 200, (path, await reply.text())
    async with client.post("/mcp", json=MCP, headers=AUTHORIZED) as reply:
        assert reply.status == 200, await reply.text()
    async with client.get("/api/stats", headers=AUTHORIZED) as reply:
        rows = (await reply.json())["database"]["odd_rows"]
    assert any("records" in row for row in rows), rows


@in_a_file("it is emptied")
async def test_a_worker_that_cannot_open_its_store_says_why(
    client: Client, settings: Settings
) -> None:
    await client.close()
    (settings.home / "mem-search.db").write_bytes(b"")
    async with TestClient(TestServer(build_app(settings))) as worker:
        await lifecycle_of(worker).settled()
        error = lifecycle_of(worker).error
        assert isinstance(error, StoreDamaged)
        async with worker.get("/api/search/unified?query=auth") as reply:
            assert (reply.status, (await reply.json())["code"]) == (503, "storage_damaged")
