"""Every invalid request gets a problem that names the error, never a 500 or an empty reply."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from every_route import ENDLESS
from http_worker import AUTHORIZED, Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from multidict import MultiDict
from yarl import URL

from chosen_store import SERVER
from mem_search.errors import InputError
from mem_search.http.core.app import MAX_BODY_BYTES
from mem_search.http.core.parameters import SearchParameters
from mem_search.http.core.reading import read_query
from mem_search.http.routes import ROUTES

BAD = [
    ("limit", "0"),
    ("limit", "101"),
    ("limit", "abc"),
    ("limit", "-1"),
    ("limit", "1.5"),
    ("offset", "-1"),
    ("offset", "99999999999999999999999"),
    ("offset", "10001"),
    ("format", "xml"),
    ("orderBy", "newest"),
    ("mode", "psychic"),
    ("types", "observations,unicorns"),
    ("dateStart", "the day after never"),
    ("dateRange[start]", "2025-13-01"),
    ("until", "{braces}"),
    ("tz", "Mars/Olympus"),
    ("tz", "../../etc/passwd"),
    ("project", "x" * 4001),
    ("limt", "3"),
]


def routes_with(name: str) -> list[str]:
    return [
        "/api/search/unified",
        "/api/search",
        *(["/api/search/observations", "/api/decisions"] if name != "types" else []),
    ]


@pytest.mark.parametrize(("name", "value"), BAD)
async def test_a_bad_value_is_refused_by_its_parameters_name(
    client: Client, name: str, value: str
) -> None:
    for path in routes_with(name):
        reply = await client.get(path, params={"query": "auth", name: value})
        problem = await reply.json()
        assert reply.status == 422, (path, problem)
        assert reply.content_type == "application/problem+json"
        assert [error["parameter"] for error in problem["errors"]] == [name]
        assert problem["field"] == name
        assert problem["status"] == 422
        assert problem["instance"] == path
        assert problem["request_id"] == reply.headers["X-Request-Id"]


async def test_every_fault_is_listed_at_once(client: Client) -> None:
    reply = await client.get("/api/search?limit=0&offset=-1&formt=json&since=never")
    problem = await reply.json()
    named = {error["parameter"]: error["detail"] for error in problem["errors"]}
    assert set(named) == {"limit", "offset", "formt", "since"}
    assert "did you mean format?" in named["formt"]
    assert problem["code"] == "VAL_VALIDATION_FAILED"


async def test_a_repeated_parameter_is_refused_in_any_spelling(client: Client) -> None:
    for query in ("query=a&query=b", "query=a&q=b", "query=a&since=2024&dateStart=2025"):
        reply = await client.get(f"/api/search?{query}")
        assert reply.status == 422, query


async def test_an_end_before_its_start_is_refused(client: Client) -> None:
    reply = await client.get("/api/search?since=2025-02-01&until=2025-01-01")
    assert (await reply.json())["field"] == "until"


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/api/search", "query"),
        ("/api/search/unified?query=%20", "query"),
        ("/api/search/by-concept", "concept"),
        ("/api/search/by-file?filePath=", "filePath"),
        ("/api/search/by-type?query=auth", "type"),
        ("/api/timeline", "anchor"),
        ("/api/timeline/by-query", "query"),
    ],
)
async def test_what_is_required_is_named(client: Client, path: str, field: str) -> None:
    reply = await client.get(path)
    problem = await reply.json()
    assert (reply.status, problem["code"]) == (422, "VAL_FIELD_REQUIRED"), problem
    assert problem["field"] == field


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nope", 404, "not_found"),
        ("POST", "/api/search", 405, "method_not_allowed"),
        ("GET", "/api/observation/999", 404, "not_found"),
        ("GET", "/api/observation/abc", 422, "VAL_VALIDATION_FAILED"),
        ("GET", "/api/observation/-1", 422, "VAL_VALIDATION_FAILED"),
        ("GET", "/api/observation/1", 404, "not_found"),
        ("GET", "/api/records/unicorn:1", 422, "VAL_VALIDATION_FAILED"),
        ("GET", "/api/records/observation:1", 404, "not_found"),
        ("GET", "/api/timeline?anchor=S2", 404, "not_found"),
        ("GET", "/api/timeline?anchor=999", 404, "not_found"),
        ("GET", "/api/timeline?anchor=someday", 422, "VAL_VALIDATION_FAILED"),
        ("GET", "/api/timeline?anchor=2&query=auth", 422, "VAL_VALIDATION_FAILED"),
        ("GET", "/api/timeline?anchor=2&depth_before=51", 422, "VAL_VALIDATION_FAILED"),
        ("GET", "/api/context/recent?limit=11", 422, "VAL_VALIDATION_FAILED"),
        ("GET", "/api/jobs/nope", 404, "not_found"),
        ("POST", "/api/jobs/nope/cancel", 404, "not_found"),
        ("DELETE", "/api/observation/1", 404, "not_found"),
        ("DELETE", "/api/records/note:999", 404, "not_found"),
    ],
)
async def test_what_cannot_be_is_a_clean_problem(
    client: Client, method: str, path: str, status: int, code: str
) -> None:
    reply = await client.request(method, path, headers=AUTHORIZED)
    problem = await reply.json()
    assert (reply.status, problem["code"]) == (status, code), problem
    assert reply.content_type == "application/problem+json"
    if status == 405:
        assert reply.headers["Allow"] == "GET,HEAD"


@pytest.mark.parametrize(
    ("path", "body", "status", "pointers"),
    [
        ("/api/observations/batch", b"{", 400, []),
        ("/api/observations/batch", b'{"ids": [NaN]}', 400, []),
        ("/api/observations/batch", b"[" * 100_000, 400, []),
        ("/api/observations/batch", b"{}", 422, ["/ids"]),
        ("/api/observations/batch", b'{"ids": ["x", 1, -1]}', 422, ["/ids/0", "/ids/2"]),
        ("/api/observations/batch", b'{"ids": "1,x"}', 422, ["/ids/1"]),
        ("/api/observations/batch", b'{"ids": [1], "a/b": 1}', 422, ["/a~1b"]),
        ("/api/records/batch", b'{"refs": ["observation:2", "x"]}', 422, ["/refs/1"]),
        ("/api/records/batch", b"[]", 422, [""]),
        ("/api/import", b'{"source": "jsonl"}', 422, ["/path"]),
    ],
)
async def test_a_bad_body_is_refused_by_the_place_of_its_fault(
    client: Client, path: str, body: bytes, status: int, pointers: list[str]
) -> None:
    headers = {**AUTHORIZED, "Content-Type": "application/json"}
    reply = await client.post(path, data=body, headers=headers)
    problem = await reply.json()
    assert reply.status == status, problem
    assert [error["pointer"] for error in problem.get("errors", [])] == pointers


async def test_a_body_of_another_type_or_size_is_refused(client: Client) -> None:
    text = {"Content-Type": "text/plain"}
    reply = await client.post("/api/observations/batch", data=b'{"ids": [1]}', headers=text)
    assert reply.status == 415
    headers = {"Content-Type": "application/json"}

    async def spaces() -> AsyncIterator[bytes]:
        for _ in range(MAX_BODY_BYTES // 2**20 + 1):
            yield b" " * 2**20

    big = await client.post("/api/observations/batch", data=spaces(), headers=headers)
    told = await big.json()
    assert (big.status, told["code"]) == (413, "body_too_large")
    assert told["title"] == "Content Too Large"  # of RFC 9110, with every Python


GETS = sorted(
    {
        route.path
        for route in ROUTES
        if route.method == "GET" and "{" not in route.path and route.content_type != ENDLESS
    }
)


async def test_every_route_refuses_a_parameter_it_does_not_know(client: Client) -> None:
    for path in GETS:
        reply = await client.get(path, params={"wibble": "1"}, headers=AUTHORIZED)
        assert reply.status == 422, path
        assert (await reply.json())["errors"][0]["parameter"] == "wibble"


async def test_every_route_answers_or_says_what_it_needs(client: Client) -> None:
    for path in GETS:
        reply = await client.get(path, headers=AUTHORIZED, allow_redirects=False)
        # A server is backed up by its own programs.
        refused = {409} if SERVER and path == "/api/v1/backup" else set()
        assert reply.status in {200, 302, 422} | refused, path
        assert reply.headers["Cache-Control"] == "no-store"
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
        assert not any(name.lower().startswith("access-control") for name in reply.headers)
        await reply.read()


NAMES = st.sampled_from(
    ["query", "q", "types", "type", "concepts", "files", "project", "since", "until", "limit",
     "offset", "orderBy", "mode", "tz", "format", "tags", "dateRange[start]", "anchor"]
)  # fmt: skip
VALUES = st.one_of(
    st.text(max_size=30),
    st.sampled_from(["auth", '"', "*", "a OR", "NEAR(", "2025", "json", "full", "0", "1" * 40]),
)
PAIRS = st.lists(st.tuples(st.one_of(NAMES, st.text(max_size=8)), VALUES), max_size=5)


@given(pairs=PAIRS)
@settings(max_examples=300, deadline=None)
def test_any_query_string_is_read_or_refused(pairs: list[tuple[str, str]]) -> None:
    with suppress(InputError):
        read_query(SearchParameters, MultiDict(pairs), datetime.now(UTC))


@pytest.mark.parametrize("path", ["/api/search/unified", "/api/timeline", "/api/decisions"])
async def test_no_query_string_makes_the_worker_fail(client: Client, path: str) -> None:
    examples: list[list[tuple[str, str]]] = []

    @given(pairs=PAIRS)
    @settings(
        max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    def collect(pairs: list[tuple[str, str]]) -> None:
        examples.append(pairs)

    collect()
    for pairs in examples:
        reply = await client.get(path, params=MultiDict(pairs))
        body = await reply.read()
        assert reply.status in (200, 404, 422), (pairs, body)
        json.loads(body)


async def test_raw_bytes_in_a_query_string_do_no_harm(client: Client) -> None:
    for raw in ("query=%ff%fe", "query=%00", "query=%ed%a0%80", "query=%F0%9F%92%A9&%ff=1"):
        url = URL(f"{client.make_url('/api/search/unified')}?{raw}", encoded=True)
        reply = await client.session.get(url)
        assert reply.status in (200, 422), await reply.text()


async def test_a_body_in_another_encoding_is_refused_with_its_place_and_the_next_step(
    client: Client,
) -> None:
    headers = AUTHORIZED | {"Content-Type": "application/json"}
    body = '{"query": "Bäckerei"}'.encode("latin-1")
    reply = await client.post("/api/v1/search", data=body, headers=headers)
    assert reply.status == 400
    said = (await reply.json())["detail"]
    assert said == "the body is not JSON: byte 13 is not UTF-8; encode the body in UTF-8"
