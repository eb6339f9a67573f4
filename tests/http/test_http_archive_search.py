"""Searching reports and saved pages with their citations, and what citations say as counts."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from http_worker import AUTHORIZED, Client, lifecycle_of

from mem_search.model import Location
from runtimes import settled

DOCUMENTS: tuple[dict[str, Any], ...] = (
    {
        "kind": "report",
        "source_id": "rents",
        "title": "Housing costs",
        "project": "housing",
        "text": "Rents rose by 4 % [1]. Wages [did not](https://b.org/wages). [2]\n\n"
        "References\n\n[1] https://m.a.org/rents - Rents\n[2] https://c.org/lost",
        "created_at": "2026-03-01T00:00:00Z",
        "metadata": {"path": "rents.md", "type": "report", "query": "Why do flats cost more?"},
    },
    {
        "kind": "report",
        "source_id": "cities",
        "title": "Cities grow",
        "project": "housing",
        "text": "People move (https://www.a.org/rents/), see also https://c.org/lost.",
        "created_at": "2026-04-01T00:00:00Z",
    },
    {
        "kind": "website",
        "source_id": "page",
        "title": "Rents of 2024",
        "project": "housing",
        "url": "https://a.org/rents",
        "text": "Up. More in https://d.org/source.",
        "created_at": "2024-05-01T00:00:00Z",
    },
    {
        "kind": "report",
        "source_id": "alone",
        "title": "Tea",
        "project": "kitchen",
        "text": "Black tea keeps for years, and nobody is cited about flats.",
        "created_at": "2026-05-01T00:00:00Z",
    },
    {"kind": "note", "source_id": "n", "title": "Rents", "text": "Rents rose, I think."},
)
RENTS, CITIES, PAGE, TEA = "report:1", "report:2", "website:3", "report:4"


@pytest.fixture
async def library(empty: Client, tmp_path: Path) -> Client:
    file = tmp_path / "records.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in DOCUMENTS), "utf-8")
    runtime = lifecycle_of(empty).runtime
    assert (await runtime.ingest.reader.read(Location("jsonl", str(file)))).new == len(DOCUMENTS)
    await settled(runtime)
    return empty


async def got(client: Client, path: str, **params: Any) -> Any:
    reply = await client.get(path, params={key: str(value) for key, value in params.items()})
    assert reply.status == 200, await reply.text()
    return await reply.json()


def ids(found: Any) -> list[str]:
    return [each["document"]["id"] for each in found["results"]]


async def test_a_search_has_documents_matches_and_citations(library: Client) -> None:
    found = await got(library, "/api/archive/search", query="rents", includeCitations="true")
    assert set(ids(found)) == {RENTS, CITIES, PAGE}  # no note, which is no document of an archive
    report = next(each for each in found["results"] if each["document"]["id"] == RENTS)
    assert {**report["document"], "score": 0} == {
        "id": RENTS,
        "title": "Housing costs",
        "path": "rents.md",
        "source": "research",
        "type": "report",
        "url": "",
        "date": "2026-03-01T00:00:00.000Z",
        "score": 0,
    }
    assert 0 < report["document"]["score"] <= 1
    assert [(match["field"], match["term"]) for match in report["matches"]] == [
        ("content", "rents")
    ]
    assert "Rents rose by 4 %" in report["matches"][0]["snippets"][0]
    assert report["citations"]["citing"] == []
    assert [each["targetUrl"] for each in report["citations"]["cited"]] == [
        "https://m.a.org/rents",
        "https://b.org/wages",
        "https://c.org/lost",
    ]
    assert report["citations"]["cited"][0] == {
        "sourceId": RENTS,
        "targetUrl": "https://m.a.org/rents",
        "targetId": PAGE,
        "context": "Rents rose by 4 % [1].",
        "confidence": 1.0,
        "depth": 1,
    }
    page = next(each for each in found["results"] if each["document"]["id"] == PAGE)
    assert page["document"]["source"] == "url-content"
    assert [each["sourceId"] for each in page["citations"]["citing"]] == [CITIES, RENTS]
    without = await got(library, "/api/archive/search", query="rents")
    assert all("citations" not in each for each in without["results"])


async def test_citations_are_followed_to_a_depth_and_never_in_circles(library: Client) -> None:
    one = await got(library, "/api/archive/search", query="tea rents", includeCitations="true")
    assert {c["depth"] for each in one["results"] for c in each["citations"]["cited"]} == {1}
    body = {"query": "Housing costs", "includeCitations": True, "citationDepth": 5, "limit": 1}
    reply = await library.post("/api/archive/search", json=body)
    (report,) = (await reply.json())["results"]
    # The page that it cites cites nothing itself: a website is no research.
    assert len(report["citations"]["cited"]) == 3
    deep = await got(
        library, "/api/archive/search", query="lost", includeCitations="true", citationDepth=2
    )
    assert ids(deep)


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"query": "wages rents", "fuzzy": "false"}, {RENTS}),
        ({"query": "wages tea", "fuzzy": "false"}, set()),
        ({"query": "rents", "fields": "title"}, {PAGE}),
        ({"query": "rentz", "fields": "title"}, {PAGE}),
        ({"query": "rentz", "fields": "title", "fuzzy": "false"}, set()),
        ({"query": "flats", "fields": "query"}, {RENTS}),
        ({"query": "flats", "fields": "query,title", "fuzzy": "false"}, {RENTS}),
        ({"query": "flats", "fields": "content", "archive": "kitchen"}, {TEA}),
        ({"query": "flats", "archive": "kitchen"}, {TEA}),
    ],
)
async def test_fields_and_exact_words_decide(
    library: Client, params: dict[str, str], expected: set[str]
) -> None:
    assert set(ids(await got(library, "/api/archive/search", **params))) == expected


async def test_the_field_query_is_shown_where_the_word_stands(library: Client) -> None:
    (found,) = (await got(library, "/api/archive/search", query="flats", fields="query"))["results"]
    assert found["matches"] == [
        {"field": "query", "term": "flats", "snippets": ["Why do flats cost more?"]}
    ]


async def test_documents_that_cite_the_same_pages_are_related(library: Client) -> None:
    found = await got(library, "/api/archive/related", ref=RENTS)
    # The other report cites a page that is not stored, too, so it is as near as the page.
    assert {(each["document"]["id"], each["depth"]) for each in found["results"]} == {
        (PAGE, 1),
        (CITIES, 1),
    }
    assert ids(await got(library, "/api/archive/related", ref=TEA, depth=5)) == []


async def test_a_report_counts_the_citations_of_everything(library: Client) -> None:
    found = await got(library, "/api/archive/citation-report", limit=2)
    counts = {key: value for key, value in found.items() if isinstance(value, int)}
    assert counts == {
        "documents": 4,
        "citing": 2,
        "citations": 5,
        "implicit": 0,
        "places": 7,
        "pages": 3,
        "stored": 1,
        "cited_by": 2,
        "orphan_count": 1,
    }
    rents = {"url": "https://m.a.org/rents", "id": PAGE, "title": "Rents of 2024", "count": 2}
    lost = {"url": "https://c.org/lost", "id": None, "title": "", "count": 2}
    assert found["most_cited"] == [rents, lost]
    assert [(each["id"], each["count"], each["shared"]) for each in found["hubs"]] == [
        (RENTS, 3, 2),
        (CITIES, 2, 2),
    ]
    assert found["together"][0] == {"one": rents, "other": lost, "count": 2}
    assert [each["url"] for each in found["dead_ends"]] == [
        "https://c.org/lost",
        "https://b.org/wages",
    ]
    assert [each["id"] for each in found["orphans"]] == [TEA]
    day = "2024-05-01T00:00:00.000Z"
    assert found["freshness"] == {"dated": 1, "oldest": day, "newest": day, "median": day}


async def test_a_report_counts_the_citations_of_one_document_or_archive(library: Client) -> None:
    page = await got(library, "/api/archive/citation-report", ref=PAGE)
    assert (page["documents"], page["citations"], page["cited_by"]) == (1, 0, 2)
    assert [(each["other"]["url"], each["count"]) for each in page["together"]] == [
        ("https://c.org/lost", 2),
        ("https://b.org/wages", 1),
    ]
    report = await got(library, "/api/archive/citation-report", ref=RENTS)
    assert (report["citations"], report["stored"], report["cited_by"]) == (3, 1, 0)
    assert [(each["id"], each["count"]) for each in report["coupled"]] == [(CITIES, 2)]
    kitchen = await got(library, "/api/archive/citation-report", archive="kitchen")
    assert (kitchen["documents"], kitchen["citations"], kitchen["orphan_count"]) == (1, 0, 1)


@pytest.mark.parametrize(
    ("path", "params", "field"),
    [
        ("search", {"query": "x", "citationDepth": "6"}, "citationDepth"),
        ("search", {"query": "x", "fields": "body"}, "fields"),
        ("search", {"query": " "}, "query"),
        ("search", {}, "query"),
        ("search", {"query": "x", "limit": "0"}, "limit"),
        ("related", {"ref": "report:1", "depth": "6"}, "depth"),
        ("related", {}, "ref"),
        ("citation-report", {"ref": "a b"}, "ref"),
    ],
)
async def test_a_wrong_parameter_is_named(
    empty: Client, path: str, params: dict[str, str], field: str
) -> None:
    reply = await empty.get(f"/api/archive/{path}", params=params)
    problem = await reply.json()
    assert (reply.status, problem["errors"][0].get("parameter")) == (422, field), problem


async def test_an_unknown_document_is_not_found(empty: Client) -> None:
    for path in ("related", "citation-report"):
        assert (await empty.get(f"/api/archive/{path}?ref=report:99")).status == 404


async def checked(client: Client, **body: Any) -> Any:
    reply = await client.post("/api/archive/check", json=body)
    assert reply.status == 200, await reply.text()
    return await reply.json()


async def test_a_check_tells_what_is_answered_here_from_what_is_not(library: Client) -> None:
    found = await checked(library, query="Housing costs: rents rose by 4 %, wages did not")
    assert found["answered"]
    assert found["confidence"] >= 0.5
    best = found["documents"][0]
    assert best["document"]["id"] == RENTS
    assert best["confidence"] == found["confidence"]
    assert found["date"] == "2026-03-01T00:00:00.000Z"
    days = (datetime.now(UTC) - datetime(2026, 3, 1, tzinfo=UTC)).days
    assert abs(found["age_days"] - days) <= 1
    assert best["age_days"] == found["age_days"]
    assert found["search"]["realised"] == "hybrid"
    other = await checked(library, query="How does a heat pump work in winter?")
    assert not other["answered"]
    assert other["confidence"] < 0.5
    assert other["date"] is None
    assert other["age_days"] is None


async def test_a_check_stays_in_its_archive_and_its_limit(library: Client) -> None:
    found = await checked(library, query="black tea keeps for years", archive="housing")
    assert TEA not in [each["document"]["id"] for each in found["documents"]]
    found = await checked(library, query="rents", limit=1)
    assert len(found["documents"]) == 1


@pytest.mark.parametrize("url", ["https://a.org/rents", "http://m.a.org/rents/?utm_source=x#top"])
async def test_a_check_knows_a_saved_page_by_any_of_its_addresses(
    library: Client, url: str
) -> None:
    found = await checked(library, url=url)
    assert found["answered"]
    assert found["confidence"] == 1
    assert [each["document"]["id"] for each in found["documents"]] == [PAGE]
    assert [each["sourceId"] for each in found["cited_by"]] == [CITIES, RENTS]
    assert "search" not in found
    assert not (await checked(library, url=url, archive="kitchen"))["answered"]


async def test_a_check_names_who_cites_a_page_that_is_not_saved(library: Client) -> None:
    found = await checked(library, url="https://c.org/lost")
    assert not found["answered"]
    assert found["documents"] == []
    assert {each["sourceId"] for each in found["cited_by"]} == {RENTS, CITIES}
    assert (await checked(library, url="https://nobody.example/"))["cited_by"] == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "query"),
        ({"query": "a", "url": "https://a.org"}, "query"),
        ({"query": "   "}, "query"),
        ({"url": "no address"}, "url"),
        ({"query": "a", "limit": 0}, "limit"),
        ({"query": "a", "depth": 3}, "depth"),
    ],
)
async def test_a_check_of_nothing_names_the_field(
    library: Client, body: dict[str, Any], field: str
) -> None:
    reply = await library.post("/api/archive/check", json=body)
    assert reply.status == 422
    problem = await reply.json()
    assert problem["field"] == field


async def test_snippets_are_whole_words_and_none_repeats_another(empty: Client) -> None:
    words = [f"word{number}" for number in range(400)]
    for at in (*range(30, 390, 17), 31, 33):
        words[at] = "barometer"
    text = " ".join(words)
    sent = {"kind": "report", "title": "Air", "text": text, "source_id": "air"}
    assert (await empty.post("/api/records", json=sent, headers=AUTHORIZED)).status == 201
    reply = await empty.post("/api/archive/search", json={"query": "barometer"})
    (result,) = (await reply.json())["results"]
    (match,) = [each for each in result["matches"] if each["field"] == "content"]
    spans = [(text.index(cut), text.index(cut) + len(cut)) for cut in match["snippets"]]
    assert len(spans) == 3
    assert all(one[1] <= other[0] for one, other in pairwise(spans))
    assert {word for cut in match["snippets"] for word in cut.split()} <= set(words)
