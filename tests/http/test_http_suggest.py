"""Completions, spelling, related searches and the search log over HTTP."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from aiohttp.test_utils import TestClient, TestServer
from http_worker import AUTHORIZED, Client, Get, lifecycle_of

from mem_search.http.core.app import build_app
from mem_search.model import Draft
from mem_search.settings import Settings
from runtimes import fill


async def test_completions_name_their_sort_and_how_many_records_have_them(get: Get) -> None:
    reply = await get("/api/suggest", prefix="aut")
    assert {"text": "auth", "what": "word", "records": 5} in reply["completions"]
    assert {"text": "src/auth.py", "what": "file", "records": 1} in reply["completions"]
    assert reply["total"] == len(reply["completions"])
    assert len((await get("/api/suggest", prefix="w", limit=1))["completions"]) == 1


async def test_completions_as_text_are_a_line_each(client: Client) -> None:
    reply = await client.get("/api/suggest?prefix=widg", headers={"Accept": "text/plain"})
    assert "widget  (word, 25)" in (await reply.text()).splitlines()


@pytest.mark.parametrize(
    ("path", "parameter"),
    [
        ("/api/suggest", "prefix"),
        ("/api/suggest?prefix=a&limit=51", "limit"),
        ("/api/search/related", "query"),
        ("/api/search/popular?limit=0", "limit"),
        ("/api/search/slow?since=never", "since"),
        ("/api/search?query=a&max_tokens=49", "max_tokens"),
        ("/api/timeline?query=a&max_tokens=100001", "max_tokens"),
        ("/api/context/recent?max_tokens=many", "max_tokens"),
    ],
)
async def test_what_cannot_be_used_is_named(client: Client, path: str, parameter: str) -> None:
    reply = await client.get(path)
    assert reply.status == 422
    assert parameter in await reply.text()


async def test_a_misspelt_query_gets_a_suggestion(get: Get) -> None:
    reply = await get("/api/search", query="tokkens")
    assert reply["search"]["suggestions"][0] == "tokens"
    assert reply["search"]["analyzed"]["near"] == {"tokkens": ["tokens"]}
    said = "no record has “tokkens”; looked for instead: “tokens”"
    assert reply["search"]["notices"] == [said]
    text = reply["content"][0]["text"]
    assert "Did you mean: tokens" in text
    assert f"Note: {said}" in text
    as_json = await get("/api/search", query="tokkens", format="json")
    assert as_json["search"]["suggestions"] == reply["search"]["suggestions"]
    assert (await get("/api/search", query="auth"))["search"]["suggestions"] == []


async def test_related_searches_come_from_results_and_earlier_questions(
    client: Client, get: Get
) -> None:
    await client.get("/api/search?query=auth+endpoint", headers=AUTHORIZED)
    await get("/api/search/popular")  # the log is stored when it is read
    found = (await get("/api/search/related", query="auth"))["related"]
    assert {"text": "auth endpoint", "what": "asked before"} in found


async def test_logged_queries_are_listed_until_the_log_is_emptied(client: Client, get: Get) -> None:
    for _ in range(2):
        await client.get("/api/search?query=auth", headers=AUTHORIZED)
    await client.get("/api/search?query=zzqqxx", headers=AUTHORIZED)
    cli = {"User-Agent": "mem-search", **AUTHORIZED}
    await client.get("/api/search?query=login", headers=cli)
    popular = (await get("/api/search/popular"))["queries"]
    assert (popular[0]["query"], popular[0]["times"], popular[0]["total"]) == ("auth", 2, 5)
    assert [q["query"] for q in (await get("/api/search/zero-results"))["queries"]] == ["zzqqxx"]
    slow = (await get("/api/search/slow", limit=10))["searches"]
    assert len(slow) == 4
    assert {each["surface"] for each in slow if each["query"] == "login"} == {"cli"}
    assert slow[0]["took_ms"] >= slow[-1]["took_ms"]
    assert (await get("/api/search/popular", since="tomorrow"))["queries"] == []

    assert (await client.delete("/api/search/log")).status == 401
    reply = await client.delete("/api/search/log", headers=AUTHORIZED)
    assert await reply.json() == {"deleted": 4}
    assert (await get("/api/search/popular"))["queries"] == []


async def test_usage_is_what_was_asked_without_secrets_until_it_is_forgotten(
    client: Client, get: Get
) -> None:
    assert (await get("/api/search/usage"))["searches"] == 0
    secret = "ghp_" + "a1B2" * 9
    for query in ("auth", "Auth?", f"the key {secret}", "zebra crossing"):
        params = {"query": query, "mode": "keyword"}
        await (await client.get("/api/search", params=params, headers=AUTHORIZED)).read()
    usage = await get("/api/search/usage", limit=3)
    assert (usage["on"], usage["searches"]) == (True, 4)
    assert usage["first_at"]
    assert (usage["popular"][0]["query"], usage["popular"][0]["times"]) == ("Auth?", 2)
    assert "zebra crossing" in [each["query"] for each in usage["empty"]]
    assert len(usage["slow"]) == 3
    assert secret not in str(usage)
    assert (await get("/api/search/usage", since="2100-01-01"))["searches"] == 0
    # What begins so and found something is completed, too: it is one's own.
    completed = (await get("/api/suggest", prefix="AUT"))["completions"]
    assert {"text": "Auth?", "what": "asked before", "records": 5} in completed
    assert (await get("/api/suggest", prefix="zebra"))["completions"] == []
    deleted = await client.delete("/api/search/log", headers=AUTHORIZED)
    assert await deleted.json() == {"deleted": 4}
    assert (await get("/api/search/usage"))["searches"] == 0
    completed = (await get("/api/suggest", prefix="aut"))["completions"]
    assert "asked before" not in [each["what"] for each in completed]


async def test_searches_of_every_version_are_noted(client: Client, get: Get) -> None:
    asked = (
        ("/api/v1/search", {"query": "auth one"}),
        ("/api/v1/search", {"query": "auth one", "offset": 1}),
        ("/api/v1/mcp/search", {"query": "auth"}),
        ("/api/v2/search/hybrid", {"query": "auth three", "limit": 2}),
        ("/api/v2/search/vector", {"query": "auth four", "filters": {"memory_types": ["email"]}}),
    )
    for path, body in asked:
        assert (await client.post(path, json=body, headers=AUTHORIZED)).status == 200
    noted = {each["query"]: each for each in (await get("/api/search/slow"))["searches"]}
    assert {query: (each["mode"], each["surface"]) for query, each in noted.items()} == {
        "auth one": ("keyword", "http"),
        "auth": ("hybrid", "mcp"),
        "auth three": ("weighted", "http"),
        "auth four": ("vector", "http"),
    }
    assert noted["auth three"]["total"] == 2
    assert [q["query"] for q in (await get("/api/search/zero-results"))["queries"]] == ["auth four"]


async def test_words_for_dates_count_from_the_worker_s_zone_in_weighted_searches(
    settings: Settings,
) -> None:
    far = replace(settings, timezone="Pacific/Kiritimati")  # fourteen hours before UTC
    async with TestClient(TestServer(build_app(far))) as client:
        runtime = await lifecycle_of(client).ready()
        zone = ZoneInfo("Pacific/Kiritimati")
        midnight = datetime.now(zone).replace(hour=0, minute=0, second=1)
        at = int(midnight.timestamp() * 1000)
        await fill(runtime, Draft("note", "jsonl", "n", "Something today.", created_at=at))
        for path in ("/api/v2/search/hybrid", "/api/v2/search/vector"):
            reply = await client.post(path, json={"query": "something in:today"})
            assert len((await reply.json())["data"]["items"]) == 1


LISTINGS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("/api/search", {"query": "widget"}),
    ("/api/search/unified", {"query": "widget"}),
    ("/api/search/observations", {"query": "widget", "format": "full"}),
    ("/api/changes", {}),
    ("/api/timeline", {"anchor": "20"}),
    ("/api/timeline", {"anchor": "20", "format": "full"}),
    ("/api/timeline/by-query", {"query": "widget", "mode": "interactive"}),
    ("/api/context/recent", {}),
    ("/api/records/observation:2", {"format": "full"}),
)


@pytest.mark.parametrize(("path", "params"), LISTINGS)
@pytest.mark.parametrize("limit", [50, 120, 400])
async def test_a_listing_states_its_tokens_and_stays_within_the_budget(
    get: Get, path: str, params: dict[str, Any], limit: int
) -> None:
    whole = await get(path, **params)
    assert whole["tokens_used"] > 0
    within = await get(path, max_tokens=limit, **params)
    assert 0 < within["tokens_used"] <= limit
    assert within.get("total") == whole.get("total")


@pytest.mark.parametrize("order", ["relevance", "date_desc"])
async def test_pages_cut_to_tokens_put_together_are_the_whole(get: Get, order: str) -> None:
    asked = {"query": "widget colour", "orderBy": order, "limit": 40}
    whole = await get("/api/search", format="json", **asked)
    seen: list[int] = []
    offset = 0
    while offset < whole["total"]:
        page = await get("/api/search", format="json", offset=offset, max_tokens=900, **asked)
        assert page["tokens_used"] <= 900
        assert page["total"] == whole["total"]
        seen += [result["number"] for result in page["results"]]
        (note,) = [n for n in page["search"]["notices"] if "max_tokens" in n] or ["offset=1000"]
        offset = int(note.rpartition("offset=")[2])
    assert sorted(seen) == sorted(result["number"] for result in whole["results"])


async def test_a_list_of_records_within_tokens_says_where_the_next_begins(get: Get) -> None:
    page = await get("/api/observations", max_tokens=500)
    count = len(page["items"])
    assert 0 < count < page["total"]
    assert page["tokens_used"] <= 500
    assert page["hasMore"]
    assert page["note"].endswith(f"next: offset={count}")


async def test_a_timeline_within_tokens_leaves_out_what_is_far(get: Get) -> None:
    whole = await get("/api/timeline", anchor="20", format="json")
    near = await get("/api/timeline", anchor="20", format="json", max_tokens=900)
    assert near["tokens_used"] <= 900
    refs = [record["ref"] for record in near["records"]]
    assert near["anchor"] in refs
    assert len(refs) < len(whole["records"])
    assert "left out" in near["note"]


async def test_a_record_within_tokens_says_what_of_it_is_cut(get: Get) -> None:
    path = "/api/records/observation:2"
    whole = await get(path)
    assert "cut" not in whole
    for limit in (50, 100, 150):
        within = await get(path, max_tokens=limit)
        assert 0 < within["tokens_used"] <= limit
        assert within["ref"] == "observation:2"
    assert within["text"]
    assert "text" in within["cut"]
    assert within["note"] == f"open it whole: {path}"


async def test_records_that_do_not_fit_are_named(client: Client) -> None:
    refs = [f"observation:{number}" for number in (2, 4, 5)]
    body = {"refs": refs, "max_tokens": 400}
    reply = await (await client.post("/api/records/batch", json=body)).json()
    kept = [record["ref"] for record in reply["records"]]
    assert reply["tokens_used"] <= 400
    assert kept
    assert kept + reply["left_out"] == refs
