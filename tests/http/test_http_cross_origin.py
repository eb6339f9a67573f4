"""Pages of the origins that a setting names may read replies; no other page may."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp.test_utils import TestClient, TestServer
from http_worker import AUTHORIZED, Client, lifecycle_of

from mem_search.errors import InputError
from mem_search.http.core.app import build_app
from mem_search.settings import Settings

APP = "https://app.example.org"
ASK = {"Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "authorization"}


@pytest.fixture
async def named(settings: Settings) -> AsyncIterator[Client]:
    client = TestClient(TestServer(build_app(replace(settings, cors_origins=(APP,)))))
    async with client:
        await lifecycle_of(client).ready()
        yield client


async def test_a_named_origin_may_read_replies_and_problems(named: Client) -> None:
    page = {"Origin": APP, "Sec-Fetch-Site": "cross-site"}
    for path, status in (("/api/stats", 200), ("/api/records/note:99", 404), ("/nowhere", 404)):
        reply = await named.get(path, headers={**page, **AUTHORIZED})
        assert reply.status == status
        assert reply.headers["Access-Control-Allow-Origin"] == APP
        assert "Access-Control-Allow-Credentials" not in reply.headers
        assert "Origin" in reply.headers["Vary"]


async def test_a_preflight_of_a_named_origin_is_answered(named: Client) -> None:
    reply = await named.options("/api/v1/search", headers={"Origin": APP, **ASK})
    assert (reply.status, await reply.read()) == (204, b"")
    assert reply.headers["Access-Control-Allow-Origin"] == APP
    assert "POST" in reply.headers["Access-Control-Allow-Methods"]
    assert "Authorization" in reply.headers["Access-Control-Allow-Headers"]


@pytest.mark.parametrize(
    "origin", ["https://evil.example.org", "http://app.example.org", f"{APP}:8443", "null"]
)
async def test_every_other_origin_is_refused(named: Client, origin: str) -> None:
    for headers in ({"Origin": origin}, {"Origin": origin, "Sec-Fetch-Site": "cross-site"}):
        for reply in (
            await named.get("/api/stats", headers=headers),
            await named.options("/api/stats", headers={**headers, **ASK}),
        ):
            assert reply.status == 403
            assert "Access-Control-Allow-Origin" not in reply.headers


async def test_a_foreign_page_that_hides_its_origin_is_refused(named: Client) -> None:
    reply = await named.get("/api/stats", headers={"Sec-Fetch-Site": "cross-site"})
    assert reply.status == 403


async def test_the_host_is_checked_for_a_named_origin_too(named: Client) -> None:
    for method in ("GET", "OPTIONS"):
        headers = {"Origin": APP, "Host": "evil.example.org", **ASK}
        assert (await named.request(method, "/api/stats", headers=headers)).status == 421


async def test_without_the_setting_there_is_no_header(client: Client) -> None:
    reply = await client.options("/api/stats", headers={"Origin": APP, **ASK})
    assert reply.status == 403
    assert "Origin" not in (await client.get("/api/stats")).headers.get("Vary", "")


def test_origins_are_read_as_browsers_send_them(tmp_path: Path) -> None:
    def read(text: str) -> tuple[str, ...]:
        environ = {"MEM_SEARCH_HOME": str(tmp_path), "MEM_SEARCH_CORS_ORIGINS": text}
        return Settings.read(environ).cors_origins

    assert read("https://App.example.org:443/, http://localhost:5173") == (
        "https://app.example.org",
        "http://localhost:5173",
    )
    for text in ("*", "null", "app.example.org", "https://*.example.org", "https://a.org/path"):
        with pytest.raises(InputError, match="never \\*"):
            read(text)
