"""The tools, called as a model calls them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter

import drafts
from mem_search.mcp.server import TOOLS
from mem_search.mcp.tool import Json, Outcome, ToolContext, call, output_schema
from mem_search.model import Ref
from mem_search.records.registry import installed_kinds
from mem_search.text import token_count
from runtimes import fill

BY_NAME = {tool.name: tool for tool in TOOLS}


async def ask(context: ToolContext, name: str, **arguments: Any) -> Json:
    """The reply of a tool, valid by the schema that clients see and by the one of its model."""
    outcome = await call(BY_NAME[name], arguments, context)
    assert outcome.value is not None, outcome.text
    assert json.loads(outcome.text) == outcome.value
    reply = BY_NAME[name].reply
    for schema in (output_schema(reply), TypeAdapter(reply).json_schema(mode="serialization")):
        Draft202012Validator(schema).validate(outcome.value)
    return outcome.value


async def refused(context: ToolContext, name: str, **arguments: Any) -> str:
    outcome: Outcome = await call(BY_NAME[name], arguments, context)
    assert outcome.failed
    return outcome.text


async def test_search_returns_only_ids_titles_and_urls(context: ToolContext) -> None:
    found = await ask(context, "search", query="token")
    assert set(found) == {"results"}
    assert len(found["results"]) == 6
    assert all(set(each) == {"id", "title", "url"} for each in found["results"])
    by_id = {each["id"]: each for each in found["results"]}
    assert by_id["local:website:5"]["url"] == "https://example.org/oauth"
    assert by_id["local:observation:2"] == {
        "id": "local:observation:2",
        "title": "Refresh under a lock",
        "url": "http://127.0.0.1:4000/v/observation:2",
    }
    assert by_id["local:user_prompt:3"]["title"]


async def test_search_counts_and_highlights_where_it_is_asked_to(context: ToolContext) -> None:
    found = await ask(context, "search", query="token", facets="kind,tag", highlights=True)
    kinds = {each["value"]: each["count"] for each in found["facets"]["kind"]["values"]}
    assert sum(kinds.values()) == len(found["results"])
    assert [*found["facets"]] == ["kind", "tag"]
    by_id = {each["id"]: each for each in found["results"]}
    assert by_id["local:observation:2"]["highlights"] == []
    title = next(each for each in found["results"] if "oken" in each["title"])
    (start, end), *_ = title["highlights"]
    assert title["title"][start:end].lower().startswith("token")
    said = await refused(context, "search", query="token", facets=["kinds"])
    assert said == "facets.0: there is no facet 'kinds'; did you mean kind?"


async def test_search_reads_the_query_language(context: ToolContext) -> None:
    found = await ask(context, "search", query="token type:bugfix")
    assert [each["id"] for each in found["results"]] == ["local:observation:2"]


async def test_fields_narrow_the_search_with_filters(context: ToolContext) -> None:
    asked = {"query": "token", "where": {"type": "bugfix", "title": ["lock", "key"]}}
    found = await ask(context, "search_local_knowledge", **asked)
    assert [each["id"] for each in found["results"]] == ["local:observation:2"]
    said = await refused(context, "search_local_knowledge", query="x", where={"auhtor": "ann"})
    assert said == "auhtor: there is no field 'auhtor'; did you mean author?"


async def test_fetch_returns_the_whole_record_with_its_metadata(context: ToolContext) -> None:
    found = await ask(context, "fetch", id="local:observation:2")
    assert set(found) == {"id", "title", "text", "url", "metadata"}
    record = (await context.runtime.store.records.fetch([2]))[2].text
    assert found["text"] == record
    assert found["metadata"] == {
        "kind": "observation",
        "type": "bugfix",
        "author": "Ada",
        "created_at": "2025-11-02T10:00:00.000Z",
        "updated_at": "2025-11-02T10:00:00.000Z",
        "project": "shop",
        "session": "one",
        "source": "test",
        "tags": "api, auth",
        "origin": "own_work",
        "trust": "medium",
    }


@pytest.mark.parametrize("written", ["observation:2", " local:observation:2 ", "2", "#2"])
async def test_fetch_takes_every_spelling_of_a_ref(context: ToolContext, written: str) -> None:
    assert (await ask(context, "fetch", id=written))["id"] == "local:observation:2"


async def test_an_id_of_claude_mem_opens_and_leads(context: ToolContext) -> None:
    stored = drafts.draft("observation:77", "x", kind="observation", source="claude-mem")
    await fill(context.runtime, stored)
    opened = await ask(context, "fetch", id="cm:77")
    assert (await ask(context, "search", query="cm:77"))["results"][0]["id"] == opened["id"]
    assert (await ask(context, "timeline", anchor="cm:77"))["anchor"] == opened["id"]


async def test_every_id_that_a_search_gives_can_be_fetched(context: ToolContext) -> None:
    found = await ask(context, "search", query="token")
    for each in found["results"]:
        fetched = await ask(context, "fetch", id=each["id"])
        assert (fetched["id"], fetched["title"], fetched["url"]) == tuple(each.values())
        assert str(Ref.parse(fetched["id"])) == each["id"].removeprefix("local:")


async def test_get_records_opens_several_and_names_what_there_is_not(context: ToolContext) -> None:
    found = await ask(
        context, "get_records", ids=["#4", "local:email:6", "note:6", "note:99", "cm:5"]
    )
    assert [each["id"] for each in found["records"]] == ["local:note:4", "local:email:6"]
    assert found["missing"] == ["local:note:6", "local:note:99", "cm:5"]
    assert found["left_out"] == []
    assert found["records"][0] == await ask(context, "fetch", id="note:4")


async def test_get_records_takes_ids_written_as_one_text(context: ToolContext) -> None:
    found = await ask(context, "get_records", ids='["note:4", "email:6"]')
    assert [each["id"] for each in found["records"]] == ["local:note:4", "local:email:6"]


async def test_get_records_stays_within_its_budget(context: ToolContext) -> None:
    ids = ["note:4", "observation:2", "email:6"]
    found = await ask(context, "get_records", ids=ids, max_tokens=500)
    assert token_count.count(json.dumps(found["records"], ensure_ascii=False)) <= 500
    note, observation, mail = found["records"]
    assert observation["text"].endswith("…")
    assert note == await ask(context, "fetch", id="note:4")
    assert mail == await ask(context, "fetch", id="email:6")
    assert (found["cut"], found["left_out"]) == (["local:observation:2"], [])
    assert "max_tokens=500" in found["note"]
    less = await ask(context, "get_records", ids=ids, max_tokens=200)
    assert less["left_out"] == ["local:observation:2", "local:email:6"]


async def test_timeline_shows_what_happened_around_a_record(context: ToolContext) -> None:
    found = await ask(context, "timeline", anchor="local:user_prompt:3", depth_before=1)
    assert found["anchor"] == "local:user_prompt:3"
    assert [each["id"] for each in found["records"]] == [
        "local:observation:2",
        "local:user_prompt:3",
        "local:note:4",
        "local:website:5",
        "local:email:6",
    ]
    assert found["records"][0] == {
        "id": "local:observation:2",
        "title": "Refresh under a lock",
        "created_at": "2025-11-02T10:00:00.000Z",
    }


async def test_timeline_takes_a_date_or_a_question_as_its_anchor(context: ToolContext) -> None:
    at = await ask(context, "timeline", anchor="2025-11-04", depth_before=1, depth_after=1)
    assert at["anchor"] == "2025-11-04T00:00:00.000Z"
    assert [each["id"] for each in at["records"]] == ["local:user_prompt:3", "local:note:4"]
    about = await ask(context, "timeline", query="papers", depth_before=0, depth_after=0)
    assert [each["id"] for each in about["records"]] == ["local:note:4"]


async def test_timeline_filters_the_records_around_the_anchor(context: ToolContext) -> None:
    found = await ask(context, "timeline", anchor="email:6", kinds=["sessions", "notes"])
    assert [each["id"] for each in found["records"]] == [
        "local:session_summary:1",
        "local:note:4",
        "local:email:6",
    ]


async def test_timeline_stays_within_its_budget(context: ToolContext) -> None:
    found = await ask(context, "timeline", anchor="note:4", max_tokens=200)
    assert "local:note:4" in [each["id"] for each in found["records"]]
    assert token_count.count(json.dumps(found["records"])) <= 200
    assert "left out" in found["note"]


async def test_local_knowledge_replies_as_the_contract_says(context: ToolContext) -> None:
    found = await ask(context, "search_local_knowledge", query="tokens", content_types=["website"])
    assert found["total_count"] == 1
    assert found["counts_by_type"] == {"website": 1}
    assert found["session_id"] is None
    assert found["results"][0].pop("relevance_score") > 0
    assert found["results"] == [
        {
            "id": "local:website:5",
            "type": "website",
            "title": "OAuth 2.0",
            "content": "OAuth tokens for browsers.",
            "citation": {
                "source_id": "local:website:5",
                "source_type": "website",
                "source_title": "OAuth 2.0",
                "created_date": "2025-11-05T10:00:00.000Z",
                "url": "https://example.org/oauth",
            },
            "url": "https://example.org/oauth",
            "created_at": "2025-11-05T10:00:00.000Z",
            "updated_at": "2025-11-05T10:00:00.000Z",
        }
    ]


@pytest.mark.parametrize(
    ("filters", "numbers"),
    [
        ({"content_types": list(installed_kinds().names)}, {1, 2, 3, 4, 5, 6}),
        ({"content_types": "notes, email"}, {4, 6}),
        ({"created_after": "2025-11-05T00:00:00Z"}, {5, 6}),
        ({"created_after": "2025-11-05T12:00:00+14:00"}, {5, 6}),
        ({"updated_after": "2025-11-06"}, {6}),
        ({"content_types": ["note"], "folder": "inbox"}, {4}),
        ({"content_types": ["note"], "folder": "elsewhere"}, set()),
        ({"content_types": ["website"], "domain": "example.org"}, {5}),
        ({"limit": 2}, {1, 2, 3, 4, 5, 6}),
        ({"folder": None, "session_id": None, "content_types": None}, {1, 2, 3, 4, 5, 6}),
    ],
)
async def test_local_knowledge_returns_only_what_its_filters_allow(
    context: ToolContext, filters: dict[str, Any], numbers: set[int]
) -> None:
    found = await ask(context, "search_local_knowledge", query="token", **filters)
    shown = {Ref.parse(each["id"]).number for each in found["results"]}
    assert shown <= numbers
    assert len(shown) == min(len(numbers), filters.get("limit", 20))


async def test_local_knowledge_returns_snippets_on_request(context: ToolContext) -> None:
    asked = {"query": "lock", "content_types": ["observation"]}
    whole = await ask(context, "search_local_knowledge", **asked, max_tokens=50_000)
    short = await ask(context, "search_local_knowledge", **asked, full_content=False)
    assert len(whole["results"][0]["content"]) > 10_000
    assert "note" not in whole
    assert len(short["results"][0]["content"]) <= 300
    assert short["results"][0]["content"] in whole["results"][0]["content"]


async def test_local_knowledge_stays_within_its_budget(context: ToolContext) -> None:
    found = await ask(context, "search_local_knowledge", query="token", max_tokens=1500)
    assert len(found["results"]) == found["total_count"] == 6
    assert all(each["content"] for each in found["results"])
    assert token_count.count(json.dumps(found["results"], ensure_ascii=False)) <= 1500
    assert found["note"].startswith("1 text(s) cut, 0 result(s) left out")


async def test_a_step_of_research_is_stored_and_may_have_a_follow_up(
    context: ToolContext,
) -> None:
    first = await ask(context, "search_local_knowledge", query="token", mode="deep_research")
    (step,) = first["operations"]
    assert (step["operation_type"], step["query"]) == ("search", "token")
    second = await ask(
        context,
        "search_local_knowledge",
        query="lock",
        mode="deep_research",
        parent_operation_id=step["id"],
    )
    assert second["session_id"] == first["session_id"]
    assert second["operations"][0]["operation_type"] == "refine"
    said = await refused(
        context,
        "search_local_knowledge",
        query="lock",
        mode="deep_research",
        parent_operation_id="of-nobody",
    )
    assert said.startswith("parent_operation_id: ")


async def test_the_log_has_the_surface(context: ToolContext) -> None:
    await ask(context, "search", query="token")
    await context.runtime.search.service.log.flush()
    rows = await context.runtime.store.database.read(
        lambda connection: connection.execute("select query, surface from search_log").fetchall()
    )
    assert rows == [("token", "mcp")]


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("search", {}, "query: is required"),
        ("search", {"query": ""}, "query: is empty; write words or a question"),
        ("search", {"query": " \n"}, "query: is empty; write words or a question"),
        ("remember", {"text": " "}, "text: is empty; write some words"),
        ("get_records", {"ids": []}, "ids: give at least 1"),
        ("get_records", {"ids": ["note:1"] * 51}, "ids: give at most 50"),
        ("search", {"query": [5]}, "query: input should be a valid string"),
        ("search", {"query": "a" * 5000}, "query: string should have at most 4000 characters"),
        ("search", {"query": "a", "limt": 5}, "limt: unknown argument; choose one of query"),
        (
            "search",
            {"quary": "a"},
            "query: is required; quary: unknown argument; did you mean query?",
        ),
        ("fetch", {"id": "nonsense"}, "id: 'nonsense' is not a ref; write kind:number"),
        ("fetch", {"id": "observation:99"}, "id: no record has the number 99"),
        ("fetch", {"id": "note:2"}, "id: number 2 is of the kind Observation, not note"),
        ("get_records", {"ids": []}, "ids: "),
        ("get_records", {"ids": ["note:1"] * 51}, "ids: "),
        ("get_records", {"ids": ["note:1", True]}, "ids.1: input should be a valid string"),
        ("get_records", {"ids": ["note"]}, "ids: 'note' is not a ref"),
        (
            "get_records",
            {"ids": ["note:4"], "max_tokens": 5},
            "max_tokens: input should be greater",
        ),
        ("timeline", {}, "anchor: give an anchor or a query"),
        ("timeline", {"anchor": "note:4", "query": "a"}, "anchor: give an anchor or a query, not"),
        ("timeline", {"anchor": "yonder"}, "anchor: 'yonder' is not an anchor"),
        ("timeline", {"anchor": "note:99"}, "anchor: no record has the number 99"),
        ("timeline", {"query": "zebra", "kinds": ["report"]}, "query: nothing matches"),
        ("timeline", {"anchor": "note:4", "depth_after": 99}, "depth_after: input should be less"),
        (
            "timeline",
            {"anchor": "note:4", "kinds": ["star"]},
            "kinds: no kind of record is called 'star'",
        ),
        ("search_local_knowledge", {"query": "a", "mode": "fast"}, "mode: input should be 'basic'"),
        ("search_local_knowledge", {"query": "a", "created_after": 1700000000}, "created_after: "),
        (
            "search_local_knowledge",
            {"query": "a", "created_after": "1700000000"},
            "created_after: ",
        ),
        ("search_local_knowledge", {"query": "a", "created_after": "20251003"}, "created_after: "),
        ("search_local_knowledge", {"query": "a", "updated_after": "yesterday"}, "updated_after: "),
    ],
)
async def test_a_bad_argument_is_named(
    context: ToolContext, name: str, arguments: dict[str, Any], said: str
) -> None:
    assert (await refused(context, name, **arguments)).startswith(said)


async def test_every_bad_argument_is_named_at_once(context: ToolContext) -> None:
    said = await refused(context, "timeline", anchor=[5], depth_before=-1, deep=1)
    assert [each.split(":")[0] for each in said.split("; ")[:3]] == [
        "anchor",
        "depth_before",
        "deep",
    ]


async def test_a_bug_is_logged_and_the_reply_shows_no_detail(
    context: ToolContext, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = ToolContext(None, context.base, context.display)  # type: ignore[arg-type]
    said = await refused(broken, "search", query="a secret question")
    assert said.startswith("internal error")
    assert "the tool search failed" in caplog.text
    assert "a secret question" not in caplog.text


async def test_a_search_says_how_a_time_was_read(context: ToolContext) -> None:
    found = await ask(context, "search", query="token in November 2025")
    assert found["note"] == (
        '"in November 2025" read as Nov 1-30;'
        " after:DATE and before:DATE in the query keep only that"
    )


async def test_a_search_with_texts_says_how_a_time_was_read(context: ToolContext) -> None:
    found = await ask(context, "search_local_knowledge", query="token in November 2025")
    assert found["total_count"] > 0
    assert '"in November 2025" read as Nov 1-30' in found["note"]
    assert "created_after" in found["note"]
    alone = await ask(context, "search_local_knowledge", query="what did we do on 2025-11-02?")
    assert [each["created_at"][:10] for each in alone["results"]] == ["2025-11-02"]


async def test_archives_are_searched_and_citations_shown(context: ToolContext) -> None:
    report = drafts.draft(
        "r1",
        "Tokens for browsers are explained well (https://example.org/oauth).",
        kind="report",
        title="Login report",
    )
    await fill(context.runtime, report)
    found = await ask(context, "search_local_archives", query="browsers", include_citations=True)
    assert {each["id"] for each in found["results"]} == {"local:website:5", "local:report:7"}
    assert all("browsers" in each["text"] for each in found["results"])
    (link,) = found["citations"]
    assert (link["sourceId"], link["targetId"]) == ("report:7", "website:5")
    assert 0 <= found["confidence"] <= 1
    around = await ask(context, "search_local_archives", id="website:5")
    assert "confidence" not in around
    assert [each["id"] for each in around["results"]] == ["local:report:7"]
    assert around["citations"] == [link]
    short = await ask(context, "search_local_archives", query="browsers", max_tokens=200)
    assert token_count.count(json.dumps(short["results"], ensure_ascii=False)) <= 200
    assert "query" in await refused(context, "search_local_archives")
    counted = await ask(context, "search_local_archives", report=True)
    assert (counted["total"], counted["report"]["citations"]) == (2, 1)
    assert [each["id"] for each in counted["report"]["most_cited"]] == ["website:5"]
    one = await ask(context, "search_local_archives", report=True, id="website:5")
    assert (one["report"]["ref"], one["report"]["cited_by"]) == ("website:5", 1)


NEEDED: dict[str, dict[str, Any]] = {
    "search": {"query": "token"},
    "search_local_knowledge": {"query": "token"},
    "search_local_archives": {"query": "token"},
    "fetch": {"id": "local:observation:2"},
    "get_records": {"ids": ["local:observation:2"]},
    "timeline": {"anchor": "local:observation:2"},
    "remember": {"text": "The token is refreshed under a lock."},
}
"""Arguments with which each tool answers."""


@pytest.mark.parametrize("absent", [None, ""], ids=["null", "empty"])
@pytest.mark.parametrize("tool", BY_NAME)
async def test_null_and_an_empty_text_leave_an_argument_out(
    context: ToolContext, tool: str, absent: str | None
) -> None:
    given = NEEDED[tool]
    others = dict.fromkeys(set(BY_NAME[tool].arguments.model_fields) - set(given), absent)
    without = await call(BY_NAME[tool], given, context)
    assert without.value is not None, without.text
    assert (await call(BY_NAME[tool], {**given, **others}, context)).value == without.value


@pytest.mark.parametrize("number", [2, 2.0])
async def test_a_number_is_an_id_and_an_anchor(context: ToolContext, number: float) -> None:
    named = await ask(context, "fetch", id="2")
    assert await ask(context, "fetch", id=number) == named
    for ids in (number, [number]):
        assert (await ask(context, "get_records", ids=ids))["records"][0]["id"] == named["id"]
    assert (await ask(context, "timeline", anchor=number))["anchor"] == named["id"]
    found = await ask(context, "search_local_knowledge", query="token", limit=number)
    assert len(found["results"]) == 2
