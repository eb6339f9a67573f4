"""Health and documentation, and the replies while the worker starts or after it failed."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientConnectionError, web
from aiohttp.test_utils import TestClient, TestServer
from http_worker import Client, lifecycle_of

from chosen_store import in_a_file
from mem_search.access.proof import CHALLENGE, PROOF
from mem_search.errors import StorageError
from mem_search.http.core.app import build_app
from mem_search.http.core.lifecycle import LIFECYCLE, Lifecycle
from mem_search.http.openapi import describe
from mem_search.http.routes import ROUTES
from mem_search.search_wiring import open_search
from mem_search.settings import Settings
from mem_search.wiring import Runtime
from patience import PATIENCE

DOCUMENT = Path(__file__).parents[2] / "docs" / "openapi.json"
REST = [route for route in ROUTES if route.is_rest]
EARLY = ("/health", "/api/health", "/api/version", "/openapi.json", "/docs", "/api/search/help")


async def test_health_names_the_service_but_no_version(empty: Client) -> None:
    health = await (await empty.get("/api/health")).json()
    assert health["service"] == "mem-search"
    assert health["initialized"] is True
    assert health["store_id"]
    assert "version" not in health
    assert (await (await empty.get("/health")).json())["status"] == "ok"
    assert (await (await empty.get("/api/readiness")).json())["status"] == "ready"


async def test_the_port_answers_while_the_store_is_being_opened(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mem_search.http.core.dispatch.OPENING_SECONDS", 0.01)
    app = build_app(settings)
    app.cleanup_ctx.clear()  # the store is never opened
    async with TestClient(TestServer(app)) as client:
        for path in EARLY:
            assert (await client.get(path)).status == 200, path
        assert (await (await client.get("/api/health")).json())["status"] == "starting"
        for path in ("/api/search?query=auth", "/api/readiness", "/api/stats"):
            reply = await client.get(path)
            assert (reply.status, (await reply.json())["code"]) == (503, "starting")
            assert reply.headers["Retry-After"] == "1"


async def test_a_request_waits_for_the_store(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening, asked = asyncio.Event(), asyncio.Event()

    @asynccontextmanager
    async def open_late(*args: Any, **options: Any) -> AsyncIterator[Runtime]:
        await opening.wait()
        async with open_search(*args, **options) as runtime:
            yield runtime

    async def settled(lifecycle: Lifecycle, *args: Any, **options: Any) -> None:
        asked.set()
        await wait(lifecycle, *args, **options)

    wait = Lifecycle.settled
    monkeypatch.setattr(Lifecycle, "settled", settled)
    monkeypatch.setattr("mem_search.http.core.dispatch.OPENING_SECONDS", PATIENCE)
    monkeypatch.setattr("mem_search.http.core.lifecycle.open_search", open_late)
    async with TestClient(TestServer(build_app(settings))) as client:
        waiting = asyncio.create_task(client.get("/api/search?query=auth"))
        await asked.wait()
        opening.set()
        assert (await waiting).status == 200


@in_a_file("it is overwritten")
async def test_every_request_learns_that_the_store_cannot_be_opened(settings: Settings) -> None:
    settings.home.mkdir()
    settings.database.write_bytes(b"this is no database at all" * 100)
    app = build_app(settings)
    async with TestClient(TestServer(app)) as client:
        with pytest.raises(StorageError):
            await app[LIFECYCLE].ready()
        assert (await (await client.get("/api/health")).json())["status"] == "failed"
        reply = await client.get("/api/search?query=auth")
        assert reply.status == 503
        assert "cannot open its store" in (await reply.json())["detail"]


async def test_a_bug_is_logged_and_never_shown(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(request: web.Request) -> web.Response:
        raise RuntimeError("the secret inside")

    app = build_app(settings)
    app.router.add_get("/broken", broken)
    async with TestClient(TestServer(app)) as client:
        reply = await client.get("/broken", headers={"X-Request-Id": "mine-1"})
        problem = await reply.json()
    assert (reply.status, problem["code"], problem["request_id"]) == (500, "internal", "mine-1")
    assert "secret" not in json.dumps(problem)
    assert "the secret inside" in caplog.text
    assert "mine-1" in caplog.text


async def test_a_request_id_that_is_no_id_is_not_repeated(empty: Client) -> None:
    reply = await empty.get("/health", headers={"X-Request-Id": "a b<script>"})
    assert re.fullmatch("[0-9a-f]{16}", reply.headers["X-Request-Id"])


class Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.found += [value or "" for name, value in attrs if name in ("href", "src")]


async def test_the_docs_page_lists_every_route_and_loads_nothing(empty: Client) -> None:
    reply = await empty.get("/docs")
    text = await reply.text()
    assert "default-src 'none'" in reply.headers["Content-Security-Policy"]
    for route in REST:
        assert f"<code>{route.path}</code>" in text
    links = Links()
    links.feed(text)
    assert "script" not in links.tags
    assert all(link.startswith("/") for link in links.found)


def test_the_written_openapi_document_is_current() -> None:
    assert json.loads(DOCUMENT.read_text("utf-8")) == describe(ROUTES), (
        "run: python -m mem_search.http.openapi > docs/openapi.json"
    )


def test_the_openapi_document_is_whole() -> None:
    described = describe(ROUTES)
    assert described["openapi"].startswith("3.1")
    operations = [o for path in described["paths"].values() for o in path.values()]
    assert len(operations) == len(REST)
    assert len({operation["operationId"] for operation in operations}) == len(REST)
    for path, methods in described["paths"].items():
        for operation in methods.values():
            parameters = operation.get("parameters", [])
            named = [p["name"] for p in parameters if p["in"] == "path"]
            assert named == re.findall(r"{(\w+)}", path)
            assert len({(p["in"], p["name"]) for p in parameters}) == len(parameters)
            assert all(p["schema"] for p in parameters if p["name"] != "tz")
    for reference in _references(described):
        target: Any = described
        for step in reference.removeprefix("#/").split("/"):
            target = target[step]


def _references(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return own + [ref for item in value.values() for ref in _references(item)]
    if isinstance(value, list):
        return [ref for item in value for ref in _references(item)]
    return []


async def test_a_worker_that_ends_drops_who_asks_for_its_proof(empty: Client) -> None:
    """A reply without the proof would be taken for that of another program on the port."""
    await lifecycle_of(empty).ready()
    asking = {CHALLENGE: "ab" * 16}
    alive = await empty.head("/health", headers=asking)
    assert PROOF in alive.headers
    lifecycle_of(empty).key = ""
    with pytest.raises(ClientConnectionError):
        await empty.head("/health", headers=asking)
    assert (await empty.get("/health")).status == 200
