"""A browser is a program of the owner's, but what runs in it may be anybody's.

Another user who held the port while no worker ran leaves a service worker or a cached script for
``http://127.0.0.1:PORT`` in the owner's browser. It asks as our own page does, and gets nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import pytest
from aiohttp import ClientSession
from aiohttp.test_utils import TestClient, TestServer
from every_route import BODIES, ENDLESS, filled, write_something
from http_worker import (
    AUTHORIZED,
    PAGE,
    RECORDS,
    TOKEN,
    TYPED,
    Client,
    lifecycle_of,
    logged_in,
    viewer_of,
)

from mem_search.http.access import browsers
from mem_search.http.access.browser_sessions import SESSION
from mem_search.http.core.app import build_app
from mem_search.http.core.routing import Route
from mem_search.http.routes import ROUTES
from mem_search.settings import Settings

WITHOUT_DATA: Final = {
    "/", "/health", "/api/health", "/api/readiness", "/api/version", "/api/search/help", "/docs",
    "/openapi.json", "/viewer/{name}", "/viewer/vendor/{name}", "/api/instructions",
}  # fmt: skip
"""What anybody may read: it is the same on every machine, or tells that a worker runs."""

OLD_PAGES: Final = (
    {"Origin": "http://127.0.0.1:{port}"},
    {"Referer": "http://127.0.0.1:{port}/x"},
    {"Cookie": "a=b"},
    {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:78.0) Gecko/20100101 Firefox/78.0"},
)
"""How a browser without Fetch Metadata shows itself."""


def headers_of(client: Client) -> list[dict[str, str]]:
    """What comes from a browser at the worker's port: our own page there, or what passes for it."""
    old = [{k: v.format(port=client.port) for k, v in each.items()} for each in OLD_PAGES]
    stream = {**PAGE, "Accept": "text/event-stream"}
    socket = {**PAGE, **old[0], "Sec-Fetch-Mode": "websocket", "Upgrade": "websocket",
              "Connection": "Upgrade"}  # fmt: skip
    followed = {**TYPED, "Sec-Fetch-Site": "same-origin"}
    return [PAGE, {**PAGE, **old[0]}, TYPED, followed, *old, stream, socket,
            {"Sec-Fetch-Dest": "empty"}, {**PAGE, "Accept": "text/html"}]  # fmt: skip


async def replies(
    client: Client, route: Route, known: Mapping[str, str], headers: dict[str, str]
) -> list[tuple[int, str]]:
    found = []
    for body in BODIES.get(route.path, [None]):
        sent = (
            {} if route.method in ("GET", "DELETE") or isinstance(body, bytes) else {"json": body}
        )
        reply = await client.request(
            route.method, filled(route, dict(known)), headers=headers, allow_redirects=False, **sent
        )
        found.append((reply.status, f"{reply.headers} {await reply.text()}"))
    return found


async def test_a_browser_gets_nothing_of_the_store_at_the_port_on_any_route(
    client: Client, viewer: ClientSession
) -> None:
    known = await write_something(client)
    texts = (str(each[name]) for each in RECORDS for name in ("text", "title") if each[name])
    secrets = (TOKEN, str(lifecycle_of(client).settings.home), *texts)
    for route in ROUTES:
        for headers in headers_of(client):
            led = route.page and headers.get("Sec-Fetch-Mode") == "navigate"
            refusal = 303 if led else 401
            for status, text in await replies(client, route, known, headers):
                assert route.path in WITHOUT_DATA or status == refusal, (route, headers, text)
                assert [each for each in secrets if each in text] == [], route
            if route.content_type != ENDLESS and route.method == "GET" and not route.write:
                head = await client.head(
                    filled(route, known), headers=headers, allow_redirects=False
                )
                assert route.path in WITHOUT_DATA or head.status == refusal, route


async def test_a_program_that_says_how_it_fetches_is_no_browser(client: Client) -> None:
    """Node's fetch does, and so do clients of claude-mem, hooks and extensions of editors."""
    node = {"User-Agent": "node", "Sec-Fetch-Mode": "cors", "Accept-Language": "*"}
    for headers in ({}, node):
        assert (await client.get("/api/search?query=auth", headers=headers)).status == 200
        assert (await client.get("/v/note:6", headers=headers)).status == 200


async def test_a_browser_with_a_token_reads_at_the_port(client: Client) -> None:
    for headers in (PAGE, TYPED):
        with_token = {**headers, **AUTHORIZED}
        assert (await client.get("/api/search?query=auth", headers=with_token)).status == 200
        assert (await client.get("/v/note:6", headers=with_token)).status == 200


async def test_a_session_counts_at_the_viewers_origin_alone(
    client: Client, viewer: ClientSession
) -> None:
    page = await logged_in(viewer, client)
    for path in ("/api/search?query=auth", "/api/stats", "/api/jobs", "/v/note:6", "/api/export"):
        assert (await viewer.get(path, headers=page)).status == 200
        assert (await viewer.get(path, headers=PAGE)).status == 401
        for headers in (page, {SESSION: page[SESSION]}):
            assert (await client.get(path, headers=headers)).status == 401
    other = {**page, "Origin": f"http://127.0.0.1:{client.port}"}
    assert (await viewer.get("/api/stats", headers=other)).status == 403


async def test_the_viewers_listener_answers_to_its_own_name_alone(
    client: Client, viewer: ClientSession
) -> None:
    host = lifecycle_of(client).viewer.removeprefix("http://")
    port = host.partition(":")[2]
    for name in (f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}", "box.lan", ""):
        for headers in ({}, PAGE):
            reply = await viewer.get("/api/stats", headers={**headers, "Host": name})
            assert reply.status == 421
    assert (await client.get("/api/stats", headers={"Host": host})).status == 421


async def test_two_workers_have_two_origins_and_the_sessions_of_the_first_end(
    settings: Settings,
) -> None:
    origins, headers = set(), {}
    for _ in range(2):
        async with TestClient(TestServer(build_app(settings))) as client:
            await lifecycle_of(client).ready()
            async with viewer_of(client) as viewer:
                if headers:
                    assert (await viewer.get("/api/stats", headers=headers)).status == 401
                    listed = await client.get("/api/viewer/sessions", headers=AUTHORIZED)
                    assert (await listed.json())["sessions"] == []
                headers = await logged_in(viewer, client)
                assert (await viewer.get("/api/stats", headers=headers)).status == 200
                origins.add(lifecycle_of(client).viewer)
    assert len(origins) == 2
    assert not any(each.startswith("http://127.0.") for each in origins)


async def test_nothing_is_the_script_of_a_service_worker(
    empty: Client, viewer: ClientSession
) -> None:
    script = {**PAGE, "Service-Worker": "script", "Sec-Fetch-Dest": "serviceworker"}
    for asker in (empty, viewer):
        for path in ("/", "/viewer/app.js", "/docs", "/nope"):
            assert (await asker.get(path, headers=script)).status == 403


async def test_nothing_stays_in_a_browser_and_no_other_page_reaches_a_tab(
    empty: Client, viewer: ClientSession
) -> None:
    for asker in (empty, viewer):
        for path in ("/", "/viewer/app.js", "/docs", "/api/stats", "/nope"):
            told = (await asker.get(path, headers=PAGE)).headers
            assert told["Cache-Control"] == "no-store"
            assert told["Cross-Origin-Opener-Policy"] == "same-origin"
            assert told["Cross-Origin-Resource-Policy"] == "same-origin"
            assert "Service-Worker-Allowed" not in told


async def test_a_person_at_the_port_is_told_where_the_viewer_is(
    client: Client, viewer: ClientSession
) -> None:
    reply = await client.get("/", headers=TYPED)
    page = await reply.text()
    assert (reply.status, "mem-search view" in page) == (200, True)
    assert not any(word in page for word in ("href", "<script", lifecycle_of(client).viewer))
    assert "app.js" in await (await viewer.get("/", headers=TYPED)).text()
    asked = await client.get("/api/search?query=auth", headers=TYPED)
    assert (asked.status, "mem-search view" in (await asked.json())["detail"]) == (401, True)
    led = await client.get("/documents/note:6", headers=TYPED, allow_redirects=False)
    assert led.headers["Location"] == f"{lifecycle_of(client).viewer}/#/record/note%3A6"


async def test_addresses_of_records_stay_those_of_the_port(
    client: Client, viewer: ClientSession
) -> None:
    """They are kept in texts, and the viewer's origin ends with the worker."""
    lifecycle_of(client).url = f"http://127.0.0.1:{client.port}"
    page, asked = await logged_in(viewer, client), {"query": "papers about passwords"}
    seen = []
    for asker, headers in ((client, {}), (viewer, page)):
        reply = await asker.post("/api/v1/search", json=asked, headers=headers)
        seen.append([each["url"] for each in (await reply.json())["items"]])
    assert seen[0] == seen[1]
    assert f"http://127.0.0.1:{client.port}/v/note:6" in seen[0]


async def test_without_a_viewer_the_login_says_why(client: Client) -> None:
    lifecycle_of(client).no_viewer = "the system gives it no address"
    made = await client.post("/api/viewer/links", headers=AUTHORIZED)
    assert made.status == 409
    assert "the system gives it no address" in (await made.json())["detail"]
    assert "the system gives it no address" in await (await client.get("/")).text()
    assert (await client.get("/api/search?query=auth")).status == 200


async def test_a_browser_is_logged_in_at_a_name_that_the_settings_have_but_not_at_the_port(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = replace(settings, allowed_hosts=("box.lan",))
    async with TestClient(TestServer(build_app(named))) as client:
        await lifecycle_of(client).ready()
        there, direct = {"Host": "box.lan"}, {"Host": f"box.lan:{client.port}"}
        written = {"Host": f"box.lan:0{client.port}"}
        made = await client.post("/api/viewer/links", headers={**there, **AUTHORIZED})
        address, _, code = (await made.json())["url"].partition("/#/login/")
        assert address == "http://box.lan"
        for host, status in ((direct, 401), (written, 401), (there, 201)):
            redeemed = await client.post(
                "/api/viewer/sessions", json={"code": code}, headers={**PAGE, **host}
            )
            assert redeemed.status == status
        session = {SESSION: (await redeemed.json())["secret"], **PAGE}
        for host, status in ((there, 200), (direct, 401), ({}, 401)):
            assert (await client.get("/api/stats", headers={**session, **host})).status == status
        led = await client.get("/v/note:1", headers={**TYPED, **there}, allow_redirects=False)
        assert led.headers["Location"] == "/#/record/note%3A1"
        monkeypatch.setattr(browsers, "sockname", lambda _: ("127.0.0.1", 80))
        at_the_port = await client.get("/api/stats", headers={**session, **there})
        assert at_the_port.status == 401  # a name without a port is that of port 80


@pytest.mark.parametrize("headers", [PAGE, TYPED])
async def test_where_neighbours_may_read_a_browser_reads_what_they_may(
    settings: Settings, headers: dict[str, str]
) -> None:
    async with TestClient(TestServer(build_app(replace(settings, neighbours_read=True)))) as client:
        await lifecycle_of(client).ready()
        assert (await client.get("/api/search?query=auth", headers=headers)).status == 200
        for path in ("/api/stats", "/api/logs", "/api/why?path=/etc", "/api/jobs"):
            assert (await client.get(path, headers=headers)).status == 401
        assert "app.js" in await (await client.get("/", headers=headers)).text()
