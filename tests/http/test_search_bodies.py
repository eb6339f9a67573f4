"""Every search with a JSON body, of v1 and v2 alike."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from http_worker import Client
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from mem_search.errors import InputError
from mem_search.features.weighted.requests import HybridBody, VectorBody
from mem_search.http.universal_requests import (
    McpFetchRequest,
    McpSearchRequest,
    UniversalSearchRequest,
)

SEARCHES: dict[str, type[BaseModel]] = {
    "/api/v1/search": UniversalSearchRequest,
    "/api/v1/mcp/search": McpSearchRequest,
    "/api/v2/search/hybrid": HybridBody,
    "/api/v2/search/vector": VectorBody,
}
BODIES = {**SEARCHES, "/api/v1/mcp/fetch": McpFetchRequest}
NAMES = sorted({name for model in BODIES.values() for name in model.model_fields})


@pytest.mark.parametrize("path", BODIES)
async def test_what_is_no_json_or_of_another_type_is_refused(empty: Client, path: str) -> None:
    headers = {"Content-Type": "application/json"}
    for broken in (b'{"query": ', b"\xff", b'{"query": NaN}', b"[" * 20_000):
        reply = await empty.post(path, data=broken, headers=headers)
        assert (reply.status, (await reply.json())["code"]) == (400, "malformed_body")
    other = await empty.post(path, data=b"query=x", headers={"Content-Type": "text/plain"})
    assert (other.status, (await other.json())["code"]) == (415, "unsupported_media_type")
    for wrong in (["query"], "query", 5, None):
        reply = await empty.post(path, json=wrong)
        assert reply.status == 422
    get = await empty.get(path)
    assert (get.status, get.headers["Allow"]) == (405, "POST")


@pytest.mark.parametrize("path", SEARCHES)
async def test_any_text_is_a_question(client: Client, path: str) -> None:
    for text in ('"', "(((", "NOT", "a OR", "*", "\x00", "💩", "認証", "-", "field:", "'; drop --"):
        reply = await client.post(path, json={"query": text})
        assert reply.status == 200, (text, await reply.text())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from(NAMES), JSON) | JSON)
@settings(max_examples=300, deadline=None)
def test_any_json_is_read_or_refused(body: Any) -> None:
    for model in BODIES.values():
        with suppress(ValidationError, InputError):
            read = model.model_validate(body)
            assert (getattr(read, "query", "") or getattr(read, "id", "")).strip()
