"""No body makes a write route fail: it is answered, or refused with its fault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from every_route import BODIES, filled, write_something
from http_worker import AUTHORIZED, Client
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from mem_search.http.core.routing import Route
from mem_search.http.routes import ROUTES

EXAMPLES = 25
WRITES = [
    route
    for route in ROUTES
    if route.method in ("POST", "PUT", "PATCH") and (route.body or route.path in BODIES)
]


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": [value]}
    return value


ODD: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(
        [None, True, -1, 0, 2**63, -(2**70), 10**400, 1e308, 0.5, "", " ", "x" * 5000, "\ud800",
         "a\x00b", "\x1b[31m", "2025-13-01", "observation:1", "../../etc/passwd", "%00", "💥" * 300,
         [], {}, [[]], ["a"] * 300, [None], {"": ""}, {"a": {"b": []}}]
    ),
    st.integers(1, 60).map(_nested),
    st.text(max_size=20),
    st.lists(st.integers() | st.text(max_size=5), max_size=4),
)  # fmt: skip
RAW = st.one_of(
    st.binary(max_size=60),
    st.sampled_from(
        [b"", b"{", b"\xff\xfe{}", b"[" * 50_000, b'{"a":' * 20_000, b'"' + b"9" * 6000 + b'"',
         b"9" * 6000, b"NaN", b'{"query": 1e999}', b'{"query": "a", "query": "b"}',
         b'{"kind": "note"}\n' * 40, b"\x1f\x8b" + bytes(50), b"SQLite format 3\0" + bytes(80)]
    ),
)  # fmt: skip


def bodies(route: Route) -> st.SearchStrategy[bytes]:
    """Bodies that are almost what the route understands, and bodies that are nothing."""
    known = [each for each in BODIES.get(route.path, [{}]) if isinstance(each, dict)]
    if not known:
        return RAW
    names = sorted(
        {*(route.body.model_fields if route.body else ()), *(n for b in known for n in b)}
    )
    if not names:
        return RAW
    changes = st.dictionaries(st.sampled_from(names) | st.text(max_size=5), ODD, max_size=3)
    changed = st.builds(lambda body, more: {**body, **more}, st.sampled_from(known), changes)
    inner = st.builds(_with_inner, st.sampled_from(known), ODD)
    return st.one_of((changed | inner | ODD).map(lambda value: json.dumps(value).encode()), RAW)


def _with_inner(body: dict[str, Any], odd: Any) -> dict[str, Any]:
    """``body`` with something odd in its objects, such as the search of a saved search."""
    return {
        name: {**value, "query": odd, "limit": odd, "arguments": odd}
        if isinstance(value, dict)
        else value
        for name, value in body.items()
    }


def examples(route: Route) -> list[bytes]:
    found: list[bytes] = []

    @seed(12)
    @settings(
        max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(body=bodies(route))
    def collect(body: bytes) -> None:
        found.append(body)

    collect()
    return found


@pytest.fixture(autouse=True)
def _nothing_to_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.parametrize("kind", ["", "text/plain"])
async def test_a_write_route_answers_or_refuses_any_body(client: Client, kind: str) -> None:
    known = await write_something(client)
    refused = answered = 0
    for route in WRITES:
        headers = {**AUTHORIZED, "Accept": "application/json, text/event-stream"}
        for body in examples(route)[: 5 if kind else None]:
            reply = await client.request(
                route.method, filled(route, known), data=body,
                headers={**headers, "Content-Type": kind or route.body_type},
            )  # fmt: skip
            said = await reply.text()
            assert reply.status < 500, (route.path, body[:300], said)
            if reply.status >= 400 and route.path != "/mcp":
                problem = json.loads(said)
                assert problem["detail"], (route.path, body[:300])
                refused += 1
            answered += reply.status < 300
    reply = await client.get("/api/search?query=auth")
    assert reply.status == 200
    assert refused > 50
    assert kind or answered > 20  # the walk reaches what a route does, not only its refusals
