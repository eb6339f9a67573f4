"""The page of a record: readable for people, without active content, and JSON for programs."""

from __future__ import annotations

import pytest
from aiohttp import ClientSession
from http_worker import TYPED, Client, lifecycle_of

from mem_search.http.records import POLICY
from mem_search.model import Draft

EVIL = '<script>alert(1)</script> & "quotes" \x1b[31m\u202e'


STORED = (
    Draft("website", "test", "w", f"First\n  second {EVIL}", f"Title {EVIL}",
          url='https://example.org/?a="b"&c', tags=(EVIL,), project=EVIL,
          metadata={"author": EVIL, "published_at": "2024-05-03", "key<b>": EVIL}),
    Draft("note", "test", "n", "Plain.", url="javascript:alert(1)"),
)  # fmt: skip


async def test_a_record_is_shown_as_text_and_never_as_markup(filled: Client) -> None:
    reply = await filled.get("/v/website:1")
    page = await reply.text()
    assert (reply.status, reply.content_type) == (200, "text/html")
    assert reply.headers["Content-Security-Policy"] == POLICY
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
    assert "script-src" not in POLICY
    assert POLICY.startswith("default-src 'none'")
    assert "<script" not in page
    assert "<b>" not in page
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "First\n  second &lt;script&gt;" in page
    assert 'href="https://example.org/?a=&quot;b&quot;&amp;c"' in page
    assert "May 3, 2024" in page


async def test_only_web_addresses_become_links(filled: Client) -> None:
    page = await (await filled.get("/v/local:note:2")).text()
    assert 'href="javascript' not in page
    assert "javascript:alert(1)" in page


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("", "text/html"),
        ("*/*", "text/html"),
        ("text/html,application/xhtml+xml,*/*;q=0.8", "text/html"),
        ("application/json", "application/json"),
        ("text/html;q=0.5, application/json", "application/json"),
    ],
)
async def test_programs_get_the_record_as_json(filled: Client, accept: str, kind: str) -> None:
    reply = await filled.get("/v/note:2", headers={"Accept": accept})
    assert reply.content_type == kind
    if kind == "application/json":
        assert (await reply.json())["text"] == "Plain."


@pytest.mark.parametrize(
    ("path", "status"), [("/v/note:99", 404), ("/v/note:1", 404), ("/v/x", 422), ("/v/", 404)]
)
async def test_what_is_not_there_is_a_problem(filled: Client, path: str, status: int) -> None:
    reply = await filled.get(path)
    assert (reply.status, reply.content_type) == (status, "application/problem+json")


async def test_a_browser_is_led_to_the_viewer_and_told_nothing(
    filled: Client, viewer: ClientSession
) -> None:
    origin = lifecycle_of(filled).viewer
    link = {**TYPED, "Sec-Fetch-Site": "cross-site"}
    for way in (TYPED, link):
        for ref in ("note:2", "note:99", "%22%3Cscript%3E"):  # which need not be there
            led = await filled.get(f"/v/{ref}", headers=way, allow_redirects=False)
            assert (led.status, await led.read()) == (303, b"")
            assert led.headers["Location"] == f"{origin}/#/record/{ref.replace(':', '%3A')}"
    here = await viewer.get("/v/note:2", headers=TYPED, allow_redirects=False)
    assert here.headers["Location"] == "/#/record/note%3A2"
    for dest in ("iframe", "object", "empty"):
        framed = await filled.get("/v/note:2", headers={**TYPED, "Sec-Fetch-Dest": dest})
        assert framed.status == 401
    foreign = await filled.get("/v/note:2", headers={"Host": "evil.example"})
    assert foreign.status == 421


async def test_without_a_viewer_a_browser_is_told_why(filled: Client) -> None:
    refused = await filled.get("/v/note:2", headers=TYPED)
    assert refused.status == 401
    assert "none can be logged in" in (await refused.json())["detail"]
