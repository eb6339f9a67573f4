"""The viewer's files, and the link that logs a browser in."""

from __future__ import annotations

import asyncio
import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from http_worker import AUTHORIZED, TOKEN, Client, lifecycle_of

from mem_search.http.access.browser_sessions import (
    LINK_SECONDS,
    MOST_LINKS,
    SESSION_SECONDS,
    BrowserSessions,
    cookie_name,
)
from mem_search.search.stages import STAGES
from mem_search.storage.sqlite.store import SqliteStore
from patience import PATIENCE

OWN_PAGE = {"Sec-Fetch-Site": "same-origin"}
FOLDER = files("mem_search") / "viewer"


async def logged_in(client: Client) -> str:
    """The code of a link; the client's browser is logged in with it."""
    reply = await client.post("/api/viewer/links", headers=AUTHORIZED)
    code: str = (await reply.json())["url"].rpartition("/")[2]
    opened = await client.get(f"/login/{code}", allow_redirects=False)
    assert (opened.status, opened.headers["Location"]) == (303, "/")
    (cookie,) = opened.headers.getall("Set-Cookie")
    for part in (
        "HttpOnly",
        "SameSite=Strict",
        "Path=/",
        f"{cookie_name(lifecycle_of(client).store_id)}=",
    ):
        assert part in cookie
    assert TOKEN not in cookie
    return code


async def test_the_page_takes_only_its_own_files(empty: Client) -> None:
    reply = await empty.get("/")
    page = await reply.text()
    policy = reply.headers["Content-Security-Policy"]
    assert reply.content_type == "text/html"
    assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
    assert "unsafe" not in policy
    for address in re.findall(r'(?:src|href)="([^"]+)"', page):
        found = await empty.get(address)
        assert found.status == 200, address
        assert found.content_type in ("text/javascript", "text/css", "image/svg+xml")


async def test_every_module_that_a_module_imports_is_served(empty: Client) -> None:
    """A script that imports what is not there shows an empty page."""
    names = [each.name for each in FOLDER.iterdir() if each.name.endswith(".js")]
    assert len(names) > 8
    for name in names:
        text = await (await empty.get(f"/viewer/{name}")).text()
        for other in re.findall(r'(?:from |import\()"\./([^"]+)"', text):
            assert (await empty.get(f"/viewer/{other}")).status == 200, (name, other)


def test_every_reason_is_a_score_of_the_reply() -> None:
    text = (FOLDER / "texts.js").read_text("utf-8")
    told = re.findall(r'"?([a-z-]+)"?: "', text[text.index("  why: {") : text.index("whyPlace")])
    scores = {"keyword", "vector", "time", *(stage.name for stage in STAGES)}
    assert len(told) == 10
    assert set(told) <= scores


@pytest.mark.parametrize(
    "name", ["index.html", "..%2f__init__.py", "vendor%2f..%2fapp.js", "vendor/NOTICE.md", "vendor"]
)
async def test_nothing_else_is_served(empty: Client, name: str) -> None:
    assert (await empty.get(f"/viewer/{name}")).status == 404


async def test_a_link_logs_one_browser_in_once(client: Client) -> None:
    assert (await client.get("/api/jobs", headers=OWN_PAGE)).status == 401
    code = await logged_in(client)
    assert (await client.get("/api/jobs", headers=OWN_PAGE)).status == 200
    again = await client.get(f"/login/{code}", allow_redirects=False)
    assert again.status == 403
    assert "mem-search view" in (await again.json())["detail"]


@pytest.mark.parametrize("site", ["same-site", "cross-site", "none", ""])
async def test_the_cookie_counts_for_our_own_pages_alone(client: Client, site: str) -> None:
    await logged_in(client)
    headers = {"Sec-Fetch-Site": site} if site else {}
    assert (await client.get("/api/jobs", headers=headers)).status in (401, 403)
    ref = "/api/records/observation:2"
    assert (await client.delete(ref, headers=headers)).status in (401, 403)
    origin = {"Origin": "http://127.0.0.1:1", **OWN_PAGE}
    assert (await client.delete(ref, headers=origin)).status == 403


async def test_a_logged_in_browser_may_change_and_log_out(client: Client) -> None:
    await logged_in(client)
    found = await (await client.get("/api/search?query=login&format=json")).json()
    path = f"/api/records/{found['results'][0]['ref']}"
    for archived in (True, None):
        body = {"metadata": {"archived": archived}}
        changed = await client.patch(path, json=body, headers=OWN_PAGE)
        assert (changed.status, (await changed.json())["archived"]) == (200, bool(archived))
    assert (await client.delete("/api/viewer/session", headers=OWN_PAGE)).status == 204
    assert (await client.get("/api/jobs", headers=OWN_PAGE)).status == 401


async def test_a_link_is_for_programs_with_the_token(client: Client) -> None:
    assert (await client.post("/api/viewer/links")).status == 401


async def test_the_stream_of_jobs_tells_each_change(client: Client, tmp_path: Path) -> None:
    assert (await client.get("/api/jobs/events")).status == 401
    file = tmp_path / "records.jsonl"
    file.write_text('{"kind": "note", "text": "The harbour is closed."}\n', "utf-8")
    async with (
        asyncio.timeout(PATIENCE),
        client.get("/api/jobs/events", headers=AUTHORIZED) as reply,
    ):
        assert reply.content_type == "text/event-stream"

        async def told() -> dict[str, Any]:
            line = await reply.content.readuntil(b"\n\n")
            value: dict[str, Any] = json.loads(line.removeprefix(b"data: "))
            return value

        first = await told()
        listed = await (await client.get("/api/jobs", headers=AUTHORIZED)).json()
        assert first["jobs"] == listed["jobs"]
        started = await client.post("/api/import", json={"path": str(file)}, headers=AUTHORIZED)
        job = (await started.json())["job"]
        while (newest := (await told())["jobs"][0])["id"] != job or newest["state"] != "done":
            assert newest["state"] in ("queued", "running") or newest["id"] != job
        assert newest["result"]["locations"][0]["new"] == 1


async def test_settings_are_told_without_secrets(client: Client) -> None:
    assert (await client.get("/api/viewer/settings")).status == 401
    reply = await (await client.get("/api/viewer/settings", headers=AUTHORIZED)).json()
    told = {each["name"]: each for each in reply["settings"]}
    assert told["token"]["value"] == "set"
    assert (told["embedder"]["value"], told["embedder"]["is_default"]) == ("hashing", False)
    assert (told["read_token"]["value"], told["read_token"]["is_default"]) == ("0", True)
    assert TOKEN not in str(reply)


async def test_a_question_that_is_being_typed_is_not_logged(client: Client) -> None:
    await logged_in(client)
    params = {"query": "auth", "format": "json"}
    for headers in ({"X-Draft": "1"}, {}):
        found = await client.get("/api/search", params=params, headers={**OWN_PAGE, **headers})
        assert found.status == 200
        logged = await (await client.get("/api/search/popular")).json()
        assert [each["query"] for each in logged["queries"]] == ([] if headers else ["auth"])


class Clock:
    def __init__(self) -> None:
        self.now = 1000

    def __call__(self) -> int:
        return self.now


async def test_links_and_cookies_end(store: SqliteStore) -> None:
    clock = Clock()
    sessions = BrowserSessions(store.logins, "a token", clock)
    late, _ = await sessions.link()
    clock.now += LINK_SECONDS
    assert await sessions.redeem(late) is None
    cookie = await sessions.redeem((await sessions.link())[0])
    assert cookie is not None
    assert await sessions.is_valid(cookie)
    assert await BrowserSessions(store.logins, "a token", clock).is_valid(cookie)  # after a restart
    assert not await BrowserSessions(store.logins, "another token", clock).is_valid(cookie)
    clock.now += SESSION_SECONDS
    assert not await sessions.is_valid(cookie)


@pytest.mark.parametrize("cookie", ["", ".", "9999999999.x.y", "9999999999", "é.é.é", "x" * 9000])
async def test_a_cookie_that_was_not_made_here_is_refused(store: SqliteStore, cookie: str) -> None:
    assert not await BrowserSessions(store.logins, "a token").is_valid(cookie)


async def test_the_oldest_link_gives_way(store: SqliteStore) -> None:
    sessions = BrowserSessions(store.logins, "a token")
    codes = [(await sessions.link())[0] for _ in range(MOST_LINKS + 1)]
    assert await sessions.redeem(codes[0]) is None
    assert await sessions.redeem(codes[1]) is not None
    assert cookie_name("one") != cookie_name("two")
