"""Without a token, and with one that may only read, nothing is written."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer
from every_route import BODIES, ENDLESS, PARAMETERS, SEARCH, filled, write_something
from http_worker import AUTHORIZED, RECORDS, Client, held_searches, lifecycle_of
from people import bring_in, join

from chosen_store import SERVER, rows_on_the_server
from mem_search.http.core.app import build_app
from mem_search.http.routes import ROUTES
from mem_search.settings import Settings

Snapshot = dict[str, Any]


async def flush(client: Client) -> None:
    """Store what waits in memory for a writer."""
    lifecycle = lifecycle_of(client)
    await lifecycle.runtime.search.service.log.flush()
    if (lifecycle.settings.home / "users" / "ada").exists():
        async with lifecycle.users.lease("ada") as runtime:
            await runtime.search.service.log.flush()
    await lifecycle.tokens.flush()


async def snapshot(client: Client, home: Path) -> Snapshot:
    """Every row of every database, and every byte of every other file, in the home."""
    await flush(client)
    found: Snapshot = {}
    for path in sorted(each for each in home.rglob("*") if each.is_file()):  # noqa: ASYNC240
        name = str(path.relative_to(home))
        if path.suffix == ".db":
            with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
                for (table,) in connection.execute(
                    "select name from sqlite_schema where type = 'table' and rootpage"
                ).fetchall():
                    rows = connection.execute(f'select * from "{table}"').fetchall()
                    found[f"{name}: {table}"] = sorted(map(repr, rows))
        elif not name.endswith(("-wal", "-shm")):  # the rows are compared
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found | dict(rows_on_the_server(home))


async def walk(client: Client, known: dict[str, str], headers: dict[str, str]) -> dict[str, int]:
    """Ask every route everything; returns the statuses."""
    statuses = {}
    for route in ROUTES:
        endless = route.content_type == ENDLESS and (headers or not route.write)
        if endless or (route.capture and not headers):
            continue  # the second kind adds records for a program of this user: claude-mem's hooks
        fields = route.query.model_fields if route.query else {}
        names = {field.alias or name for name, field in fields.items()} | set(fields)
        params = {name: value for name, value in PARAMETERS.items() if name in names}
        if "anchor" in params and "query" in params:
            del params["query"]
        for number, body in enumerate(BODIES.get(route.path, [None])):
            if route.method in ("GET", "DELETE"):
                body = None
            raw = isinstance(body, bytes)
            reply = await client.request(
                route.method,
                filled(route, known),
                params=params,
                data=body if raw else None,
                json=None if raw or body is None else body,
                headers={**headers, "Accept": "application/json, text/event-stream",
                         **({"Content-Type": route.body_type} if raw else {})},
                allow_redirects=False,
            )  # fmt: skip
            await reply.read()
            statuses[f"{route.method} {route.path} {number}"] = reply.status
    return statuses


async def read_only(client: Client) -> dict[str, str]:
    person = await join(client, "", "reader", read_only=True)
    return person.headers


async def test_a_caller_without_a_token_writes_nothing(client: Client, settings: Settings) -> None:
    known = await write_something(client)
    before = await snapshot(client, settings.home)
    statuses = await walk(client, known, {})
    assert await snapshot(client, settings.home) == before
    refused = {name for name, status in statuses.items() if status == 401}
    assert {f"POST /api/v1/search {n}" for n in (1, 2, 3, 4)} <= refused
    assert "POST /api/v1/mcp/fetch 1" in refused
    assert {name for name, status in statuses.items() if status >= 500} == set()
    answered = [name for name, status in statuses.items() if status == 200]
    assert len(answered) > 40  # the walk asks what the routes understand
    for route in ROUTES:
        if route.write and not route.capture:
            assert f"{route.method} {route.path} 0" in refused


async def test_a_token_that_may_only_read_writes_nothing(
    client: Client, settings: Settings
) -> None:
    known = await write_something(client)
    headers = await read_only(client)
    before = await snapshot(client, settings.home)
    statuses = await walk(client, known, headers)
    assert await snapshot(client, settings.home) == before
    refused = {name for name, status in statuses.items() if status == 403}
    assert {f"POST /api/v1/search {n}" for n in (1, 2, 3, 4)} <= refused
    assert {f"{route.method} {route.path} 0" for route in ROUTES if route.changes} <= refused


def assert_only_counted(before: Snapshot, after: Snapshot, home: Path) -> None:
    """Nothing was written but that ada, a limited caller, asked: whose limit, which, and when.

    In a file, the store also counts its commits, in it and in the mark beside it.
    """
    granted = f"{home} granted_requests" if SERVER else "mem-search.db: granted_requests"
    counted = {granted, "mem-search.db: meta", "mem-search.db.mark"}
    assert {name for name in after if after[name] != before.get(name)} <= counted
    assert all(re.search(r"\bada\b", row) for row in after[granted])
    assert set(after) == set(before)


async def test_a_user_who_may_only_read_writes_nothing_in_any_store(
    client: Client, settings: Settings
) -> None:
    writer = await join(client, "ada", "ada-writes")
    await bring_in(client, writer, *RECORDS)
    known = await write_something(client, writer)
    reader = await join(client, "ada", "ada-reads", read_only=True)
    before = await snapshot(client, settings.home)
    statuses = await walk(client, known, reader.headers)
    assert_only_counted(before, await snapshot(client, settings.home), settings.home)
    refused = {name for name, status in statuses.items() if status == 403}
    assert {f"POST /api/v1/search {n}" for n in (1, 2, 3, 4)} <= refused
    assert "POST /api/v1/mcp/fetch 1" in refused
    assert {f"{route.method} {route.path} 0" for route in ROUTES if route.changes} <= refused
    assert sum(status == 200 for status in statuses.values()) > 40


async def test_a_user_who_may_only_read_gets_no_home_by_asking(
    client: Client, settings: Settings
) -> None:
    ada = await join(client, "ada", read_only=True)
    before = await snapshot(client, settings.home)
    reply = await client.get("/api/search?query=auth", headers=ada.headers)
    assert (reply.status, (await reply.json())["code"]) == (403, "forbidden")
    assert not (settings.home / "users").exists()
    assert_only_counted(before, await snapshot(client, settings.home), settings.home)
    writer = await join(client, "ada", "ada-writes")
    await bring_in(client, writer, RECORDS[0])
    reply = await client.get("/api/search?query=auth&format=json", headers=ada.headers)
    assert (await reply.json())["total"] == 1


async def test_the_refusal_names_the_token_and_how_to_send_it(client: Client) -> None:
    reply = await client.post("/api/v1/search", json={**SEARCH, "background": True})
    problem = await reply.json()
    assert reply.status == 401
    assert problem["detail"].startswith("a search in the background needs a token: send 'Authoriz")
    message = BODIES["/mcp"][-1]
    headers = {"Accept": "application/json, text/event-stream"}
    reply = await client.post("/mcp", json=message, headers=headers)
    result = (await reply.json())["result"]
    assert result["isError"]
    assert "deep research needs a token: send" in result["content"][0]["text"]


async def test_a_search_is_logged_only_for_a_caller_who_may_write(client: Client) -> None:
    async def logged() -> set[str]:
        reply = await client.get("/api/search/popular", headers=AUTHORIZED)
        return {row["query"] for row in (await reply.json())["queries"]}

    await client.get("/api/search?query=marlin", headers=await read_only(client))
    await client.get("/api/search?query=walrus")
    await client.get("/api/search?query=narwhal", headers=AUTHORIZED)
    assert await logged() == {"narwhal"}


async def test_a_flood_of_one_caller_is_no_limit_of_another(
    client: Client, settings: Settings
) -> None:
    program = await join(client, "", "program")
    other = await join(client, "", "other-program")
    away = {"X-Forwarded-For": "192.0.2.7"}
    body = {**SEARCH, "background": True}
    with held_searches(client):
        statuses = []
        for _ in range(settings.limit_jobs + 1):
            reply = await client.post("/api/v1/search", json=body, headers=program.headers)
            statuses.append(reply.status)
        assert statuses == [200] * settings.limit_jobs + [429]
        for headers in (AUTHORIZED, {**AUTHORIZED, **away}, other.headers):
            assert (await client.post("/api/v1/search", json=body, headers=headers)).status == 200

    for _ in range(settings.limit_searches + 1):
        reply = await client.get("/api/search?query=auth", headers={**program.headers, **away})
    assert reply.status == 429
    for headers in ({**AUTHORIZED, **away}, {**other.headers, **away}, AUTHORIZED, {}):
        assert (await client.get("/api/search?query=auth", headers=headers)).status == 200


@pytest.mark.parametrize("path", ["/api/search?query=auth", "/v/observation:1", "/api/stats"])
async def test_a_setting_demands_the_token_for_reads_too(settings: Settings, path: str) -> None:
    client = TestClient(TestServer(build_app(replace(settings, read_token=True))))
    async with client:
        await lifecycle_of(client).ready()
        reply = await client.get(path)
        assert (reply.status, "needs a token" in await reply.text()) == (401, True)
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        assert (await client.post("/mcp", json=message)).status == 401
        assert (await client.get("/health")).status == 200
        assert (await client.get(path, headers=AUTHORIZED)).status in (200, 404)
        headers = {**AUTHORIZED, "Accept": "application/json, text/event-stream"}
        assert (await client.post("/mcp", json=message, headers=headers)).status == 200


def test_the_setting_is_read_from_the_environment(tmp_path: Path) -> None:
    environ = {"MEM_SEARCH_HOME": str(tmp_path), "MEM_SEARCH_READ_TOKEN": "1"}
    assert Settings.read(environ).read_token
    assert json.dumps(Settings.read({"MEM_SEARCH_HOME": str(tmp_path)}).read_token) == "false"
