"""A proxy that has authenticated somebody names the user by a header: only it, and only plainly."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer
from http_worker import AUTHORIZED, Client, lifecycle_of, logged_in, viewer_of
from people import join

from mem_search.daemon.run import refuse_foreign_hosts
from mem_search.errors import InputError
from mem_search.http.core.app import build_app
from mem_search.http.routes import ROUTES
from mem_search.settings import Settings
from patience import PATIENCE

HEADER = "X-Remote-User"
Opens = Callable[..., AbstractAsyncContextManager[Client]]
Headers = dict[str, str] | list[tuple[str, str]]


@pytest.fixture
def opens(settings: Settings) -> Opens:
    """Starts a worker behind a proxy on this machine."""

    @asynccontextmanager
    async def opened(**changed: Any) -> AsyncIterator[Client]:
        behind = replace(settings, **{"proxy_header": HEADER, **changed})
        async with TestClient(TestServer(build_app(behind))) as client:
            await lifecycle_of(client).ready()
            yield client

    return opened


@pytest.fixture
async def client(opens: Opens) -> AsyncIterator[Client]:
    async with opens() as client:
        yield client


async def store(client: Client, headers: Headers, text: str) -> int:
    note = {"kind": "note", "title": text, "text": f"{text} of the harbour"}
    reply = await client.post("/api/records", json=note, headers=headers)
    return reply.status


async def titles(client: Client, headers: Headers) -> set[str]:
    reply = await client.get(
        "/api/search",
        params={"query": "harbour", "mode": "keyword", "format": "json"},
        headers=headers,
    )
    assert reply.status == 200, await reply.text()
    return {each["title"] for each in (await reply.json())["results"]}


async def status(client: Client, headers: Headers, path: str = "/api/stats") -> int:
    return (await client.get(path, headers=headers)).status


async def sent(client: Client, headers: list[tuple[str, str]]) -> str:
    """The reply to a search with exactly these headers: clients of HTTP join or drop some."""
    reader, writer = await asyncio.open_connection("127.0.0.1", client.port)
    lines = [
        "GET /api/search?query=tides HTTP/1.1",
        f"Host: 127.0.0.1:{client.port}",
        "Connection: close",
        *(f"{name}: {value}" for name, value in headers),
    ]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    async with asyncio.timeout(PATIENCE):
        reply = await reader.read()
    writer.close()
    return reply.decode()


async def test_each_user_that_the_proxy_names_has_a_store_of_their_own(client: Client) -> None:
    assert await store(client, {HEADER: "ada"}, "Tides") < 300
    assert await store(client, {HEADER: "bob"}, "Cranes") < 300
    assert await titles(client, {HEADER: "ada"}) == {"Tides"}
    assert await titles(client, {"x-rEMOTE-user": "bob"}) == {"Cranes"}  # names have no case
    assert await titles(client, AUTHORIZED) == set()
    laptop = await join(client, "ada")  # a token of the same user opens the same store
    assert await titles(client, laptop.headers) == {"Tides"}
    assert await titles(client, {**laptop.headers, HEADER: "ada"}) == {"Tides"}


async def test_what_only_the_owner_may_is_refused_to_a_user(client: Client) -> None:
    for route in ROUTES:
        if route.only == "home" and "{" not in route.path:
            reply = await client.request(route.method, route.path, headers={HEADER: "ada"})
            assert reply.status == 403, route


@pytest.mark.parametrize(
    "headers",
    [
        [(HEADER, "ada"), (HEADER, "bob")],
        [(HEADER, "ada"), (HEADER, "ada")],
        [(HEADER, "ada"), (HEADER.lower(), "bob")],
        [(HEADER.upper(), "bob"), (HEADER, "")],
        [(HEADER, "ada, bob")],
        [(HEADER, "ada,ada")],
        [(HEADER, "")],
        [(HEADER, "   ")],
        [(HEADER, "Ada")],
        [(HEADER, "ada@example.org")],
        [(HEADER, "../bob")],
        [(HEADER, "ada bob")],
        [(HEADER, "adá")],
        [(HEADER, "x" * 33)],
    ],
    ids=str,
)
async def test_a_header_that_is_not_one_plain_name_is_refused(
    client: Client, headers: list[tuple[str, str]]
) -> None:
    searched = await sent(client, headers)
    assert searched.startswith("HTTP/1.1 401 ")
    assert HEADER in searched.partition('"detail"')[2]
    # Nor does a good token beside it make it right: somebody sent it.
    assert (await sent(client, [*headers, *AUTHORIZED.items()])).startswith("HTTP/1.1 401 ")
    assert lifecycle_of(client).users.open == []


async def test_a_header_whose_name_is_only_like_it_names_nobody(client: Client) -> None:
    for name in ("X_Remote_User", "X-Remote-Users", "Remote-User", "X-Forwarded-User"):
        assert await status(client, {name: "ada"}) == 401  # nobody is named: a token is needed
    assert await titles(client, {"X_Remote_User": "ada", **AUTHORIZED}) == set()
    assert lifecycle_of(client).users.open == []


@pytest.mark.parametrize("trusted", [("192.0.2.7",), ("10.0.0.0/8", "2001:db8::/32"), ()])
async def test_nobody_but_the_proxy_can_name_a_user(opens: Opens, trusted: tuple[str, ...]) -> None:
    async with opens(proxy_addresses=trusted) as client:
        for more in ({}, {"X-Forwarded-For": "192.0.2.7"}, {"X-Real-IP": "10.0.0.1"}, AUTHORIZED):
            reply = await client.get("/api/stats", headers={HEADER: "ada", **more})
            assert reply.status == 401
            assert "MEM_SEARCH_PROXY_ADDRESSES" in (await reply.json())["detail"]
        assert await store(client, {HEADER: "ada"}, "Tides") == 401
        assert await status(client, AUTHORIZED) == 200
        assert lifecycle_of(client).users.open == []


async def test_a_network_may_be_trusted(opens: Opens) -> None:
    async with opens(proxy_addresses=("127.0.0.0/8",)) as client:
        assert await store(client, {HEADER: "ada"}, "Tides") < 300


async def test_a_header_that_is_not_set_up_names_nobody(opens: Opens) -> None:
    async with opens(proxy_header="") as client:
        assert await store(client, {HEADER: "ada"}, "Tides") == 401
        assert await status(client, {HEADER: "ada"}) == 200  # this machine reads, as ever
        assert lifecycle_of(client).users.open == []


async def test_what_the_proxy_forgets_to_name_is_not_taken_for_this_machine(client: Client) -> None:
    """Clients can make a proxy drop a header: ``Connection: X-Remote-User``."""
    for route in ROUTES:
        if route.early or route.login or "{" in route.path:
            continue
        reply = await client.request(route.method, route.path, allow_redirects=False)
        assert reply.status == 401, route
    assert await status(client, AUTHORIZED) == 200


async def test_a_token_of_somebody_else_beside_the_header_is_refused(client: Client) -> None:
    bob = await join(client, "bob")
    for headers in (bob.headers, AUTHORIZED):
        reply = await client.get("/api/stats", headers={HEADER: "ada", **headers})
        assert reply.status == 401
        assert "ada" in (await reply.json())["detail"]


async def test_the_session_of_the_owner_does_not_make_a_user_the_owner(client: Client) -> None:
    async with viewer_of(client) as viewer:
        own_page = await logged_in(viewer, client)
        for headers, answer in ((own_page, 200), ({**own_page, HEADER: "ada"}, 403)):
            assert (await viewer.get("/api/v1/tokens", headers=headers)).status == answer


async def test_requests_of_a_named_user_are_counted_whichever_way_they_come(opens: Opens) -> None:
    async with opens(limit_searches=2) as client:
        laptop = await join(client, "ada")
        search = "/api/search?query=tides"
        said = [await status(client, each, search) for each in ({HEADER: "ada"}, laptop.headers)]
        assert said == [200, 200]
        assert await status(client, {HEADER: "ada"}, search) == 429
        assert await status(client, {HEADER: "bob"}, search) == 200


async def test_a_page_that_a_proxy_serves_with_tls_may_write(opens: Opens) -> None:
    async with opens(allowed_hosts=("mem.example.org",)) as client:
        there = {HEADER: "ada", "Host": "mem.example.org"}
        for origin, answer in (
            ("https://mem.example.org", True),
            ("https://mem.example.org:8443", False),
            ("https://evil.example", False),
            ("https://localhost", False),
        ):
            written = await store(client, {**there, "Origin": origin}, "Tides")
            assert (written < 300) is answer, origin
            assert answer or written == 403


def test_the_settings_of_a_proxy_are_checked(tmp_path: Path) -> None:
    def read(**given: str) -> Settings:
        environ = {f"MEM_SEARCH_{name.upper()}": value for name, value in given.items()}
        return Settings.read({"MEM_SEARCH_HOME": str(tmp_path), **environ})

    assert read().proxy_header == ""
    assert read().proxy_addresses == ("127.0.0.1", "::1")
    several = read(proxy_header="Remote-User", proxy_addresses="10.0.0.5, 10.1.0.0/16,::1")
    assert several.proxy_addresses == ("10.0.0.5", "10.1.0.0/16", "::1")
    for header in ("Authorization", "cookie", "X Remote", "X:User", "Hóst", "Sec-Fetch-Site", "-"):
        with pytest.raises(InputError, match="the name of one header"):
            read(proxy_header=header)
    for address in ("proxy.lan", "10.0.0.1/8", "*", "10.0.0"):
        with pytest.raises(InputError, match="addresses or networks"):
            read(proxy_addresses=address)


def test_a_worker_whose_users_a_proxy_names_may_listen_beyond_loopback(tmp_path: Path) -> None:
    refuse_foreign_hosts(Settings(home=tmp_path, host="192.0.2.1", proxy_header=HEADER))
