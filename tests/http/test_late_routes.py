"""Most routes come after the start, and nobody can tell."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from mem_search.errors import StorageError
from mem_search.http.core import app as application
from mem_search.http.core.app import LATE, LateRoutes, build_app, load_soon
from mem_search.http.core.lifecycle import LIFECYCLE
from mem_search.http.core.routing import ROUTE_TABLE
from mem_search.http.first_routes import FIRST
from mem_search.http.routes import ROUTES
from mem_search.runtime import Runtime
from mem_search.settings import Settings

LATER = (
    "mem_search.http.routes", "mem_search.http.jobs", "mem_search.features.archives",
    "mem_search.features.saved_searches", "mem_search.features.claude_mem.http",
    "mem_search.http.openapi", "mem_search.wiring", "mem_search.jobs", "mem_search.ingest",
    "mem_search.sources", "mem_search.extractors", "mem_search.features.webhooks",
    "mem_search.mcp.tool", "prometheus_client",
)  # fmt: skip


def test_the_app_is_built_without_the_modules_of_late_routes() -> None:
    code = "import sys; import mem_search.http.core.app; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert [name for name in LATER if name in loaded.stdout.split()] == []


async def test_first_and_late_routes_are_all_routes(settings: Settings) -> None:
    app = build_app(settings)
    late = await app[LATE].router()

    def named(router: web.UrlDispatcher) -> set[tuple[str, str]]:
        return {
            (route.method, route.resource.canonical)
            for route in router.routes()
            if route.resource is not None and route.method not in ("*", "HEAD")
        }

    table = {(route.method, route.path) for route in ROUTES}
    assert named(app.router) == {(route.method, route.path) for route in FIRST}
    assert named(late) == table - named(app.router)
    assert app[ROUTE_TABLE]() == ROUTES


async def test_paths_and_methods_are_told_apart_as_in_one_table(settings: Settings) -> None:
    async with TestClient(TestServer(build_app(settings))) as client:
        unknown = await client.get("/api/none")
        late = await client.get("/api/version")
        said = await late.json()
        head = await client.head("/api/version")
        wrong_of_first = await client.post("/api/search")
        wrong_of_late = await client.delete("/api/version")
        no_record = await client.get("/api/records/batch")

    assert (unknown.status, late.status, head.status) == (404, 200, 200)
    assert wrong_of_first.status == wrong_of_late.status == no_record.status == 405
    assert "GET" in wrong_of_first.headers["Allow"]
    assert "GET" in wrong_of_late.headers["Allow"]
    assert no_record.headers["Allow"] == "POST"
    assert said["version"]


async def test_requests_that_come_together_load_them_once() -> None:
    loads = []

    def load() -> web.UrlDispatcher:
        loads.append(1)
        return web.UrlDispatcher()

    late = LateRoutes(web.UrlDispatcher(), load)
    routers = await asyncio.gather(*(late.router() for _ in range(3)))

    assert len(loads) == 1
    assert routers[0] is routers[1] is routers[2]


async def test_they_are_loaded_without_a_request_too(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(application, "PAUSE", 0)
    begun = asyncio.Event()
    app = build_app(settings)
    here = asyncio.get_running_loop()

    def load() -> web.UrlDispatcher:
        here.call_soon_threadsafe(begun.set)
        return web.UrlDispatcher()

    app[LATE]._load = load
    assert load_soon in app.cleanup_ctx
    async with TestClient(TestServer(app)):
        await begun.wait()


async def test_searches_are_answered_before_the_features_are_open(settings: Settings) -> None:
    app = build_app(settings)
    async with TestClient(TestServer(app)) as client:
        found = await client.get("/api/search/unified?query=auth")
        before = app[LIFECYCLE].runtime.features
        counted = await client.get("/api/stats")

        assert (found.status, before, counted.status) == (200, None, 200)
        assert app[LIFECYCLE].runtime.features is not None


async def test_every_request_learns_that_the_features_cannot_be_opened(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    @asynccontextmanager
    async def broken(_: Runtime) -> AsyncIterator[None]:
        raise StorageError("the disk is gone")
        yield

    monkeypatch.setattr("mem_search.wiring.open_features", broken)
    app = build_app(settings)
    async with TestClient(TestServer(app)) as client:
        assert (await client.get("/api/search?query=auth")).status == 200
        with pytest.raises(StorageError, match="the disk is gone"):
            await app[LIFECYCLE].ready()
        for path in ("/api/search?query=auth", "/api/stats"):
            reply = await client.get(path)
            assert (reply.status, (await reply.json())["detail"]) == (
                503, "the worker cannot open its store: the disk is gone"
            )  # fmt: skip


async def test_an_app_that_ends_before_anybody_wants_the_features_leaves_nobody_waiting(
    settings: Settings,
) -> None:
    app = build_app(settings)
    async with TestClient(TestServer(app)):
        await app[LIFECYCLE].settled()
        waiting = asyncio.create_task(app[LIFECYCLE].complete())
    await waiting
    assert app[LIFECYCLE].error is None
