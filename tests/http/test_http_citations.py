"""Citations and exported results over HTTP: every style, every error, every header."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import bibtexparser
import pytest
import rispy
from http_worker import AUTHORIZED, Client, Get, lifecycle_of

from mem_search.model import Location
from office_files import pptx, slide
from runtimes import settled


@pytest.fixture
async def cited(client: Client, tmp_path: Any) -> Client:
    """The worker's records, and a page of the web that is number 32."""
    line = {
        "kind": "website",
        "source_id": "w1",
        "title": "JWT & auth handbook",
        "text": "All about auth.",
        "url": "https://example.org/jwt",
        "created_at": "2025-11-18T23:30:00Z",
        "metadata": {"author": "Ada Lovelace", "published_at": "2024-02-01"},
    }
    file = tmp_path / "more.jsonl"
    file.write_text(json.dumps(line) + "\n", "utf-8")
    runtime = lifecycle_of(client).runtime
    await runtime.ingest.reader.read(Location("jsonl", str(file)))
    await settled(runtime)  # until then one search may know more vectors than the one before
    return client


APA = (
    "Reading list. (2024, February 1). [Note]. mem-search (note:6).\n"
    "Lovelace, A. (2024, February 1). JWT & auth handbook. example.org. https://example.org/jwt\n"
)


@pytest.mark.parametrize(
    ("style", "content_type", "beginning"),
    [
        ("apa", "text/plain", APA),
        ("mla", "text/plain", "“Reading list.” Note. 1 Feb. 2024, mem-search, note:6.\n"),
        ("chicago", "text/plain", "“Reading list.” 2024. Note. February 1. note:6. mem-search.\n"),
        ("bibtex", "application/x-bibtex", "@misc{note-6,\n  title = {{Reading list}},\n"),
        ("ris", "application/x-research-info-systems", "TY  - GEN\r\nID  - note:6\r\n"),
        ("csl-json", "application/vnd.citationstyles.csl+json", '[\n  {\n    "id": "note:6",\n'),
    ],
)
async def test_records_are_cited_in_the_order_of_their_refs(
    cited: Client, style: str, content_type: str, beginning: str
) -> None:
    params = {"refs": "note:6,local:website:32,note:6", "style": style}
    reply = await cited.get("/api/citations", params=params)
    assert reply.status == 200
    assert reply.headers["Content-Type"] == f"{content_type}; charset=utf-8"
    text = (await reply.read()).decode()
    assert text.startswith(beginning)
    body = {"refs": ["note:6", "website:32"], "style": style}
    assert (await (await cited.post("/api/citations", json=body)).read()).decode() == text


async def test_apa_is_what_is_written_without_a_style(cited: Client) -> None:
    reply = await cited.get("/api/citations?refs=note:6&ref=website:32")
    assert await reply.text() == APA


async def test_html_is_a_fragment_in_which_nothing_may_act(cited: Client) -> None:
    reply = await cited.get("/api/citations?refs=website:32&style=mla&format=html")
    assert reply.content_type == "text/html"
    assert "default-src 'none'" in reply.headers["Content-Security-Policy"]
    assert await reply.text() == (
        '<div class="csl-bib-body">\n  <div class="csl-entry">Lovelace, Ada. “JWT &amp; auth'
        " handbook.” <i>example.org</i>, 1 Feb. 2024, https://example.org/jwt.</div>\n</div>\n"
    )


async def test_days_are_in_the_requested_zone(cited: Client) -> None:
    for zone, day in (("UTC", [2025, 11, 18]), ("Europe/Berlin", [2025, 11, 19])):
        body = {"refs": ["website:32"], "style": "csl-json", "tz": zone}
        reply = await cited.post("/api/citations", json=body)
        (item,) = json.loads(await reply.read())
        assert item["accessed"] == {"date-parts": [day]}


async def test_refs_that_are_not_there_are_all_named(cited: Client) -> None:
    for reply in (
        await cited.get("/api/citations?refs=note:6,note:32,website:99"),
        await cited.post("/api/citations", json={"refs": ["note:6", "note:32", "website:99"]}),
    ):
        assert reply.status == 404
        problem = await reply.json()
        assert problem["detail"] == "there is no record note:32, website:99"
        assert problem["field"] == "refs"


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("", "refs"),
        ("refs=", "refs"),
        ("refs=nonsense", "refs"),
        ("refs=note:6,book:1", "refs"),
        ("refs=" + ",".join(f"note:{n}" for n in range(201)), "refs"),
        ("refs=note:6&style=harvard", "style"),
        ("refs=note:6&style=bibtex&format=html", "format"),
        ("refs=note:6&format=pdf", "format"),
        ("refs=note:6&tz=Nowhere/Town", "tz"),
        ("refs=note:6&stile=apa", "stile"),
    ],
)
async def test_what_cannot_be_cited_is_refused_by_its_parameter(
    cited: Client, query: str, field: str
) -> None:
    reply = await cited.get(f"/api/citations?{query}")
    assert reply.status == 422
    assert [error["parameter"] for error in (await reply.json())["errors"]] == [field]


async def test_faults_of_a_body_have_pointers(cited: Client) -> None:
    reply = await cited.post("/api/citations", json={"refs": ["note:6", "x"], "style": "y", "z": 1})
    assert reply.status == 422
    pointers = {error["pointer"] for error in (await reply.json())["errors"]}
    assert pointers == {"/refs/1", "/style", "/z"}


async def test_json_is_the_page_of_the_search(cited: Client, get: Get) -> None:
    params = {"query": "auth", "limit": "3", "types": "notes,websites,observations"}
    reply = await cited.get("/api/search/export", params={**params, "as": "json"})
    exported, searched = await reply.json(), await get("/api/search", **params, format="json")
    assert exported.keys() == searched.keys()
    for name in ("ref", "title", "snippet_span", "metadata"):
        assert [each[name] for each in exported["results"]] == [
            each[name] for each in searched["results"]
        ]
    assert exported["total"] == searched["total"] > 3


async def test_a_table_has_the_results_of_the_search_in_their_order(
    cited: Client, get: Get
) -> None:
    reply = await cited.get("/api/search/export?query=auth&as=csv")
    assert reply.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert reply.headers["Content-Disposition"] == 'attachment; filename="mem-search.csv"'
    rows = list(csv.DictReader(io.StringIO((await reply.read()).decode(), newline="")))
    searched = await get("/api/search", query="auth", format="json", limit=100)
    assert [row["ref"] for row in rows] == [each["ref"] for each in searched["results"]]
    assert reply.headers["X-Total-Count"] == str(searched["total"]) == str(len(rows))
    assert "Link" not in reply.headers


async def test_links_lead_through_all_results(cited: Client) -> None:
    address: str | None = "/api/search/export?query=widget&as=csv&limit=10&orderBy=date_asc"
    seen: list[str] = []
    while address:
        reply = await cited.get(address)
        rows = list(csv.DictReader(io.StringIO((await reply.read()).decode(), newline="")))
        seen += [row["ref"] for row in rows]
        following = reply.links.get("next")
        address = str(following["url"].relative()) if following else None
    assert len(seen) == len(set(seen)) == 25


async def test_a_list_links_to_the_web_or_to_the_worker(cited: Client) -> None:
    reply = await cited.get("/api/search/export?query=handbook+reading&as=markdown&tz=UTC")
    assert reply.content_type == "text/markdown"
    text = await reply.text()
    assert "[JWT \\& auth handbook](https://example.org/jwt): Website, Nov 18, 2025" in text
    host = f"http://{cited.host}:{cited.port}"
    assert f"[Reading list]({host}/v/note:6): Note, Feb 1, 2024, `note:6`" in text


async def test_results_are_exported_as_citations(cited: Client) -> None:
    async def exported(form: str) -> str:
        reply = await cited.get(f"/api/search/export?query=auth&types=website,note&as={form}")
        assert reply.status == 200
        return (await reply.read()).decode()

    bibtex = bibtexparser.parse_string(await exported("bibtex"))
    assert {entry.key for entry in bibtex.entries} == {"note-6", "website-32"}
    assert {entry["id"] for entry in rispy.loads(await exported("ris"))} == {"note:6", "website:32"}
    assert {each["id"] for each in json.loads(await exported("csl-json"))} == {
        "note:6", "website:32",
    }  # fmt: skip
    for style in ("apa", "mla", "chicago"):
        assert len((await exported(style)).splitlines()) == 2


async def test_a_file_stays_within_its_budget_and_names_the_next_offset(cited: Client) -> None:
    reply = await cited.get("/api/search/export?query=widget&as=csv&max_tokens=300")
    rows = list(csv.DictReader(io.StringIO((await reply.read()).decode(), newline="")))
    assert 0 < len(rows) < 25
    assert reply.headers["X-Total-Count"] == "25"
    assert reply.headers["X-Next-Offset"] == str(len(rows))
    assert f"offset={len(rows)}" in reply.headers["Link"]


async def test_a_file_without_room_for_one_result_says_so(cited: Client) -> None:
    reply = await cited.get("/api/search/export?query=widget&as=csv&max_tokens=50")
    assert reply.headers["X-Next-Offset"] == "0"
    assert "Link" not in reply.headers


async def test_nothing_found_is_a_table_of_names_alone(cited: Client) -> None:
    reply = await cited.get("/api/search/export?query=zzzz&as=csv&mode=keyword")
    assert reply.status == 200
    assert reply.headers["X-Total-Count"] == "0"
    assert len((await reply.text()).splitlines()) == 1


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("query=auth", "as"),
        ("query=auth&as=xml", "as"),
        ("query=auth&format=index", "format"),
        ("query=auth&as=csv&limit=501", "limit"),
        ("query=auth&as=csv&as=json", "as"),
        ("query=auth&as=csv&facets=kind", "facets"),
        ("as=csv", "query"),
    ],
)
async def test_what_cannot_be_exported_is_refused(cited: Client, query: str, field: str) -> None:
    reply = await cited.get(f"/api/search/export?{query}")
    assert reply.status == 422
    assert (await reply.json())["field"] == field


async def test_every_listing_and_citation_of_a_result_names_its_page(
    client: Client, tmp_path: Any
) -> None:
    first = slide("The harbour has a lamp. " * 200)
    (tmp_path / "talk.pptx").write_bytes(pptx(first, slide("The godwit.")))
    runtime = lifecycle_of(client).runtime
    await runtime.ingest.reader.read(Location("files", str(tmp_path / "talk.pptx")))
    await settled(runtime)

    async def said(form: str, of: str = "as", route: str = "/api/search/export") -> str:
        reply = await client.get(route, params={"query": "godwit", of: form}, headers=AUTHORIZED)
        return await reply.text()

    assert "[page 2]" in await said("index", "format", "/api/search")
    assert "Found on page 2" in await said("full", "format", "/api/search")
    assert "(page 2)" in await said("tsv", "format", "/api/search")
    assert [
        sign in await said(form)
        for form, sign in (
            ("markdown", "(page 2)"), ("bibtex", "pages = {2}"), ("ris", "SP  - 2"),
            ("apa", "(p. 2)"), ("mla", "p. 2"), ("chicago", "p. 2"), ("csl-json", '"page": "2"'),
        )
    ] == [True] * 7  # fmt: skip
