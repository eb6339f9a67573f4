"""Invalid requests of the universal search: every error is named by its field."""

from __future__ import annotations

from typing import Any

import pytest
from http_worker import AUTHORIZED, Client

SEARCH, MCP_SEARCH, MCP_FETCH = "/api/v1/search", "/api/v1/mcp/search", "/api/v1/mcp/fetch"
T1, T2 = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


@pytest.mark.parametrize(
    ("path", "body", "pointers"),
    [
        (SEARCH, {"query": 5}, ["/query"]),
        (SEARCH, {"query": "x" * 4001}, ["/query"]),
        (SEARCH, {"content_types": "note,dream"}, ["/content_types/1"]),
        (SEARCH, {"content_types": ["note", "dream", 3]}, ["/content_types/1", "/content_types/2"]),
        (SEARCH, {"content_types": {"note": 1}}, ["/content_types"]),
        (SEARCH, {"mode": "deep"}, ["/mode"]),
        (SEARCH, {"search_type": "vector"}, ["/search_type"]),
        (SEARCH, {"limit": 0}, ["/limit"]),
        (SEARCH, {"limit": 101}, ["/limit"]),
        (SEARCH, {"limit": "20"}, ["/limit"]),
        (SEARCH, {"limit": True}, ["/limit"]),
        (SEARCH, {"alpha": 0.5}, ["/alpha"]),
        (SEARCH, {"alpha": 2, "search_type": "hybrid"}, ["/alpha"]),
        (SEARCH, {"match": "some"}, ["/match"]),
        (SEARCH, {"offset": -1}, ["/offset"]),
        (SEARCH, {"offset": 10_001}, ["/offset"]),
        (SEARCH, {"offset": 1.5}, ["/offset"]),
        (SEARCH, {"created_after": T2, "created_before": T1}, ["/created_before"]),
        (SEARCH, {"updated_after": T2, "updated_before": T1, "limit": 0},
         ["/limit", "/updated_before"]),
        (SEARCH, {"folder": ["inbox"]}, ["/folder"]),
        (SEARCH, {"folder": "x" * 4001}, ["/folder"]),
        (SEARCH, {"domain": 1}, ["/domain"]),
        (SEARCH, {"archived": "yes"}, ["/archived"]),
        (SEARCH, {"include_snippets": 1}, ["/include_snippets"]),
        (SEARCH, {"snippet_length": 0}, ["/snippet_length"]),
        (SEARCH, {"snippet_length": 2001}, ["/snippet_length"]),
        (SEARCH, {"full_content": "true"}, ["/full_content"]),
        (SEARCH, {"session_id": "x" * 201}, ["/session_id"]),
        (SEARCH, {"parent_operation_id": 7}, ["/parent_operation_id"]),
        (SEARCH, {"max_operations": 0}, ["/max_operations"]),
        (SEARCH, {"max_operations": 101}, ["/max_operations"]),
        (SEARCH, {"background": "no"}, ["/background"]),
        (SEARCH, {"webhook_url": "http://127.0.0.1/"}, ["/webhook_url"]),
        (SEARCH, {"webhook_url": "x" * 2001, "background": True}, ["/webhook_url"]),
        (SEARCH, {"qeury": "tabs", "a/b": 1}, ["/qeury", "/a~1b"]),
        (MCP_SEARCH, {"limit": 0, "content_types": ["x"]}, ["/content_types/0", "/limit"]),
        (MCP_SEARCH, {"mode": "basic"}, ["/mode"]),
        (MCP_FETCH, {"query": "auth", "id": "note:1"}, ["/query"]),
    ],
)  # fmt: skip
async def test_every_fault_is_named_by_its_place(
    empty: Client, path: str, body: dict[str, Any], pointers: list[str]
) -> None:
    asked = body if path == MCP_FETCH else {"query": "auth", **body}
    reply = await empty.post(path, json=asked)
    problem = await reply.json()
    assert (reply.status, problem["code"]) == (422, "VAL_VALIDATION_FAILED"), problem
    assert reply.content_type == "application/problem+json"
    assert [error["pointer"] for error in problem["errors"]] == pointers
    assert all(error["detail"] for error in problem["errors"])


async def test_a_field_that_is_not_known_gets_the_name_that_was_meant(empty: Client) -> None:
    reply = await empty.post(SEARCH, json={"query": "auth", "limt": 5, "zzz": 1})
    limt, zzz = (await reply.json())["errors"]
    assert limt == {"pointer": "/limt", "detail": "unknown field; did you mean limit?"}
    assert zzz["detail"].startswith("unknown field; choose one of ")
    assert ", query, content_types, mode," in zzz["detail"]
    body = {"name": "x", "search": {"query": "auth", "limt": 5}}
    reply = await empty.post("/api/v1/saved-searches", json=body, headers=AUTHORIZED)
    (nested,) = (await reply.json())["errors"]
    assert nested == {"pointer": "/search/limt", "detail": "unknown field"}


async def test_a_body_nested_without_end_names_the_field_and_the_limit(empty: Client) -> None:
    headers = {"Content-Type": "application/json"}
    text = '{"query": ' + "[" * 100_000 + "]" * 100_000 + "}"
    reply = await empty.post(SEARCH, data=text, headers=headers)
    assert reply.status == 422
    fault = {"pointer": "/query", "detail": "nested deeper than 32 levels"}
    assert (await reply.json())["errors"] == [fault]


async def test_only_rfc_3339_is_a_date(empty: Client) -> None:
    names = ("created_after", "created_before", "updated_after", "updated_before")
    values = (
        0, 1_767_225_600, 1.5, True, "1767225600", "2026", "2026-02-30", "yesterday",
        "2026-01-31T25:00:00", "2026-02-30T12:00:00Z", "", ["2026-01-31T12:00:00Z"],
    )  # fmt: skip
    for value in values:
        reply = await empty.post(SEARCH, json={"query": "auth", **dict.fromkeys(names, value)})
        problem = await reply.json()
        assert reply.status == 422, value
        assert [error["pointer"] for error in problem["errors"]] == [f"/{name}" for name in names]


async def test_what_is_no_id_is_refused(empty: Client) -> None:
    for value in (None, "", "note", "note:", "dream:1", "local:dream:1",
                  "web:note:1", "local:local:note:1", "note:1 x", "note:é"):  # fmt: skip
        reply = await empty.post(MCP_FETCH, json={"id": value})
        problem = await reply.json()
        assert reply.status == 422, value
        assert [error["pointer"] for error in problem["errors"]] == ["/id"]


@pytest.mark.parametrize("id", ["note:1x", "note:" + "9" * 19, "note:-1", "local:note:abc-123"])
async def test_an_id_of_a_known_kind_that_nothing_has_is_not_found(empty: Client, id: str) -> None:  # noqa: A002
    reply = await empty.post(MCP_FETCH, json={"id": id})
    assert (reply.status, (await reply.json())["field"]) == (404, "id")
    assert (await empty.get(f"/api/records/{id}")).status == 404


@pytest.mark.parametrize("path", [SEARCH, MCP_SEARCH, MCP_FETCH])
@pytest.mark.parametrize("body", [{}, None, {"query": "", "id": ""}, {"query": " \n "}])
async def test_what_is_missing_is_a_required_field(empty: Client, path: str, body: Any) -> None:
    if path == MCP_FETCH and body:
        return
    reply = await empty.post(path, json=body) if body is not None else await empty.post(path)
    problem = await reply.json()
    name = "id" if path == MCP_FETCH else "query"
    assert reply.status == 422
    assert f"/{name}" in [error["pointer"] for error in problem["errors"]]
    if not body or len(body) == 1:
        assert problem["code"] == "VAL_FIELD_REQUIRED"


async def test_null_is_the_same_as_leaving_out_where_nothing_is_the_default(
    client: Client,
) -> None:
    names = ("content_types", "created_after", "created_before", "updated_after", "updated_before",
             "folder", "domain", "archived", "session_id", "parent_operation_id",
             "webhook_url")  # fmt: skip
    plain = await (await client.post(SEARCH, json={"query": "auth"})).json()
    nulls = {"query": "auth", **dict.fromkeys(names), "content_types": []}
    reply = await (await client.post(SEARCH, json=nulls)).json()
    assert [item["id"] for item in reply["items"]] == [item["id"] for item in plain["items"]]
    assert plain["total_count"] == 5


async def test_a_body_that_is_no_object_gets_an_error_without_internal_names(empty: Client) -> None:
    for path in (SEARCH, MCP_SEARCH, MCP_FETCH):
        problem = await (await empty.post(path, json=[1])).json()
        assert problem["errors"] == [{"pointer": "", "detail": "has to be a JSON object"}]


@pytest.mark.parametrize(
    ("method", "path", "body", "faults"),
    [
        ("POST", "/api/v1/tokens", {"name": "a b", "user": "Ä", "expires": "soon", "read_only": 1},
         [("pointer", "/name"), ("pointer", "/user"), ("pointer", "/read_only"),
          ("pointer", "/expires")]),
        ("POST", "/api/v1/saved-searches",
         {"name": "a", "search": {"query": "x", "mode": "deep_research", "offset": 3}},
         [("pointer", "/search/mode"), ("pointer", "/search/offset")]),
        ("PUT", "/api/v1/scopes/a%20b", {"filter": "words"},
         [("parameter", "name"), ("pointer", "/filter")]),
        ("DELETE", "/api/v1/users/A%20B", {}, [("parameter", "name")]),
        ("GET", "/api/search", {}, [("parameter", "query")]),
        ("GET", "/api/v1/scopes?=1", {}, [("parameter", "")]),
    ],
)  # fmt: skip
async def test_every_fault_is_where_it_was_written(
    empty: Client, method: str, path: str, body: Any, faults: list[tuple[str, str]]
) -> None:
    reply = await empty.request(method, path, json=body, headers=AUTHORIZED)
    problem = await reply.json()
    assert reply.status == 422
    told = [(key, each[key]) for each in problem["errors"] for key in each if key != "detail"]
    assert told == faults


async def test_what_has_a_name_of_its_own_is_no_record(empty: Client) -> None:
    reply = await empty.get("/api/records/batch")
    assert (reply.status, reply.headers["Allow"]) == (405, "POST")


async def test_true_and_false_are_no_numbers_and_numbers_no_truth(empty: Client) -> None:
    for path, body, pointer in (
        ("/api/observations/batch", {"ids": [1, True]}, "/ids"),
        ("/api/sync", {"again": 0}, "/again"),
    ):
        reply = await empty.post(path, json=body, headers=AUTHORIZED)
        assert reply.status == 422
        assert [each["pointer"] for each in (await reply.json())["errors"]] == [pointer]


async def test_a_whole_number_may_be_written_with_a_point(client: Client) -> None:
    body = {"id": "note:6", "session_id": "s", "max_operations": 3.0}
    assert (await client.post(MCP_FETCH, json=body, headers=AUTHORIZED)).status == 200
