"""A worker whose searches a replica of its server answers, over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from http_worker import Client, Get

from mem_search.settings import Settings
from mem_search.storage.postgres import database as of_postgres
from patience import PATIENCE
from postgres_server import Server, replicated


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[Server, Server]]:
    with replicated() as both:
        yield both


@pytest.fixture
def settings(
    tmp_path: Path, servers: tuple[Server, Server], settings: Settings, monkeypatch: Any
) -> Settings:
    monkeypatch.setattr(of_postgres, "_SECONDS", 4.0)  # that a call waits for the server
    primary, replica = servers
    return replace(
        settings,
        store=primary.address(),
        store_owner=uuid4().hex,
        store_replica=replica.address(),
        store_replica_lag=4.0,
    )


async def becomes(get: Get, path: str, text: str, **params: str) -> Any:
    """The reply, once it contains ``text``: the servers need their time."""
    async with asyncio.timeout(PATIENCE):
        while True:
            if text in str(reply := await get(path, **params)):
                return reply
            await asyncio.sleep(0.05)


async def test_replies_and_statistics_say_that_the_replica_answered(get: Get) -> None:
    asked = {"query": "token", "format": "json"}
    reply = await becomes(get, "/api/search", "stale_s", **asked)
    assert reply["total"] > 0
    assert 0 <= reply["search"]["stale_s"] <= 4
    status = (await becomes(get, "/api/stats", "'used'"))["replica"]
    assert (status["detail"], status["place"].endswith("/mem_search")) == ("", True)
    # A reply without a place for it comes from the primary.
    assert "stale_s" not in str(await get("/api/search/related", query="token"))


async def test_the_metrics_say_how_far_the_replica_is_behind(client: Client, get: Get) -> None:
    await becomes(get, "/api/stats", "'used'")
    lines = (await (await client.get("/metrics")).text()).splitlines()
    assert 'mem_search_replica{state="used"} 1.0' in lines
    (lag,) = [each for each in lines if each.startswith("mem_search_replica_lag_seconds{")]
    assert 0 <= float(lag.split()[1]) <= 4


async def test_a_tag_is_of_the_server_that_answered(
    client: Client, get: Get, servers: tuple[Server, Server]
) -> None:
    asked = {"query": "token", "format": "json"}
    await becomes(get, "/api/search", "stale_s", **asked)
    first = await client.get("/api/search", params=asked)
    known = {"If-None-Match": first.headers["ETag"]}
    again = await client.get("/api/search", params=asked, headers=known)
    assert again.status == 304


async def test_searches_go_on_while_the_primary_is_away(
    get: Get, servers: tuple[Server, Server]
) -> None:
    asked = {"query": "token", "format": "json"}
    before = await becomes(get, "/api/search", "stale_s", **asked)
    servers[0].stop("immediate")
    try:
        reply = await becomes(get, "/api/search", "a replica did", **asked)
    finally:
        servers[0].start()
    assert reply["results"] == before["results"]
    assert "a replica did" not in str(await becomes(get, "/api/stats", "'used'"))
