"""Pages and documents by their URL: what is fetched, and what is refused on the way."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from mem_search.errors import SourceError
from mem_search.features.documents.service import fetch
from mem_search.outgoing import RefusedPage
from mem_search.settings import Settings
from mem_search.wiring import open_runtime
from runtimes import ended, small

ARTICLE = """<html><head><title>Lamps of the harbour</title>
<meta name="author" content="Ada Quay"><meta property="article:published_time" content="2024-03-01">
<link rel="canonical" href="https://example.org/lamps"></head><body>
<nav>Home Shop Login</nav><article><h1>Lamps of the harbour</h1>
<p>The lamp at the end of the quay burns oil, and the keeper fills it at dusk.</p>
<p>Ships that come in at night look for it, because the channel is narrow there.</p>
<p>Every winter somebody proposes to replace it, and every spring it is still lit.</p>
<p>The harbour office keeps a book of each litre, of which the first page is from 1911.</p>
</article><footer>Buy our newsletter</footer></body></html>"""


class Site:
    """A site whose pages are functions of the request."""

    def __init__(self) -> None:
        self.asked: list[dict[str, str]] = []
        self.hold = asyncio.Event()
        self.text = ARTICLE

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(dict(request.headers))
        match request.path:
            case "/lamps":
                return web.Response(text=self.text, content_type="text/html")
            case "/notes.txt":
                return web.Response(text="Buy oil for the lamp.")
            case "/moved":
                return web.Response(status=302, headers={"Location": "/lamps"})
            case "/round":
                return web.Response(status=302, headers={"Location": "/round"})
            case "/inside":
                return web.Response(status=302, headers={"Location": "http://169.254.169.254/meta"})
            case "/file":
                return web.Response(status=302, headers={"Location": "file:///etc/passwd"})
            case "/long":
                return web.Response(body=b"x" * 5000)
            case "/packed":
                body = gzip.compress(b"x" * 10_000)
                return web.Response(body=body, headers={"Content-Encoding": "gzip"})
            case "/slow":
                await self.hold.wait()
        return web.Response(status=404)


@pytest.fixture
async def site() -> AsyncIterator[tuple[Site, str, str]]:
    """The site, its address, and ``host:port``."""
    site, app = Site(), web.Application()
    app.router.add_route("GET", "/{path:.*}", site.handle)
    async with TestServer(app) as server:
        yield site, f"http://{server.host}:{server.port}", f"{server.host}:{server.port}"
        site.hold.set()


async def test_a_page_is_kept_under_a_name_with_its_type(
    site: tuple[Site, str, str], tmp_path: Path
) -> None:
    it, base, near = site
    found = await fetch(f"{base}/moved", tmp_path, [near])
    assert (found.url, found.name) == (f"{base}/lamps", "lamps.html")
    assert (tmp_path / found.spooled).read_text() == ARTICLE
    assert {"Cookie", "Authorization", "Referer"}.isdisjoint(it.asked[-1])
    assert it.asked[-1]["Accept-Encoding"] == "identity"
    text = await fetch(f"{base}/notes.txt", tmp_path, [near])
    assert text.name == "notes.txt"


def names(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir()]


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/gone", "answered 404 Not Found"),
        ("/round", "redirects more than 5 times"),
        ("/inside", "leads to .* cannot be allowed"),
        ("/file", "leads to .* must begin with https"),
        ("/long", "larger than"),
        ("/packed", "only compressed data"),
        ("/slow", r"not read within 0\.5 seconds"),
    ],
)
async def test_what_cannot_be_kept_is_told_and_leaves_nothing(
    site: tuple[Site, str, str], tmp_path: Path, path: str, said: str
) -> None:
    _, base, near = site
    seconds = 0.5 if path == "/slow" else 60
    with pytest.raises(SourceError, match=said):
        await fetch(f"{base}{path}", tmp_path, [near], seconds=seconds, most_bytes=4000)
    assert names(tmp_path) == []


async def test_no_address_of_this_machine_or_network_is_asked(
    site: tuple[Site, str, str], tmp_path: Path
) -> None:
    it, base, _ = site
    with pytest.raises(RefusedPage, match="MEM_SEARCH_FETCH_ALLOW"):
        await fetch(f"{base}/lamps", tmp_path)

    async def rebinding(_host: str, _port: int) -> list[str]:
        return ["127.0.0.1"]

    port = base.rpartition(":")[2]
    with pytest.raises(RefusedPage, match="resolves to 127"):
        await fetch(f"http://example.org:{port}/lamps", tmp_path, lookup=rebinding)
    assert it.asked == []


async def test_the_job_stores_the_article_and_what_the_page_says_of_itself(
    site: tuple[Site, str, str], tmp_path: Path
) -> None:
    it, base, near = site
    settings: Settings = replace(small(tmp_path / "home"), fetch_allow=(near,))
    async with open_runtime(settings) as runtime:
        options = {"source": "web", "source_id": f"{near}/lamps", "tags": json.dumps(["harbour"])}
        params = {"url": f"{base}/lamps", "options": options}
        first = await ended(runtime.ingest.jobs, await runtime.ingest.jobs.submit("fetch", params))
        assert first.state == "done", first.message
        record = await runtime.store.records.named("web", f"{near}/lamps")
        assert record is not None
        assert first.result["document"] == str(record.ref)
        assert (record.kind, record.title, record.tags) == (
            "website", "Lamps of the harbour", ("harbour",),
        )  # fmt: skip
        assert (record.url, record.metadata["author"]) == ("https://example.org/lamps", "Ada Quay")
        assert record.metadata["published"] == "2024-03-01"
        assert "burns oil" in record.text
        assert "newsletter" not in record.text
        it.text = ARTICLE.replace("burns oil", "burns gas")
        again = await ended(runtime.ingest.jobs, await runtime.ingest.jobs.submit("fetch", params))
        assert again.result["document"] == str(record.ref)
        changed = await runtime.store.records.named("web", f"{near}/lamps")
        assert changed is not None
        assert "burns gas" in changed.text
        gone = {**params, "url": f"{base}/gone"}
        failed = await ended(runtime.ingest.jobs, await runtime.ingest.jobs.submit("fetch", gone))
        assert (failed.state, "answered 404" in failed.message) == ("failed", True)
        assert list(settings.spool_dir.iterdir()) == []
