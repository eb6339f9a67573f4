"""Invalid requests of the searches with weights: every error is named by its field."""

from __future__ import annotations

from typing import Any

import pytest
from http_worker import AUTHORIZED, Client
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from mem_search.features.weighted.requests import HybridBody, VectorBody

HYBRID, VECTOR = "/api/v2/search/hybrid", "/api/v2/search/vector"
WEIGHTS = ["/bm25_weight", "/vector_weight", "/graph_weight"]


@pytest.mark.parametrize(
    ("path", "body", "pointers"),
    [
        (HYBRID, {"limit": 0}, ["/limit"]),
        (HYBRID, {"limit": 101}, ["/limit"]),
        (HYBRID, {"limit": "20"}, ["/limit"]),
        (HYBRID, {"limit": True}, ["/limit"]),
        (HYBRID, {"limit": 1.5}, ["/limit"]),
        (HYBRID, {"query": "x" * 4001}, ["/query"]),
        (HYBRID, {"query": 5}, ["/query"]),
        (HYBRID, {"bm25_weight": 0.5}, WEIGHTS),
        (HYBRID, {"bm25_weight": 0, "vector_weight": 0, "graph_weight": 0}, WEIGHTS),
        (HYBRID, {"bm25_weight": 0.402}, WEIGHTS),
        (HYBRID, {"bm25_weight": -0.1, "vector_weight": 1.1}, WEIGHTS[:2]),
        (HYBRID, {"bm25_weight": 0.5, "limit": 0}, ["/limit", *WEIGHTS]),
        (HYBRID, {"memory_types": "fact"}, ["/memory_types"]),
        (HYBRID, {"source_types": ["direct_input", "dream"]}, ["/source_types/1"]),
        (HYBRID, {"importance_threshold": 1.01}, ["/importance_threshold"]),
        (HYBRID, {"enable_graph_expansion": "yes"}, ["/enable_graph_expansion"]),
        (HYBRID, {"graph_max_depth": 0}, ["/graph_max_depth"]),
        (HYBRID, {"graph_max_depth": 6}, ["/graph_max_depth"]),
        (HYBRID, {"graph_seed_limit": 51}, ["/graph_seed_limit"]),
        (HYBRID, {"rrf_k": 0}, ["/rrf_k"]),
        (HYBRID, {"rrf_k": 101}, ["/rrf_k"]),
        (HYBRID, {"min_score_threshold": -1}, ["/min_score_threshold"]),
        (HYBRID, {"include_neighbors": 21}, ["/include_neighbors"]),
        (HYBRID, {"tags": {"any": "x"}}, ["/tags"]),
        (HYBRID, {"start_date": "someday {soon}"}, ["/start_date"]),
        (HYBRID, {"end_date": 20250101}, ["/end_date"]),
        (HYBRID, {"start_date": "2025-02-01", "end_date": "2025-01-31"}, ["/end_date"]),
        (
            HYBRID,
            {"bm25_weight": 0, "vector_weight": 0, "graph_weight": 1,
             "enable_graph_expansion": False},
            ["/enable_graph_expansion"],
        ),
        (HYBRID, {"qeury": "tabs", "a/b": 1}, ["/qeury", "/a~1b"]),
        (VECTOR, {"filters": {"min_importance": 2, "user_id": "me"}},
         ["/filters/min_importance", "/filters/user_id"]),
        (VECTOR, {"filters": {"memory_types": [1]}}, ["/filters/memory_types/0"]),
        (VECTOR, {"include_neighbors": -1, "limit": 200}, ["/limit", "/include_neighbors"]),
        (VECTOR, {"bm25_weight": 0.4}, ["/bm25_weight"]),
    ],
)  # fmt: skip
async def test_every_fault_is_named_by_its_place(
    client: Client, path: str, body: dict[str, Any], pointers: list[str]
) -> None:
    reply = await client.post(path, json={"query": "auth", **body})
    problem = await reply.json()
    assert (reply.status, problem["code"]) == (422, "VAL_VALIDATION_FAILED"), problem
    assert reply.content_type == "application/problem+json"
    assert [error["pointer"] for error in problem["errors"]] == pointers


@pytest.mark.parametrize("path", [HYBRID, VECTOR])
@pytest.mark.parametrize("body", [{}, {"query": ""}, {"query": " \n "}, None])
async def test_a_missing_question_is_a_required_field(client: Client, path: str, body: Any) -> None:
    reply = await client.post(path, json=body) if body is not None else await client.post(path)
    problem = await reply.json()
    assert (reply.status, problem["code"]) == (422, "VAL_FIELD_REQUIRED"), problem
    assert [error["pointer"] for error in problem["errors"]] == ["/query"]


@pytest.mark.parametrize(("path", "model"), [(HYBRID, HybridBody), (VECTOR, VectorBody)])
async def test_null_leaves_a_field_out_and_a_whole_number_may_have_a_point(
    client: Client, path: str, model: type[BaseModel]
) -> None:
    async def found(body: dict[str, Any]) -> Any:
        reply = await client.post(path, json=body)
        assert reply.status == 200, await reply.text()
        return (await reply.json())["data"]["items"]

    nulls = dict.fromkeys(set(model.model_fields) - {"query"})
    assert await found({"query": "auth", **nulls}) == await found({"query": "auth"})
    plain, pointed = ({"query": "auth", "limit": limit} for limit in (5, 5.0))
    assert await found(pointed) == await found(plain)


async def test_searches_need_no_token_on_loopback_and_bear_one(client: Client) -> None:
    for headers in ({}, AUTHORIZED):
        reply = await client.post(HYBRID, json={"query": "auth"}, headers=headers)
        assert reply.status == 200


@given(st.floats(0, 1), st.floats(0, 1))
def test_weights_that_sum_to_one_are_taken(one: float, share: float) -> None:
    other = (1 - one) * share
    rest = 1 - one - other
    body = {"query": "x", "bm25_weight": one, "vector_weight": other, "graph_weight": max(0, rest)}
    assert HybridBody.model_validate(body).bm25_weight == one


async def test_a_route_that_takes_no_parameter_says_so(empty: Client) -> None:
    reply = await empty.get("/api/v2/search/stats?limit=1")
    assert reply.status == 422
    assert (await reply.json())["errors"] == [
        {"parameter": "limit", "detail": "unknown parameter; there are none here"}
    ]
