"""Access checks: Host, Origin and token, on every kind of route."""

from __future__ import annotations

import asyncio
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp.test_utils import TestClient, TestServer
from http_worker import AUTHORIZED, TOKEN, Client, lifecycle_of

from mem_search.access.tokens import read_or_create
from mem_search.errors import StorageError
from mem_search.http.access.authentication import matches
from mem_search.http.access.browsers import allowed, is_open
from mem_search.http.core.app import build_app
from mem_search.http.core.routing import Route
from mem_search.http.routes import ROUTES
from mem_search.settings import Settings
from patience import PATIENCE

HOME = Settings(home=Path("/nowhere"))


@pytest.mark.parametrize(
    ("authority", "extra", "accepted"),
    [
        ("127.0.0.1:4000", (), True),
        ("localhost:4000", (), True),
        ("LOCALHOST:4000", (), True),
        ("[::1]:4000", (), True),
        ("127.0.0.1", (), False),
        ("127.0.0.1:4001", (), False),
        ("localhost:4000.evil.example", (), False),
        ("localhost.evil.example:4000", (), False),
        ("evil@localhost:4000", (), False),
        ("0.0.0.0:4000", (), False),
        ("box.lan:4000", (), False),
        ("box.lan:4000", ("box.lan",), True),
        ("box.lan", ("box.lan",), True),
        ("box.lan:5000", ("Box.lan:5000",), True),
        ("box.lan:5001", ("box.lan:5000",), False),
        ("", (), False),
        ("[::1", (), False),
        ("localhost:port", (), False),
    ],
)
def test_only_our_own_names_are_accepted(
    authority: str, extra: tuple[str, ...], accepted: bool
) -> None:
    assert allowed(authority, 4000, replace(HOME, allowed_hosts=extra)) is accepted


@pytest.mark.parametrize("path", ["/health", "/api/search?query=auth", "/nope", "/docs"])
@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1:1", "0.0.0.0"])
async def test_a_foreign_host_is_misdirected_on_every_route(
    empty: Client, path: str, host: str
) -> None:
    reply = await empty.get(path, headers={"Host": host})
    assert (reply.status, (await reply.json())["code"]) == (421, "misdirected")


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("null", 403),
        ("http://evil.example", 403),
        ("http://localhost", 403),
        ("https://localhost:{port}", 403),
        ("file://", 403),
        ("http://localhost:{port}", 401),  # a page, though of our own port
        ("http://127.0.0.1:{port}", 401),
        ("http://[::1]:{port}", 401),
    ],
)
async def test_a_page_of_another_origin_is_refused(empty: Client, origin: str, status: int) -> None:
    headers = {"Origin": origin.format(port=empty.port)}
    reply = await empty.get("/api/search?query=auth", headers=headers)
    assert reply.status == status
    reply = await empty.get("/api/search?query=auth", headers={**headers, **AUTHORIZED})
    assert reply.status == (200 if status == 401 else status)
    assert "Access-Control-Allow-Origin" not in reply.headers


@pytest.mark.parametrize(
    ("site", "path", "status"),
    [
        ("cross-site", "/api/stats", 403),
        ("same-site", "/api/stats", 403),
        ("same-origin", "/api/stats", 401),
        ("none", "/api/stats", 401),
        *(
            (site, path, 403)
            for site in ("cross-site", "same-site", "Cross-Site", "cross-origin", "")
            for path in ("/", "/docs", "/health", "/stream", "/v/note:1", "/documents/1", "/nope",
                         "/viewer/app.js", "/metrics")
        ),
    ],
)  # fmt: skip
async def test_requests_from_other_sites_are_refused_on_every_path(
    empty: Client, site: str, path: str, status: int
) -> None:
    assert (await empty.get(path, headers={"Sec-Fetch-Site": site})).status == status


@pytest.mark.parametrize("host", ["localhost:{port}", "LOCALHOST:{port}", "[::1]:{port}"])
async def test_a_browser_is_answered_at_the_address_that_the_worker_has_alone(
    empty: Client, host: str
) -> None:
    """Another user can listen on ``[::1]``, and a browser asks localhost there first."""
    headers = {"Host": host.format(port=empty.port), "Sec-Fetch-Site": "same-origin"}
    for path in ("/", "/api/stats", "/api/search?query=auth"):
        reply = await empty.get(path, headers=headers)
        assert reply.status == 421
        assert f"http://127.0.0.1:{empty.port}" in (await reply.json())["detail"]
    at_home = {"Sec-Fetch-Site": "same-origin", **AUTHORIZED}
    assert (await empty.get("/api/stats", headers=at_home)).status == 200


async def test_what_one_header_says_of_the_site_another_does_not_take_back(empty: Client) -> None:
    both = [("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Site", "cross-site")]
    assert (await empty.get("/api/stats", headers=both)).status == 403


async def test_a_link_of_another_site_opens_pages_without_data_alone(empty: Client) -> None:
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    tab, frame = ({**link, "Sec-Fetch-Dest": dest} for dest in ("document", "iframe"))
    for route in ROUTES:
        shown = route.path in ("/", "/docs", "/v/{ref}")
        for headers in (tab, frame):
            reply = await empty.request(route.method, path_of(route), headers=headers)
            assert (reply.status == 403) != (shown and headers is tab), route
            await reply.read()


async def test_what_changes_or_carries_away_needs_the_token(empty: Client) -> None:
    for route in ROUTES:
        reply = await empty.request(route.method, path_of(route), allow_redirects=False)
        # A link is redeemed at the viewer's origin alone, and a token does without one.
        needs_token = (route.write and not route.capture) or route.login
        assert (reply.status == 401) == needs_token, route
        if needs_token:
            assert reply.headers["WWW-Authenticate"].startswith("Bearer")
    assert (await empty.get("/api/jobs", headers=AUTHORIZED)).status == 200


@pytest.mark.parametrize("wrong", ["Bearer wrong", "Basic x", "Bearer", "a-token-for-tests"])
async def test_a_wrong_credential_is_never_answered_out_of_the_store(
    empty: Client, wrong: str
) -> None:
    for route in ROUTES:
        reply = await empty.request(
            route.method, path_of(route), headers={"Authorization": wrong}, allow_redirects=False
        )
        assert (reply.status == 401) == (not route.early), route


async def test_two_credentials_are_none(empty: Client) -> None:
    both = [("Authorization", f"Bearer {TOKEN}"), ("Authorization", "Bearer wrong")]
    assert (await empty.get("/api/stats", headers=both)).status == 401


def path_of(route: Route) -> str:
    return route.path.format(ref="note:1", number=1, id="x", name="x")


@pytest.mark.parametrize(
    "header", ["X-Forwarded-For: 192.0.2.1", "Forwarded: for=192.0.2.1", "Via: 1.1 proxy"]
)
async def test_what_comes_by_way_of_a_proxy_needs_a_token_to_read(
    empty: Client, header: str
) -> None:
    name, value = header.split(": ")
    assert (await empty.get("/api/stats", headers={name: value})).status == 401
    assert (await empty.get("/api/stats", headers={name: value, **AUTHORIZED})).status == 200
    assert (await empty.get("/health", headers={name: value})).status == 200


async def test_under_another_name_than_loopbacks_reading_needs_a_token(settings: Settings) -> None:
    named = replace(settings, allowed_hosts=("box.lan",))
    async with TestClient(TestServer(build_app(named))) as client:
        await lifecycle_of(client).ready()
        assert (await client.get("/api/stats", headers={"Host": "box.lan"})).status == 401
        allowed = await client.get("/api/stats", headers={"Host": "box.lan", **AUTHORIZED})
        assert allowed.status == 200
        assert (await client.get("/api/stats")).status == 200


READING_POSTS = (
    "/batch", "/hybrid", "/vector", "/v1/search", "/mcp/search", "/mcp/fetch", "/citations",
    "/replay", "/mcp", "/context/semantic", "/archive/search",
    "/archive/check", "/viewer/sessions",
    "/notes/search", "/websites/search", "/conversations/search",
    *(f"/corpus/{{name}}/{step}" for step in ("query", "prime", "reprime", "rebuild")),
)  # fmt: skip
"""What asks with a body and changes nothing."""


def test_the_routes_that_need_the_token_are_these() -> None:
    written = {f"{route.method} {route.path}" for route in ROUTES if route.write}
    changing = {
        f"{route.method} {route.path}"
        for route in ROUTES
        if route.method != "GET" and not route.path.endswith(READING_POSTS)
    }
    assert written == changing | {
        "GET /api/archives",
        "GET /api/mirrors",
        "GET /api/export",
        "GET /api/viewer/sessions",
        "GET /api/jobs",
        "GET /api/jobs/events",
        "GET /api/jobs/{id}",
        "GET /api/v1/backup",
        "GET /api/viewer/settings",
        "GET /documents/{id}/original",
        "GET /api/v1/tokens",
        "GET /api/v1/users",
        "GET /api/v1/webhooks/secret",
    }, "a route that changes something has write=True, a POST that only reads is in READING_POSTS"


async def test_a_worker_open_to_other_machines_requires_the_token_for_reads(
    settings: Settings,
) -> None:
    reachable = replace(settings, host="192.0.2.7")
    async with TestClient(TestServer(build_app(reachable))) as client:
        assert (await client.get("/api/search?query=auth")).status == 401
        assert (await client.get("/health")).status == 200


@pytest.mark.parametrize(
    ("host", "opened"),
    [("127.0.0.1", False), ("::1", False), ("localhost", False), ("0.0.0.0", True), ("box", True)],
)
def test_only_loopback_is_closed_to_other_machines(host: str, opened: bool) -> None:
    assert is_open(replace(HOME, host=host)) is opened


def test_the_token_is_made_once_and_only_its_owner_reads_it(settings: Settings) -> None:
    fresh = replace(settings, token="")
    token = read_or_create(fresh)
    assert len(token) >= 43
    assert stat.S_IMODE(fresh.token_file.stat().st_mode) == 0o600
    assert read_or_create(fresh) == token
    assert [file.name for file in fresh.home.iterdir()] == ["token"]


def test_an_empty_token_file_is_replaced(settings: Settings) -> None:
    fresh = replace(settings, token="")
    fresh.home.mkdir()
    fresh.token_file.write_text("\n")
    assert read_or_create(fresh) == fresh.token_file.read_text().strip() != ""


def test_a_token_that_cannot_be_stored_is_reported(settings: Settings) -> None:
    settings.home.write_text("a file where the folder should be")
    with pytest.raises(StorageError, match="token"):
        read_or_create(replace(settings, token=""))


@pytest.mark.parametrize(("given", "same"), [("tökén", True), ("token", False), ("\udc80", False)])
def test_tokens_are_compared_whole(given: str, same: bool) -> None:
    assert matches(given, "tökén") is same


@pytest.mark.parametrize(
    ("target", "status"),
    [("http://{host}", b"200"), ("http://evil.example", b"421"), ("https://evil.example", b"421")],
)
async def test_the_host_of_a_whole_address_counts_as_the_header_does(
    client: Client, target: str, status: bytes
) -> None:
    """So a proxy is asked; who takes it for the own name puts it into the addresses of records."""
    host, body = f"127.0.0.1:{client.port}", b'{"query": "auth"}'
    reader, writer = await asyncio.open_connection("127.0.0.1", client.port)
    head = (
        f"POST {target.format(host=host)}/api/v1/search HTTP/1.1\r\nHost: {host}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        "Connection: close\r\n\r\n"
    )
    writer.write(head.encode() + body)
    async with asyncio.timeout(PATIENCE):
        reply = await reader.read()
    writer.close()
    assert reply[9:12] == status
    assert (f"http://{host}/v/".encode() in reply) == (status == b"200")
