"""``/api/v1``: every request gets a reply with the documented schema."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from described import matches
from http_worker import AUTHORIZED, Client, lifecycle_of

from mem_search.http.universal_requests import UniversalSearchRequest
from mem_search.model import Draft, ResearchPlacement, ResultTexts, SearchRequest
from mem_search.records.registry import installed_kinds
from mem_search.renderers.universal import (
    McpFetchResponse,
    McpSearchResponse,
    UniversalSearchResponse,
)
from mem_search.text.search_fields import FIELDS

SEARCH, MCP_SEARCH, MCP_FETCH = "/api/v1/search", "/api/v1/mcp/search", "/api/v1/mcp/fetch"
SHAPES = {
    SEARCH: UniversalSearchResponse,
    MCP_SEARCH: McpSearchResponse,
    MCP_FETCH: McpFetchResponse,
}
NEW_YEAR = 1_767_225_600_000  # 2026
DAY = 86_400_000
LONG = "The harbour wakes early. " * 60 + "A lantern hangs there. " + "Boats come and go. " * 60

STORED = (
    *(Draft(kind, "test", kind, f"A lantern for the {kind}.", f"About {kind}",
            created_at=NEW_YEAR + n * DAY, updated_at=NEW_YEAR + n * DAY)
      for n, kind in enumerate(installed_kinds().names)),
    Draft("note", "test", "long", LONG, "Harbour", created_at=NEW_YEAR + 20 * DAY,
          project="port", session="s1", tags=("sea",), metadata={"folder": "Inbox"}),
    Draft("note", "test", "scratch", "lantern scratch", metadata={"folder": "scratchpad"}),
    Draft("website", "test", "page", "On lanterns.", "Lanterns", url="https://www.example.org/l",
          metadata={"author": "Ann", "published_date": "2024-05-03", "archived": True}),
)  # fmt: skip

FOUND = len(STORED) - 1
"""Those with a lantern, but for the scratchpad, which is left out."""

Post = Callable[..., Any]


@pytest.fixture
def post(filled: Client) -> Post:
    """POST a body and give the reply, held against its model; asserts 200."""

    async def ask(path: str = SEARCH, /, **body: Any) -> Any:
        reply = await filled.post(path, json=body, headers=AUTHORIZED)
        assert reply.status == 200, await reply.text()
        said = await reply.json()
        assert matches(SHAPES[path], said)
        return said

    return ask


async def test_a_plain_question_is_answered_by_words_over_every_kind(post: Post) -> None:
    said = await post(query="lantern")
    assert said["total_count"] == len(said["items"]) == FOUND
    assert said["counts_by_type"] == {
        **dict.fromkeys(installed_kinds().names, 1),
        "note": 2,
        "website": 2,
    }
    assert (said["query"], said["limit"], said["offset"]) == ("lantern", 50, 0)
    assert (said["operations"], said["session_id"], said["job_id"]) == (None, None, None)
    assert said["search"]["requested"] == "keyword"
    assert said["execution_time_ms"] > 0
    for item in said["items"]:
        assert item["id"].startswith(f"local:{item['content_type']}:")
        assert item["full_content"] is None
        assert item["annotations"] is None
        assert item["citation"]["source_id"] == item["id"]


async def test_a_website_is_cited_with_all_it_says(post: Post) -> None:
    said = await post(query="lanterns", content_types=["website"], domain="example.org")
    page = next(item for item in said["items"] if item["title"] == "Lanterns")
    assert page["url"] == page["citation"]["url"] == "https://www.example.org/l"
    assert page["citation"] == {
        "source_id": page["id"],
        "source_type": "website",
        "source_title": "Lanterns",
        "url": "https://www.example.org/l",
        "author": "Ann",
        "published_date": "2024-05-03T00:00:00.000Z",
        "created_date": page["created_at"],
        "last_accessed": None,
        "folder": None,
        "domain": "example.org",
    }


@pytest.mark.parametrize(
    ("body", "titles"),
    [
        ({"content_types": ["memory", "email"]}, {"About memory", "About email"}),
        ({"content_types": ["note"], "folder": "inbox"}, {"Harbour"}),
        ({"content_types": ["website"], "archived": True}, {"Lanterns"}),
        ({"content_types": ["website"], "domain": "nowhere.org"}, set()),
        (
            {
                "created_after": "2026-01-03T00:00:00Z",
                "created_before": "2026-01-04T01:00:00+01:00",
            },
            {"About user_prompt", "About note"},
        ),
        ({"updated_before": "2026-01-01T00:00:00Z"}, {"About observation"}),
        ({"updated_after": "2026-01-21T00:00:00Z", "content_types": ["note"]}, {"Harbour"}),
        ({"limit": 1.0, "content_types": ["report"]}, {"About report"}),
    ],
)  # fmt: skip
async def test_every_filter_holds(post: Post, body: dict[str, Any], titles: set[str]) -> None:
    said = await post(query="lantern", **body)
    assert {item["title"] for item in said["items"]} == titles


@pytest.mark.parametrize(
    ("search_type", "mode"),
    [("keyword", "keyword"), ("semantic", "vector"), ("hybrid", "hybrid")],
)
async def test_the_search_type_decides_which_legs_run(
    post: Post, search_type: str, mode: str
) -> None:
    said = await post(query="lantern", search_type=search_type)
    assert said["search"]["requested"] == said["search"]["realised"] == mode
    assert said["items"]


async def test_a_time_in_the_question_is_told_with_what_narrows_it(post: Post) -> None:
    found = await post(query="lantern in November 2020")
    note = '"in November 2020" read as Nov 1-30, 2020; created_after/created_before keep only that'
    assert note in found["search"]["notices"]


async def test_pages_follow_each_other(post: Post) -> None:
    ids = [
        item["id"]
        for offset in (0, 5, 10)
        for item in (await post(query="lantern", limit=5, offset=offset))["items"]
    ]
    assert len(ids) == len(set(ids)) == FOUND
    beyond = await post(query="lantern", limit=5, offset=15)
    assert (beyond["items"], beyond["total_count"]) == ([], FOUND)


async def test_snippets_can_be_short_or_left_out(post: Post) -> None:
    asked = {"query": "lantern", "content_types": ["note"], "folder": "inbox"}
    (item,) = (await post(**asked, snippet_length=40))["items"]
    assert "lantern" in item["snippet"]
    assert len(item["snippet"]) <= 40
    span = item["snippet_span"]
    assert LONG[span["start"] : span["end"]] == item["snippet"]
    (item,) = (await post(**asked, include_snippets=False))["items"]
    assert (item["snippet"], item["snippet_span"]) == (None, None)


async def test_deep_research_is_hybrid_with_full_content_by_default(post: Post) -> None:
    asked = {"query": "lantern", "mode": "deep_research", "content_types": ["note"]}
    said = await post(**asked)
    assert said["search"]["requested"] == "hybrid"
    harbour = next(item for item in said["items"] if item["title"] == "Harbour")
    assert harbour["full_content"] == LONG.rstrip()
    for noted in harbour["annotations"]:
        assert LONG[noted["start_index"] : noted["end_index"]] == noted["text"]
        assert noted["source_id"] == harbour["id"]
    assert "**lantern**" in harbour["annotations"][0]["highlight"]
    brief = await post(**asked, full_content=False, search_type="keyword")
    assert brief["search"]["requested"] == "keyword"
    assert {item["full_content"] for item in brief["items"]} == {None}


def test_what_is_left_out_is_as_the_contract_says() -> None:
    asked = UniversalSearchRequest.model_validate({"query": "x"})
    assert asked.request() == SearchRequest(
        "x",
        mode="keyword",
        limit=50,
        fold=False,
        texts=ResultTexts(snippet_length=200),
    )
    assert set(UniversalSearchRequest.model_fields) - set(FIELDS) == {
        "query", "content_types", "mode", "search_type", "limit", "offset", "created_after",
        "created_before", "updated_after", "updated_before", "archived",
        "include_snippets", "snippet_length", "full_content", "session_id",
        "parent_operation_id", "max_operations", "background", "webhook_url", "alpha", "match",
        "scratchpad",
        "boosts", "facets", "facet_limit", "fields", "sort", "as_words", "sources",  # ours
    }  # fmt: skip
    chain = {"session_id": "s", "parent_operation_id": "p", "max_operations": 3}
    request = UniversalSearchRequest.model_validate({"query": "x", **chain}).request()
    assert request.research == ResearchPlacement("basic", "s", "p", 3)


async def test_research_agents_get_ids_that_open_the_record(post: Post, filled: Client) -> None:
    said = await post(MCP_SEARCH, query="lantern", limit=20)
    assert said["total_count"] == len(said["results"]) == FOUND
    for found in said["results"]:
        number = found["id"].removeprefix("local:")
        whole = await post(MCP_FETCH, id=found["id"])
        assert whole == await post(MCP_FETCH, id=number)
        assert (whole["id"], whole["title"], whole["url"]) == (
            found["id"], found["title"], found["url"],
        )  # fmt: skip
        assert whole["text"] == whole["content"]
        span = found["snippet_span"]
        assert whole["text"][span["start"] : span["end"]] == found["text"] == found["snippet"]
        opened = await filled.get(f"/api/records/{found['id']}")
        assert (await opened.json())["text"] == whole["text"]
        if not found["url"].startswith("https://www.example.org"):
            assert found["url"] == f"{filled.make_url('/v/')}{number}"
            assert (await filled.get(f"/v/{found['id']}")).status == 200
    few = await post(MCP_SEARCH, query="lantern", limit=2, content_types=["file", "memory"])
    assert {found["content_type"] for found in few["results"]} == {"file", "memory"}


@pytest.mark.parametrize("ref", ["local:note:99999", "note:99999", "memory:1"])
async def test_an_id_that_nothing_has_is_not_found(filled: Client, ref: str) -> None:
    reply = await filled.post(MCP_FETCH, json={"id": ref})
    problem = await reply.json()
    assert (reply.status, problem["code"], problem["field"]) == (404, "not_found", "id")


async def test_the_log_has_the_surface_of_each_query(post: Post, filled: Client) -> None:
    await post(query="lantern one")
    await post(MCP_SEARCH, query="lantern two")
    database = lifecycle_of(filled).runtime.store.database
    await lifecycle_of(filled).runtime.search.service.log.flush()
    rows = await database.read(
        lambda connection: connection.execute("select query, surface from search_log").fetchall()
    )
    assert set(rows) == {("lantern one", "http"), ("lantern two", "mcp")}


async def test_what_is_important_can_count_beside_the_question(post: Post) -> None:
    plain = await post(query="harbour", search_type="hybrid")
    boosted = await post(query="harbour", search_type="hybrid", boosts=["importance", "recency"])
    assert {item["id"] for item in plain["items"]} == {item["id"] for item in boosted["items"]}
    scores = {item["id"]: item["relevance_score"] for item in boosted["items"]}
    assert scores == {item["id"]: item["relevance_score"] for item in plain["items"]}
