"""The viewer's files, and the link that logs a browser in."""

from __future__ import annotations

import asyncio
import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession
from http_worker import AUTHORIZED, PAGE, TOKEN, Client, lifecycle_of, logged_in

from mem_search.http.access.browser_sessions import (
    IDLE_MS,
    LIFE_MS,
    LINK_SECONDS,
    MAX_LINKS,
    MAX_SESSIONS,
    SESSION,
    BrowserSessions,
    browser_in,
)
from mem_search.search.stages import STAGES
from mem_search.storage.sqlite.store import SqliteStore
from patience import PATIENCE

FOLDER = files("mem_search") / "viewer"


async def test_the_page_takes_only_its_own_files(viewer: ClientSession) -> None:
    reply = await viewer.get("/")
    page = await reply.text()
    policy = reply.headers["Content-Security-Policy"]
    assert reply.content_type == "text/html"
    assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
    assert "unsafe" not in policy
    for address in re.findall(r'(?:src|href)="([^"]+)"', page):
        found = await viewer.get(address)
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
    assert len(told) == 11
    assert set(told) <= scores


@pytest.mark.parametrize(
    "name", ["index.html", "..%2f__init__.py", "vendor%2f..%2fapp.js", "vendor/NOTICE.md", "vendor"]
)
async def test_nothing_else_is_served(empty: Client, name: str) -> None:
    assert (await empty.get(f"/viewer/{name}")).status == 404


async def test_a_link_logs_one_browser_in_once(client: Client, viewer: ClientSession) -> None:
    made = await (await client.post("/api/viewer/links", headers=AUTHORIZED)).json()
    address, _, code = made["url"].partition("/#/login/")  # a browser does not send what follows #
    assert address == lifecycle_of(client).viewer
    elsewhere = await client.post("/api/viewer/sessions", json={"code": code}, headers=PAGE)
    assert elsewhere.status == 401
    redeemed = await viewer.post("/api/viewer/sessions", json={"code": code}, headers=PAGE)
    session = await redeemed.json()
    assert (redeemed.status, "Set-Cookie" in redeemed.headers) == (201, False)
    page = {SESSION: session["secret"]}
    assert (await viewer.get("/api/jobs")).status == 401
    assert (await viewer.get("/api/jobs", headers=page)).status == 200
    again = await viewer.post("/api/viewer/sessions", json={"code": code}, headers=PAGE)
    assert again.status == 403
    assert "mem-search view" in (await again.json())["detail"]


@pytest.mark.parametrize("site", ["same-site", "cross-site"])
async def test_a_session_counts_for_our_own_pages_alone(
    client: Client, viewer: ClientSession, site: str
) -> None:
    page = await logged_in(viewer, client)
    for headers in ({**page, "Sec-Fetch-Site": site}, {**page, "Origin": "http://127.0.0.1:1"}):
        assert (await viewer.get("/api/jobs", headers=headers)).status == 403
        assert (await viewer.delete("/api/records/observation:2", headers=headers)).status == 403


@pytest.mark.parametrize("secret", ["", ".", "x", "é.é.é", "x" * 7000])
async def test_a_session_that_was_not_made_here_is_refused_on_reads_too(
    client: Client, viewer: ClientSession, secret: str
) -> None:
    page = await logged_in(viewer, client)
    for headers in ([(SESSION, secret)], [(SESSION, page[SESSION]), (SESSION, secret)]):
        for path in ("/api/stats", "/api/search?query=auth"):
            assert (await viewer.get(path, headers=headers)).status == 401
    assert (await viewer.get("/", headers={SESSION: secret})).status == 200


async def test_a_logged_in_browser_may_change_and_log_out(
    client: Client, viewer: ClientSession
) -> None:
    page = await logged_in(viewer, client)
    found = await (await viewer.get("/api/search?query=login&format=json", headers=page)).json()
    path = f"/api/records/{found['results'][0]['ref']}"
    for archived in (True, None):
        body = {"metadata": {"archived": archived}}
        changed = await viewer.patch(path, json=body, headers=page)
        assert (changed.status, (await changed.json())["archived"]) == (200, bool(archived))
    listed = await (await viewer.get("/api/viewer/sessions", headers=page)).json()
    (session,) = listed["sessions"]
    other = await logged_in(viewer, client)
    ended = await viewer.delete(f"/api/viewer/sessions/{session['id']}", headers=page)
    assert (ended.status, (await ended.json())["deleted"]) == (200, session["id"])
    assert (await viewer.get("/api/jobs", headers=page)).status == 401
    assert (await viewer.get("/api/jobs", headers=other)).status == 200
    again = await client.delete(f"/api/viewer/sessions/{session['id']}", headers=AUTHORIZED)
    assert again.status == 404


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
    assert [name for name, each in told.items() if not each["meaning"]] == []
    assert told["fetch_allow"]["meaning"].isprintable()


async def test_a_question_that_is_being_typed_is_not_logged(
    client: Client, viewer: ClientSession
) -> None:
    page = await logged_in(viewer, client)
    params = {"query": "auth", "format": "json"}
    for headers in ({"X-Draft": "1"}, {}):
        found = await viewer.get("/api/search", params=params, headers={**page, **headers})
        assert found.status == 200
        logged = await (await client.get("/api/search/popular")).json()
        assert [each["query"] for each in logged["queries"]] == ([] if headers else ["auth"])


async def test_the_viewer_gets_a_line_for_each_result_and_a_tree_of_each_text(
    client: Client, viewer: ClientSession
) -> None:
    page = await logged_in(viewer, client)
    text = "# Quay\n\nThe **quay** is of granite.\n<script>alert(1)</script> [x](javascript:1)"
    body = {"kind": "note", "title": "Quay", "text": text, "url": "javascript:alert(1)"}
    made = await (await client.post("/api/records", json=body, headers=AUTHORIZED)).json()
    params = {"query": "granite", "limit": "1"}
    found = await (await viewer.get("/api/viewer/search", params=params, headers=page)).json()
    (line,) = found["results"]
    assert (line["ref"], line["said"], line["title"]) == (made["ref"], "Note", "Quay")
    ((start, end),) = line["span_marks"]
    assert line["span"][start:end] == found["words"][0] == "granite"
    place = f"/api/viewer/records/{made['ref']}"
    shown = await (await viewer.get(f"{place}?words=quay", headers=page)).json()
    assert shown["body"] == [
        ["p", {}, "The ", ["strong", {}, ["mark", {}, "quay"]], " is of granite.", ["br", {}],
         "<script>alert(1)</script> [x](javascript:1)"],
    ]  # fmt: skip
    assert (shown["text"], shown["address"], shown["has_file"]) == ("", "", False)
    for path in (place, "/api/viewer/search?query=granite"):
        assert (await viewer.get(path, headers=PAGE)).status == 401
    assert (await viewer.get("/api/viewer/records/note:999999", headers=page)).status == 404


PLACE = "127.3.2.1:4000"


class Clock:
    """Milliseconds since 1970, as they are set."""

    def __init__(self) -> None:
        self.now = 1_700_000_000_000

    def __call__(self) -> int:
        return self.now


async def begun(sessions: BrowserSessions) -> str:
    """The secret of a new session."""
    code, _ = await sessions.link(PLACE)
    found = await sessions.redeem(code, PLACE, "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0")
    assert found is not None
    return found[1]


async def test_links_and_sessions_end(store: SqliteStore) -> None:
    clock = Clock()
    sessions = BrowserSessions(store.logins, "a token", clock)
    late, _ = await sessions.link(PLACE)
    clock.now += 1000 * LINK_SECONDS
    assert await sessions.redeem(late, PLACE, "") is None
    used, unused = await begun(sessions), await begun(sessions)
    began = clock.now
    while clock.now + IDLE_MS - 1 < began + LIFE_MS:
        clock.now += IDLE_MS - 1
        assert await sessions.is_valid(used, PLACE)
    assert not await sessions.is_valid(unused, PLACE)
    clock.now = began + LIFE_MS
    assert not await sessions.is_valid(used, PLACE)
    assert await sessions.listed() == []


async def test_a_later_start_of_the_worker_ends_every_session(store: SqliteStore) -> None:
    secret = await begun(BrowserSessions(store.logins, "a token, one start"))
    assert await BrowserSessions(store.logins, "a token, one start").is_valid(secret, PLACE)
    later = BrowserSessions(store.logins, "a token, another start")
    assert not await later.is_valid(secret, PLACE)
    assert await later.listed() == []
    assert not await BrowserSessions(store.logins, "a token, one start").is_valid("", PLACE)


async def test_links_and_sessions_count_at_their_own_place_alone(store: SqliteStore) -> None:
    sessions = BrowserSessions(store.logins, "a token")
    secret = await begun(sessions)
    code, _ = await sessions.link(PLACE)
    for other in ("127.3.2.1:4001", "127.0.0.1:4000", "box.lan", ""):
        assert not await sessions.is_valid(secret, other)
        assert await sessions.redeem(code, other, "") is None
    assert await sessions.is_valid(secret, PLACE)
    assert await sessions.redeem(code, PLACE, "") is not None


async def test_a_session_of_a_clock_that_was_ahead_does_not_go_on(store: SqliteStore) -> None:
    clock = Clock()
    sessions = BrowserSessions(store.logins, "a token", clock)
    secret = await begun(sessions)
    clock.now -= 86_400_000
    assert not await sessions.is_valid(secret, PLACE)


async def test_the_oldest_link_and_session_give_way(store: SqliteStore) -> None:
    clock = Clock()
    sessions = BrowserSessions(store.logins, "a token", clock)
    codes = [(await sessions.link(PLACE))[0] for _ in range(MAX_LINKS + 1)]
    assert await sessions.redeem(codes[0], PLACE, "") is None
    assert await sessions.redeem(codes[1], PLACE, "") is not None
    secrets = []
    for _ in range(MAX_SESSIONS + 1):
        clock.now += 1
        secrets.append(await begun(sessions))
    assert not await sessions.is_valid(secrets[0], PLACE)
    assert await sessions.is_valid(secrets[1], PLACE)
    assert len(await sessions.listed()) == MAX_SESSIONS


@pytest.mark.parametrize(
    ("user_agent", "browser"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
         "Firefox on Linux"),
        ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/139.0 Safari/537.36 Edg/139.0",
         "Edge on Windows"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Version/18 Safari/605.1.15",
         "Safari on macOS"),
        ("<script>alert(1)</script>", "a browser"),
    ],
)  # fmt: skip
def test_a_session_names_its_browser_in_our_words(user_agent: str, browser: str) -> None:
    assert browser_in(user_agent) == browser
