"""Every surface searches through ``SearchService``, and they agree about the same question."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from http_worker import AUTHORIZED, Client, Get, lifecycle_of

from mem_search.http.access.authentication import searches
from mem_search.http.core.routing import Route
from mem_search.http.routes import ROUTES
from mem_search.mcp.server import TOOLS
from mem_search.mcp.tool import ToolContext, call
from mem_search.model import SearchPage, SearchRequest
from mem_search.records.registry import installed_kinds
from mem_search.renderers import DisplayOptions
from mem_search.search.pipeline import SearchPipeline
from mem_search.search.service import SearchService
from patience import PATIENCE

REQUIRED = {"concept": "how-it-works", "filePath": "src/auth.py", "type": "feature", "as": "csv"}
"""Parameters that some search routes require beside the question, by their names."""

SELECTS = "/api/forget"
"""Its query is a condition for records, of which none is better than another."""

ROUTES_THAT_SEARCH = [
    route for route in ROUTES if searches(route.query, route.body) and route.path != SELECTS
]


class Counter:
    """How many searches went through the service, and how many ran at all."""

    def __init__(self) -> None:
        self.through_service = 0
        self.run = 0

    @property
    def all_through_service(self) -> bool:
        return self.run == self.through_service > 0


@pytest.fixture
def counter(monkeypatch: pytest.MonkeyPatch) -> Counter:
    counter = Counter()
    serve, run = SearchService.search, SearchPipeline.search

    async def through_service(
        self: SearchService, request: SearchRequest, surface: str, *, current: bool = False
    ) -> SearchPage:
        counter.through_service += 1
        return await serve(self, request, surface, current=current)

    async def counted(self: SearchPipeline, request: SearchRequest) -> SearchPage:
        counter.run += 1
        return await run(self, request)

    monkeypatch.setattr(SearchService, "search", through_service)
    monkeypatch.setattr(SearchPipeline, "search", counted)
    return counter


@pytest.mark.parametrize("route", ROUTES_THAT_SEARCH, ids=lambda route: route.path)
async def test_a_route_searches_through_the_service(
    client: Client, counter: Counter, route: Route
) -> None:
    if route.method == "POST":
        reply = await client.post(route.path, json={"query": "auth"})
    else:
        assert route.query is not None
        names = {info.alias or name for name, info in route.query.model_fields.items()}
        required = {name: value for name, value in REQUIRED.items() if name in names}
        reply = await client.get(route.path, params={"query": "auth", **required})
    assert reply.status == 200, await reply.text()
    assert counter.all_through_service


async def test_what_runs_later_searches_through_the_service(
    client: Client, counter: Counter
) -> None:
    reply = await client.post(
        "/api/v1/search", json={"query": "auth", "background": True}, headers=AUTHORIZED
    )
    job = (await reply.json())["job_id"]
    async with asyncio.timeout(PATIENCE):
        jobs = lifecycle_of(client).runtime.research.search_jobs
        while (await jobs.get(job)).is_unfinished:  # noqa: ASYNC110  it asks the store
            await asyncio.sleep(0.01)
    plan = {"name": "auth", "search": {"query": "auth"}}
    reply = await client.post("/api/v1/saved-searches", json=plan, headers=AUTHORIZED)
    assert reply.status == 201
    reply = await client.post("/api/v1/saved-searches/auth/run", headers=AUTHORIZED)
    assert reply.status == 200
    assert (await client.get("/api/timeline", params={"query": "auth"})).status == 200
    assert counter.all_through_service
    assert counter.run >= 5


async def test_a_tool_searches_through_the_service(client: Client, counter: Counter) -> None:
    display = DisplayOptions(installed_kinds().get, UTC, datetime.now(UTC))
    context = ToolContext(lifecycle_of(client).runtime, "http://x", display)
    ran = 0
    for tool in TOOLS:
        if "query" in tool.arguments.model_fields:
            outcome = await call(tool, {"query": "auth"}, context)
            assert not outcome.failed, outcome.text
            assert counter.run > ran
            ran = counter.run
    assert counter.all_through_service


async def test_codecs_agree_about_the_same_question(client: Client, get: Get) -> None:
    """Same records in the same order; only folding and the scratchpad are v1's own, unused here."""

    async def posted(path: str, **body: Any) -> Any:
        reply = await client.post(path, json=body)
        assert reply.status == 200, await reply.text()
        return await reply.json()

    for question in ("auth", "tokens login", '"the auth endpoint"', "auth type:feature"):
        said = await get("/api/search", query=question, format="json", fold="false", limit=50)
        found = [f"local:{result['ref']}" for result in said["results"]]
        assert found
        unified = await get(
            "/api/search/unified", query=question, format="json", fold="false",
            orderBy="relevance", limit=50,
        )  # fmt: skip
        assert [f"local:{result['ref']}" for result in unified["results"]] == found
        v1 = await posted("/api/v1/search", query=question, search_type="hybrid", limit=50)
        assert [item["id"] for item in v1["items"]] == found
        assert (v1["total_count"], v1["counts_by_type"]) == (said["total"], said["counts_by_type"])
        agents = await posted("/api/v1/mcp/search", query=question, limit=50)
        assert [item["id"] for item in agents["results"]] == found
        v2 = await posted("/api/v2/search/hybrid", query=question, limit=50)
        assert {f"local:{item['id']}" for item in v2["data"]["items"]} >= set(found)
        assert v2["data"]["analyzed_query"]["read_as"] == {
            name: value for name, value in v1["search"]["analyzed"].items() if name != "warnings"
        }
