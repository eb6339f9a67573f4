"""Searches over HTTP: results, order and format."""

from __future__ import annotations

from typing import Any

import pytest
from http_worker import Client, Get

PLURALS = (
    "observations sessions prompts notes websites files conversations memories emails reports"
).split()


async def test_unified_search_mixes_kinds_newest_first(get: Get) -> None:
    reply = await get("/api/search/unified", query="auth")
    lines = reply["content"][0]["text"].splitlines()
    assert lines[0] == 'Found 5 result(s) matching "auth":'
    assert "💬 User Prompt" in lines[3]
    assert "Session #1 - Implemented JWT authentication (Nov 17, 2025, 5:30 PM)" in lines[5]
    assert reply["total"] == 5
    assert reply["counts_by_type"]["observation"] == 2
    assert reply["search"]["requested"] == "hybrid"


async def test_plain_text_is_the_same_listing_without_its_envelope(
    client: Client, get: Get
) -> None:
    bare = await client.get("/api/search/unified?query=login", headers={"Accept": "text/plain"})
    assert bare.content_type == "text/plain"
    wrapped = await get("/api/search/unified", query="login")
    # Notes on the index differ from one moment to the next while it fills.
    heading, lines, *_ = (await bare.text()).split("\n\n")
    assert wrapped["content"][0]["text"].split("\n\n")[:2] == [heading, lines]


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("*/*", "application/json"),
        ("application/json, text/plain", "application/json"),
        ("text/plain;q=0.9, application/json;q=0.5", "text/plain"),
        ("text/plain;q=nonsense", "application/json"),
    ],
)
async def test_the_accept_header_decides_between_text_and_json(
    client: Client, accept: str, kind: str
) -> None:
    reply = await client.get("/api/search/unified?query=auth", headers={"Accept": accept})
    assert reply.content_type == kind


async def test_json_format_gives_records_that_scripts_read(get: Get) -> None:
    reply = await get("/api/search", query="login endpoint", format="json")
    first = reply["results"][0]
    assert first["ref"] == f"{first['kind']}:{first['number']}" == "observation:2"
    assert {"title", "snippet", "score", "created_at", "project", "source"} <= set(first)
    assert reply["query"] == "login endpoint"


@pytest.mark.parametrize("plural", PLURALS)
async def test_the_route_of_a_kind_answers_with_that_kind_only(get: Get, plural: str) -> None:
    reply = await get(f"/api/search/{plural}", query="auth", format="json")
    assert len({result["kind"] for result in reply["results"]}) <= 1
    assert (reply["total"] > 0) == (plural in ("observations", "sessions", "prompts", "notes"))


@pytest.mark.parametrize(
    ("params", "sources"),
    [
        ({"type": "bugfix"}, []),
        ({"type": "decision"}, ["o2"]),
        ({"obs_type": "decision,feature"}, ["o1", "o2"]),
        ({"type": "sessions"}, ["s1"]),
        ({"type": "prompts,sessions"}, ["p1", "s1"]),
        ({"types": "notes"}, ["n1"]),
        ({"types": "user_prompt", "project": "WEB"}, ["p1"]),
        ({"concepts": "trade-off"}, ["o2"]),
        ({"filePath": "auth.py"}, ["o1"]),
        ({"tag": "api"}, ["o1"]),
        ({"session": "one", "types": "observation"}, ["o1", "o2"]),
        ({"project": "web", "dateStart": "2025-11-18"}, ["o2"]),
        ({"project": "web", "dateEnd": "2025-11-17"}, ["o1", "p1", "s1"]),
        ({"dateRange[start]": "2025-11-18", "dateRange[end]": "2025-11-18"}, ["o2"]),
        ({"since": "1763424000", "until": "1763510399999"}, ["o2"]),
        ({"until": "March 2024"}, ["n1"]),
    ],
)
async def test_filters_need_no_question(
    get: Get, params: dict[str, str], sources: list[str], numbers: dict[str, int]
) -> None:
    reply = await get("/api/search", format="json", **params)
    found = {result["number"] for result in reply["results"]}
    assert found == {numbers[source] for source in sources}
    assert reply["total"] == len(sources)


async def test_repeated_and_comma_separated_values_are_alternatives(client: Client) -> None:
    one = await client.get("/api/search?format=json&types=notes&types=prompts")
    other = await client.get("/api/search?format=json&types=notes,prompts")
    assert (await one.json())["results"] == (await other.json())["results"] != []


async def test_search_type_sets_the_mode(client: Client, get: Get) -> None:
    for word, legs in (
        ("keyword", ["keyword"]),
        ("semantic", ["vector"]),
        ("hybrid", ["keyword", "vector"]),
    ):
        page = await get("/api/search", query="widget", search_type=word, format="json")
        assert page["search"]["requested"] == ("vector" if word == "semantic" else word)
        assert [leg["name"] for leg in page["search"]["legs"]] == legs
    reply = await client.get("/api/search?query=widget&search_type=psychic")
    assert reply.status == 422
    assert (await reply.json())["errors"][0]["parameter"] == "search_type"


async def test_an_end_date_includes_its_last_millisecond_in_the_requested_zone(get: Get) -> None:
    berlin = {"types": "observations", "tz": "Europe/Berlin", "project": "web", "format": "json"}
    assert (await get("/api/search", until="2025-11-18", **berlin))["total"] == 1
    assert (await get("/api/search", until="2025-11-19", **berlin))["total"] == 2
    text = await get("/api/search", types="notes", tz="Asia/Tokyo")
    assert "9:00 PM" in text["content"][0]["text"]


@pytest.mark.parametrize(
    ("path", "params"),
    [
        ("/api/search", {"query": "widget colour"}),
        ("/api/search", {"project": "ui", "orderBy": "date_asc"}),
        ("/api/search/observations", {"query": "widget", "mode": "keyword"}),
        ("/api/changes", {}),
        ("/api/changes", {"query": "widget"}),
    ],
)
async def test_pages_put_together_are_the_whole(
    get: Get, path: str, params: dict[str, str]
) -> None:
    whole = await get(path, format="json", limit=100, **params)
    seen: list[int] = []
    for offset in range(0, whole["total"] + 7, 7):
        page = await get(path, format="json", limit=7, offset=offset, **params)
        assert page["total"] == whole["total"]
        seen += [result["number"] for result in page["results"]]
    assert len(seen) == len(set(seen)) == whole["total"]
    assert set(seen) == {result["number"] for result in whole["results"]}


@pytest.mark.parametrize(
    ("path", "sources"),
    [("/api/decisions", {"o2", "o3"}), ("/api/how-it-works", {"o1", "o3"})],
)
async def test_topics_are_a_type_or_a_concept(
    get: Get, path: str, sources: set[str], numbers: dict[str, int]
) -> None:
    reply = await get(path, format="json")
    assert {r["number"] for r in reply["results"]} == {numbers[s] for s in sources}
    assert reply["total"] == len(sources)


async def test_changes_counts_what_is_in_both_once(get: Get) -> None:
    reply = await get("/api/changes", limit=3)
    assert reply["total"] == 25
    assert reply["content"][0]["text"].startswith("Found 25 result(s) about changes")


@pytest.mark.parametrize(
    ("path", "params", "total"),
    [
        ("/api/search/by-concept", {"concept": "trade-off"}, 1),
        ("/api/search/by-file", {"filePath": "src/auth.py"}, 1),
        ("/api/search/by-file", {"filePath": "src", "isFolder": "true"}, 1),
        ("/api/search/by-file", {"filePath": "src/auth.py", "isFolder": "true"}, 0),
        ("/api/search/by-type", {"type": "feature,decision"}, 2),
        ("/api/search/by-type", {"type": "feature", "query": "login"}, 1),
    ],
)
async def test_by_routes_find_by_their_main_parameter(
    get: Get, path: str, params: dict[str, str], total: int
) -> None:
    assert (await get(path, **params))["total"] == total


async def test_a_nonsense_question_finds_nothing_and_says_so(get: Get) -> None:
    reply = await get("/api/search/unified", query="zzqqxx")
    assert reply["total"] == 0
    assert reply["content"][0]["text"].startswith('No results found matching "zzqqxx"')


async def test_the_guide_names_routes_parameters_and_examples(get: Get) -> None:
    text = (await get("/api/search/help"))["content"][0]["text"]
    for word in ("/api/search/unified", "orderBy", "dateRange[start]", "/api/timeline?anchor="):
        assert word in text


async def test_an_empty_store_answers_every_search_with_nothing(empty: Client) -> None:
    for path in ("/api/search/unified?query=auth", "/api/decisions", "/api/context/recent"):
        reply = await empty.get(path)
        body: dict[str, Any] = await reply.json()
        assert reply.status == 200
        assert body.get("total", 0) == 0


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "vector"])
async def test_highlights_are_the_places_of_the_words(get: Get, mode: str) -> None:
    reply = await get("/api/search", query="login endpoint", format="json", mode=mode)
    marked = {
        each["ref"]: {
            field: [each[field][start:end] for start, end in each["highlights"][field]]
            for field in ("title", "snippet")
        }
        for each in reply["results"]
    }
    assert marked["observation:2"] == {"title": ["login", "endpoint"], "snippet": ["endpoint"]}


async def test_facets_are_counted_in_every_format(get: Get, client: Client) -> None:
    params = {"query": "auth", "facets": "kind,type", "facet_limit": 1}
    reply = await get("/api/search", format="json", **params)
    assert reply["facets"]["kind"] == {
        "values": [{"value": "observation", "count": 2}],
        "distinct": 4,
    }
    listing = await get("/api/search/unified", **params)
    assert listing["facets"] == reply["facets"]
    assert "By kind: observation 2, 3 more\nBy type: " in listing["content"][0]["text"]
    assert "facets" not in await get("/api/search", query="auth", format="json")
    body = {"query": "auth", "facets": ["kind"]}
    universal = await (await client.post("/api/v1/search", json=body)).json()
    assert universal["facets"]["kind"]["distinct"] == 4


async def test_an_unknown_facet_is_told_with_the_nearest(client: Client) -> None:
    reply = await client.get("/api/search?query=auth&facets=kind,projekt")
    problem = await reply.json()
    assert (reply.status, problem["field"]) == (422, "facets")
    assert "'projekt'; did you mean project?" in problem["detail"]
    body = {"query": "auth", "facets": ["kind", "mnth"]}
    reply = await client.post("/api/v1/search", json=body)
    problem = await reply.json()
    assert problem["errors"][0]["pointer"] == "/facets/1"
    assert "did you mean month?" in problem["detail"]
