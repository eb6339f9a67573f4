"""Invalid messages are refused before the protocol sees them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_search.mcp.endpoint import (
    HEADER_MISMATCH,
    INVALID_REQUEST,
    PARSE_ERROR,
    Fault,
    Message,
    read,
)

MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}


def message(**fields: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping", **fields}).encode()


@pytest.mark.parametrize(
    ("body", "code", "number"),
    [
        (b"", PARSE_ERROR, None),
        (b"{", PARSE_ERROR, None),
        (b"\xff", PARSE_ERROR, None),
        (b"[" * 100_000, PARSE_ERROR, None),
        (b"[]", INVALID_REQUEST, None),
        (b'"ping"', INVALID_REQUEST, None),
        (b"[" + message() + b"]", INVALID_REQUEST, None),
        (b"{}", INVALID_REQUEST, None),
        (message(jsonrpc="1.0"), INVALID_REQUEST, 1),
        (message(jsonrpc=2.0), INVALID_REQUEST, 1),
        (message(id=None), INVALID_REQUEST, None),
        (message(id=True), INVALID_REQUEST, None),
        (message(id=1.5), INVALID_REQUEST, None),
        (message(id=[1]), INVALID_REQUEST, None),
        (message(method=5), INVALID_REQUEST, 1),
        (message(method=None, id="a"), INVALID_REQUEST, "a"),
        (message(params=[1]), INVALID_REQUEST, 1),
        (message(params="a"), INVALID_REQUEST, 1),
        (message(params={"_meta": MODERN}), HEADER_MISMATCH, 1),
    ],
)
def test_what_is_no_message_is_refused(body: bytes, code: int, number: str | int | None) -> None:
    fault = read(body, {})
    assert isinstance(fault, Fault)
    assert (fault.code, fault.id) == (code, number)
    assert json.loads(fault.json()) == {
        "jsonrpc": "2.0",
        "id": number,
        "error": {"code": code, "message": fault.message},
    }


@pytest.mark.parametrize(
    ("body", "version"),
    [
        (message(), ""),
        (message(), "2025-11-25"),
        (message(id="a"), ""),
        (message(params={}), ""),
        (message(params={"_meta": {"progressToken": 1}}), "2025-06-18"),
        (message(params={"_meta": MODERN}), "2026-07-28"),
        (b'{"jsonrpc": "2.0", "method": "notifications/initialized"}', ""),
        (b'{"jsonrpc": "2.0", "id": 1, "result": {}}', ""),
    ],
)
def test_a_message_is_left_to_the_protocol(body: bytes, version: str) -> None:
    left = read(body, {"mcp-protocol-version": version} if version else {})
    assert isinstance(left, Message)
    assert json.loads(left.body) == json.loads(body)


@pytest.mark.parametrize("version", ["2025-11-25", "2027-01-01", ""])
def test_a_header_that_contradicts_the_body_is_refused(version: str) -> None:
    fault = read(message(params={"_meta": MODERN}), {"mcp-protocol-version": version})
    assert isinstance(fault, Fault)
    assert fault.code == HEADER_MISMATCH


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(
    st.binary()
    | JSON.map(lambda value: json.dumps(value).encode())
    | st.fixed_dictionaries(
        {}, optional=dict.fromkeys(("jsonrpc", "id", "method", "params"), JSON)
    ).map(lambda value: json.dumps(value).encode())
)
def test_nothing_raises(body: bytes) -> None:
    found = read(body, {})
    if isinstance(found, Fault):
        assert json.loads(found.json())["error"]["code"] < 0
    else:
        found.body.decode()  # UTF-8, which the SDK reads


def test_a_half_of_a_surrogate_pair_keeps_no_request_from_its_reply() -> None:
    sent = {"jsonrpc": "2.0", "id": "a\ud800", "method": "x", "params": {"\udfff": ["\ud83d"]}}
    found = read(json.dumps(sent).encode(), {})
    assert isinstance(found, Message)
    assert json.loads(found.body)["params"] == {"\ufffd": ["\ufffd"]}
    reply = json.loads(found.answered(b'{"jsonrpc": "2.0", "id": "a\xef\xbf\xbd", "result": {}}'))
    assert reply == {"jsonrpc": "2.0", "id": "a\ud800", "result": {}}


def test_null_is_absence_and_a_whole_number_may_have_a_point() -> None:
    sent = {"jsonrpc": "2.0", "id": 5.0, "method": "tools/list", "params": None}
    found = read(json.dumps(sent).encode(), {})
    assert isinstance(found, Message)
    assert json.loads(found.body) == {"jsonrpc": "2.0", "id": 5, "method": "tools/list"}
    found = read(message(params={"_meta": {"progressToken": None, "a": 1}}), {})
    assert isinstance(found, Message)
    assert json.loads(found.body)["params"] == {"_meta": {"a": 1}}
